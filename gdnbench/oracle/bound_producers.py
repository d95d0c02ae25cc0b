"""Drives the runners of real vLLM releases where they make and hand on 40654's bound.

The runners are made by hand, without a model, a scheduler or a GPU: the methods are the release's, what they read is
ours. V1's preparation runs before the measured section, on the host, to find the bound itself. V2's Triton kernels do
nothing here; what they would have written stands in the buffers already.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from vllm.v1.utils import CpuGpuBuffer
from vllm.v1.worker import gpu_model_runner
from vllm.v1.worker.gpu import input_batch, model_runner
from vllm.v1.worker.gpu.model_states.default import DefaultModelState
from vllm.v1.worker.gpu.states import RequestState

from gdnbench.drivers.bound_producers import (
    MAX_MODEL_LEN,
    Int32,
    V1RunnerBase,
    V1Step,
    V2Base,
    V2PostProcessingBase,
    V2PreparationBase,
    V2Step,
    host,
)


class Recorder:
    """A metadata builder that keeps what it is handed."""

    supports_update_block_table = False

    def __init__(self) -> None:
        self.handed: list[Any] = []

    def build(self, common_prefix_len: int, common_attn_metadata: Any) -> None:
        self.handed.append(common_attn_metadata)


def attention_groups(recorder: Recorder, groups: int) -> list[list[Any]]:
    """One attention group for each KV group, all with the same builder."""
    group = SimpleNamespace(get_metadata_builder=lambda ubatch=0: recorder, layer_names=["layer"])
    return [[group] for _ in range(groups)]


def kv_cache_config(groups: int) -> Any:
    """KV groups without a cache."""
    return SimpleNamespace(kv_cache_groups=[SimpleNamespace(kv_cache_spec=None) for _ in range(groups)])


class ReleaseV1RunnerDriver(V1RunnerBase):
    """`_build_attention_metadata`, after `_prepare_inputs`."""

    def make_runner(self, tables: list[Tensor]) -> Any:
        arrays, scenario = self.arrays, self.scenario
        runner = object.__new__(gpu_model_runner.GPUModelRunner)
        computed = host(self.buffer(self.believed, self.max_rows))
        prompts = host(self.buffer(arrays.prompt_lens, self.max_rows))
        self._prepare(runner, computed, prompts)

        runner.device = self.device.torch_device
        runner.query_start_loc.gpu = self.put(self.starts())
        runner.seq_lens = self.put(self.buffer(arrays.seq_lens, self.max_rows))
        runner.positions = []  # handed on since 0.20.0, beside 40654
        runner.input_batch.block_table = [
            SimpleNamespace(get_device_tensor=lambda rows, table=table: table[:rows]) for table in tables
        ]
        runner.kv_cache_config = kv_cache_config(scenario.kv_groups)
        runner.attn_groups = attention_groups(Recorder(), scenario.kv_groups)
        runner.use_async_spec_decode = scenario.asynchronous
        runner.speculative_config = None
        runner.routed_experts_initialized = False
        runner.dcp_world_size = 1
        runner.cache_config = SimpleNamespace(kv_sharing_fast_prefill=False)
        runner.is_mm_prefix_lm = False
        return runner

    def _prepare(self, runner: Any, computed: Tensor, prompts: Tensor) -> None:
        """Runs the release's preparation on the host; it leaves the lengths in `optimistic_seq_lens_cpu`."""
        rows, tokens, cpu = self.rows, self.arrays.num_tokens, torch.device("cpu")

        def buffer(size: int, dtype: torch.dtype = torch.int32) -> CpuGpuBuffer:
            return CpuGpuBuffer(size, dtype=dtype, device=cpu, pin_memory=False)

        names = [str(row) for row in range(rows)]
        width = int(self.arrays.seq_lens_bound.max()) + 1
        runner.input_batch = SimpleNamespace(
            num_reqs=rows,
            req_ids=names,
            block_table=SimpleNamespace(commit_block_table=lambda *_: None, compute_slot_mapping=lambda *_: None),
            num_computed_tokens_cpu_tensor=computed,
            num_computed_tokens_cpu=computed.numpy(),
            num_prompt_tokens_cpu_tensor=prompts,
            token_ids_cpu=SimpleNamespace(shape=(rows, width)),
            token_ids_cpu_tensor=torch.zeros(1, dtype=torch.int32).expand(rows * width),
            req_prompt_embeds={},
            prev_req_id_to_index=None,
            prev_sampled_token_ids=None,
        )
        runner.device = cpu
        runner.requests = {name: SimpleNamespace(num_tokens=0) for name in names}
        runner.arange_np = np.arange(max(tokens, self.max_rows) + 1)
        for name in ("query_start_loc", "num_accepted_tokens", "num_scheduled_tokens", "prev_positions"):
            setattr(runner, name, buffer(self.max_rows + 1))
        for name in ("query_pos", "req_indices"):
            setattr(runner, name, buffer(tokens, torch.int64))
        runner.input_ids = buffer(tokens)
        runner.discard_request_mask = buffer(self.max_rows, torch.bool)
        runner.optimistic_seq_lens_cpu = torch.zeros(self.max_rows, dtype=torch.int32)
        runner.seq_lens = torch.zeros(self.max_rows, dtype=torch.int32)
        runner.num_computed_tokens = torch.zeros(self.max_rows, dtype=torch.int32)
        runner.positions = torch.zeros(tokens, dtype=torch.int64)
        runner.uses_mrope = runner.enable_prompt_embeds = runner.use_async_spec_decode = False
        runner.uses_xdrope_dim = 0
        runner.num_accepted_tokens_event = runner.lora_config = None
        scheduled = SimpleNamespace(total_num_scheduled_tokens=tokens, scheduled_spec_decode_tokens={})
        runner._prepare_inputs(scheduled, self.arrays.query_lens[:rows].copy())

    def run(self, inputs: V1Step) -> list[Any]:
        arrays, scenario = self.arrays, self.scenario
        inputs.runner._build_attention_metadata(
            num_tokens=arrays.num_tokens,
            num_reqs=self.rows,
            max_query_len=arrays.max_query_len,
            num_tokens_padded=arrays.num_tokens_padded,
            num_reqs_padded=scenario.num_rows,
            slot_mappings=dict.fromkeys(range(scenario.kv_groups), inputs.slots),
        )
        recorder: Recorder = inputs.runner.attn_groups[0][0].get_metadata_builder()
        return recorder.handed


class IdleKernel:
    """Stands where a Triton kernel would be launched."""

    def __getitem__(self, grid: Any) -> Any:
        return lambda *args, **options: None


def idle_kernels() -> None:
    """V2's own Python runs, its kernels do not. Their block sizes need one helper that only Triton brings."""
    for name in vars(input_batch):
        if name.endswith("_kernel"):
            setattr(input_batch, name, IdleKernel())
    input_batch.triton.next_power_of_2 = lambda n: 1 << (n - 1).bit_length()


class _Unread:
    """A buffer that only kernels would read, or that is only written."""

    gpu = torch.zeros(1, 1, dtype=torch.int32)

    def stage_write(self, *args: Any) -> None: ...

    def stage_write_elem(self, *args: Any) -> None: ...


def release_requests(driver: V2Base) -> Any:
    """The release's own request states, each request added by its own method."""
    size = driver.max_rows
    states = object.__new__(RequestState)
    states.req_id_to_index, states.index_to_req_id, states.free_indices = {}, {}, list(range(size))
    states.prompt_len = SimpleNamespace(np=np.zeros(size, np.int32))
    states.prefill_len = SimpleNamespace(np=np.zeros(size, np.int32), gpu=None)
    states.all_token_ids = states.total_len = states.num_computed_tokens = _Unread()
    states.num_computed_prefill_tokens = np.zeros(size, np.int32)
    states.num_computed_tokens_np = np.zeros(size, np.int32)  # 0.20.0's; 0.19.1 leaves it alone
    states.last_sampled_tokens = torch.zeros(size, 1, dtype=torch.int64)
    states.draft_tokens = torch.zeros(size, max(driver.scenario.speculation, 1), dtype=torch.int64)
    states.next_prefill_tokens = None
    for row, computed in enumerate(driver.believed[: driver.rows].tolist()):
        prompt = driver.scenario.rows[row].prompt_len
        states.add_request(str(row), prompt, range(prompt), computed)
    return states


def release_runner(driver: V2Base) -> Any:
    """A V2 runner that can prepare a step and post-process it."""
    idle_kernels()
    device = driver.device.torch_device
    runner = object.__new__(model_runner.GPUModelRunner)
    runner.device = device
    runner.max_num_reqs = driver.max_rows
    runner.num_speculative_steps = driver.scenario.speculation
    runner.use_dcp = runner.is_last_pp_rank = False
    runner.req_states = release_requests(driver)
    runner.input_buffers = SimpleNamespace(
        query_start_loc=torch.zeros(driver.max_rows + 1, dtype=torch.int32, device=device),
        seq_lens=driver.lengths_on_device(),
        input_ids=torch.zeros(driver.tokens, dtype=torch.int32, device=device),
        positions=torch.zeros(driver.tokens, dtype=torch.int64, device=device),
    )
    return runner


def release_batch(driver: V2Base, runner: Any) -> Any:
    """The runner's own preparation of the scenario's step."""
    rows = driver.scenario.rows
    scheduled = SimpleNamespace(
        total_num_scheduled_tokens=driver.arrays.num_tokens,
        num_scheduled_tokens={str(i): row.query_len for i, row in enumerate(rows)},
        scheduled_spec_decode_tokens={str(i): [0] * row.drafts for i, row in enumerate(rows) if row.drafts > 0},
        has_structured_output_requests=False,
    )
    graph = SimpleNamespace(num_tokens=driver.tokens, num_reqs=driver.rows_padded if driver.full_graph else None)
    return runner.prepare_inputs(scheduled, graph)


class ReleaseV2PreparationDriver(V2PreparationBase):
    """`prepare_inputs`, then `prepare_attn` of the default model state."""

    def make_runner(self) -> Any:
        return release_runner(self)

    def run(self, inputs: V2Step) -> tuple[Any, Any, Int32, list[Any]]:
        batch = release_batch(self, inputs.runner)
        recorder, groups = Recorder(), self.scenario.kv_groups
        mode = model_runner.CUDAGraphMode.FULL if self.full_graph else model_runner.CUDAGraphMode.NONE
        DefaultModelState.prepare_attn(
            SimpleNamespace(max_model_len=MAX_MODEL_LEN),
            batch,
            mode,
            inputs.tables,
            inputs.slots,
            attention_groups(recorder, groups),
            kv_cache_config(groups),
        )
        return batch.idx_mapping, batch.cu_num_logits, batch.num_scheduled_tokens, recorder.handed


class ReleaseV2PostProcessingDriver(V2PostProcessingBase):
    """`postprocess` and `postprocess_pool`."""

    unread = torch.zeros(1, 1, dtype=torch.int32)
    """Tokens sampled and rejected: only a kernel reads them."""

    def ready(self) -> tuple[Any, Any]:
        runner = release_runner(self)
        return runner, release_batch(self, runner)

    def run(self, inputs: list[Any]) -> None:
        (generates, batch), (pools, other) = inputs
        generates.postprocess(batch, self.unread, self.unread, self.unread)
        pools.postprocess_pool(other)

    def counts(self, step: Any) -> tuple[Int32, Int32 | None]:
        states = step[0].req_states
        return states.num_computed_prefill_tokens, None if self.state == "0.19.1" else states.num_computed_tokens_np
