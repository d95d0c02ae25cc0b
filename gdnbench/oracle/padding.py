"""Drives the parts of 41873 in a real vLLM release (0.21.0, 0.22.0), in a process of that release's environment.

The runner is the release's class, made without its constructor (which wants a model and a GPU) and given by hand what
the one method under test reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from vllm import SamplingParams
from vllm.v1.attention.backend import CommonAttentionMetadata
from vllm.v1.attention.backends.mamba2_attn import Mamba2AttentionMetadataBuilder
from vllm.v1.kv_cache_interface import MambaSpec
from vllm.v1.utils import CpuGpuBuffer
from vllm.v1.worker.gpu_input_batch import CachedRequestState, InputBatch
from vllm.v1.worker.gpu_model_runner import GPUModelRunner

from gdn_impl.pr41873 import PaddedStep
from gdn_impl.pr41873.mamba import CHUNK_SIZE
from gdnbench.devices.base import Device
from gdnbench.devices.operations import Operation
from gdnbench.devices.traced import Trace
from gdnbench.drivers.padding import (
    AttentionMetadataPart,
    InputBatchPart,
    MambaBuildPart,
    PaddingDriver,
)
from gdnbench.oracle.pinning import pin_memory_as_on
from gdnbench.values.scenarios import Scenario

BLOCK_SIZE = 256

RESUMED_CHUNKS = ["slice", "slice", "sub", "eq", "bitwise_and", "gt", "bitwise_and", "any", "_local_scalar_dense"]
"""How 0.22.0 looks for resumed chunks of one token, on the host."""


class ReleaseBatch:
    """The release's input batch, spoken to as the past speaks to ours."""

    def __init__(self, driver: PaddingDriver, device: torch.device) -> None:
        groups = driver.scenario.kv_groups
        self.real = InputBatch(
            max_num_reqs=driver.slots,
            max_model_len=max(256, int(driver.arrays.prompt_lens.max()) + 1),
            max_num_batched_tokens=driver.arrays.num_tokens_padded,
            device=device,
            pin_memory=False,
            vocab_size=8,
            block_sizes=[BLOCK_SIZE] * groups,
            kernel_block_sizes=[BLOCK_SIZE] * groups,
            max_num_blocks_per_req=[driver.past.width] * groups,
        )

    def add(self, request: int, computed: int, prompt: int, blocks: tuple[tuple[int, ...], ...]) -> None:
        self.real.add_request(
            CachedRequestState(
                req_id=str(request),
                prompt_token_ids=np.zeros(prompt, np.int32),
                mm_features=[],
                sampling_params=SamplingParams(),
                generator=None,
                block_ids=tuple(list(ids) for ids in blocks),
                num_computed_tokens=computed,
                output_token_ids=[],
            )
        )

    def remove(self, request: int) -> None:
        self.real.remove_request(str(request))

    def compact(self) -> None:
        self.real.condense()
        # What `refresh_metadata` does besides renewing the sampling tables: a new step begins.
        self.real.batch_update_builder.reset()

    def swap(self, one: int, other: int) -> None:
        self.real.swap_states(one, other)

    @property
    def computed(self) -> Any:
        return self.real.num_computed_tokens_cpu

    @property
    def prompt(self) -> Any:
        return self.real.num_prompt_tokens

    @property
    def blocks(self) -> list[Any]:
        return [table.block_table.np for table in self.real.block_table.block_tables]

    @property
    def slot_of(self) -> Mapping[Any, int]:
        return {int(request): slot for request, slot in self.real.req_id_to_index.items()}


class ReleaseInputBatchDriver(InputBatchPart):
    """The release's input batch."""

    def inputs(self) -> ReleaseBatch:
        return ReleaseBatch(self, torch.device("cpu"))


class RecordingBuilder:
    """A builder that gives back the common metadata that the runner hands to builders."""

    supports_update_block_table = False

    def build(self, common_prefix_len: int, common_attn_metadata: Any) -> Any:
        return common_attn_metadata


class ReleaseRunnerMixin(PaddingDriver):
    """The release's runner over the release's batch, brought to the scenario's step."""

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        super().__init__(state, scenario, device)
        pin_memory_as_on(device)
        self.spec = MambaSpec(
            block_size=BLOCK_SIZE,
            shapes=((4, 4), (4, 4)),
            dtypes=(torch.float32, torch.float32),
            num_speculative_blocks=scenario.speculation,
        )
        self.builders = [self.make_builder() for _ in range(scenario.kv_groups)]
        self.runner = self._make_runner()

    def make_builder(self) -> Any:
        return RecordingBuilder()

    def inputs(self) -> PaddedStep:
        return self.step()

    def run(self, inputs: PaddedStep) -> list[Any]:
        metadata, _ = self.runner._build_attention_metadata(
            num_tokens=self.arrays.num_tokens,
            num_reqs=inputs.num_reqs,
            max_query_len=inputs.max_query_len,
            num_tokens_padded=inputs.num_tokens_padded,
            num_reqs_padded=inputs.num_reqs_padded,
            use_spec_decode=self.drafted,
            slot_mappings=dict(enumerate(inputs.slot_mappings)),
        )
        return [metadata[f"layer{group}"] for group in range(self.scenario.kv_groups)]

    def watched(self, inputs: Any) -> Mapping[str, torch.Tensor]:
        runner = self.runner
        return {
            "computed": runner.input_batch.num_computed_tokens_cpu_tensor,
            "prompt": runner.input_batch.num_prompt_tokens_cpu_tensor,
            "query_start_loc": runner.query_start_loc.gpu,
            "query_start_loc_cpu": runner.query_start_loc.cpu,
            "seq_lens": runner.seq_lens,
            "seq_lens_cpu_upper_bound": runner.optimistic_seq_lens_cpu,
            "slot_mapping": inputs.slot_mappings[0],
        }

    def _make_runner(self) -> Any:
        device, scenario, arrays = self.device, self.scenario, self.arrays
        batch = ReleaseBatch(self, device.torch_device)
        self.past.replay(batch)
        for table in batch.real.block_table.block_tables:
            table.commit_block_table(self.slots)

        runner = object.__new__(GPUModelRunner)
        runner.device = device.torch_device
        runner.input_batch = batch.real
        runner.use_async_spec_decode = scenario.asynchronous
        runner.speculative_config = None  # names the drafter only, which gets metadata of its own
        runner.dcp_world_size = 1
        runner.is_mm_prefix_lm = False
        runner.routed_experts_initialized = False
        runner.mamba_prev_last_scheduled_idx = None  # 0.22.0, prefix caching
        runner.cache_config = SimpleNamespace(kv_sharing_fast_prefill=False, mamba_cache_mode="none")
        group = SimpleNamespace(kv_cache_spec=self.spec)
        runner.kv_cache_config = SimpleNamespace(kv_cache_groups=[group] * scenario.kv_groups)
        # One builder and one layer for each KV group.
        runner.attn_groups = [
            [SimpleNamespace(get_metadata_builder=lambda _, builder=builder: builder, layer_names=[f"layer{number}"])]
            for number, builder in enumerate(self.builders)
        ]
        starts = np.full(self.slots + 1, arrays.num_tokens, np.int32)
        starts[: scenario.num_rows + 1] = arrays.query_start_loc
        bound = self._by_slot(arrays.seq_lens_bound)
        runner.query_start_loc = self._buffer(starts)
        runner.optimistic_seq_lens_cpu = torch.from_numpy(bound)
        runner.seq_lens = device.put(torch.from_numpy(self._by_slot(arrays.seq_lens)))
        places = [np.arange(row.computed, row.sequence_len) for row in scenario.rows]
        padding = np.zeros(arrays.num_tokens_padded - arrays.num_tokens, np.int64)
        runner.positions = device.put(torch.from_numpy(np.concatenate([*places, padding])))
        runner.num_accepted_tokens = self._buffer(self._by_slot(arrays.accepted, padding=1))
        runner.num_decode_draft_tokens = self._buffer(self._by_slot(arrays.drafts, padding=-1))
        return runner

    def _by_slot(self, values: Any, padding: int = 0) -> Any:
        table = np.full(self.slots, padding, np.int32)
        table[: len(values)] = values
        return table

    def _buffer(self, values: Any) -> CpuGpuBuffer:
        buffer = CpuGpuBuffer(len(values), dtype=torch.int32, device=self.device.torch_device, pin_memory=False)
        buffer.np[:] = values
        buffer.copy_to_gpu()
        return buffer


class ReleaseAttentionMetadataDriver(ReleaseRunnerMixin, AttentionMetadataPart):
    """The release's common metadata."""


class ReleaseMambaBuildDriver(ReleaseRunnerMixin, MambaBuildPart):
    """The release's Mamba-2 builders behind the release's runner."""

    common_type = CommonAttentionMetadata

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        super().__init__(state, scenario, device)
        common, accepted = self.earlier_step()
        for builder in self.builders:
            builder.build(0, common, num_accepted_tokens=accepted)

    def make_builder(self) -> Any:
        scenario = self.scenario
        speculative = SimpleNamespace(num_speculative_tokens=scenario.speculation, parallel_drafting=False)
        config = SimpleNamespace(
            speculative_config=speculative if scenario.speculation else None,
            num_speculative_tokens=scenario.speculation,
            compilation_config=SimpleNamespace(
                cudagraph_mode=SimpleNamespace(has_full_cudagraphs=lambda: scenario.staged),
                max_cudagraph_capture_size=None,
            ),
            scheduler_config=SimpleNamespace(max_num_seqs=self.slots),
            cache_config=SimpleNamespace(mamba_cache_mode="none"),
            parallel_config=SimpleNamespace(decode_context_parallel_size=1),
            model_config=SimpleNamespace(get_mamba_chunk_size=lambda: CHUNK_SIZE),
        )
        return Mamba2AttentionMetadataBuilder(self.spec, ["layer"], config, self.device.torch_device)

    def own_operations(self, trace: Trace) -> list[Operation]:
        """Without what 0.22.0 asks first in each build: is any row a resumed chunk of one token?"""
        operations, asked = super().own_operations(trace), len(RESUMED_CHUNKS)
        kept: list[Operation] = []
        while operations:
            names = [operation.name.split(".")[1] for operation in operations[:asked]]
            foreign = names == RESUMED_CHUNKS and all(
                operation.kind.startswith("host") for operation in operations[:asked]
            )
            if not foreign:
                kept.append(operations[0])
            del operations[: asked if foreign else 1]
        return kept
