"""Drives a real release's MLA builders, in that release's environment and from hand-made configurations.

What a CPU cannot do is put in its place once, below: kernels of Triton and FlashMLA, and questions about a GPU. MLA and
FlashMLA-sparse pin host memory whatever the device, so they run on the traced accelerator alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from vllm.model_executor.layers.attention import mla_attention
from vllm.v1.attention.backend import CommonAttentionMetadata
from vllm.v1.attention.backends.mla import flashmla_sparse, indexer
from vllm.v1.kv_cache_interface import MLAAttentionSpec

from gdnbench.devices.base import Device
from gdnbench.devices.operations import Operation
from gdnbench.devices.traced import Trace
from gdnbench.drivers.base import Value
from gdnbench.drivers.bound_consumers import pick
from gdnbench.drivers.bound_mla import PAGE, FlashMLASparseBase, IndexerBase, MLABase, MLAFamilyDriver
from gdnbench.oracle.foreign import Rule, rewritten
from gdnbench.values.scenarios import Scenario

Int32 = npt.NDArray[np.int32]

HEAD_SIZE = 576

# FlashMLA plans at its first call; what it returns here holds no tensor yet.
flashmla_sparse.get_mla_metadata = lambda *args, **kwargs: (flashmla_sparse.FlashMLASchedMeta(), None)
# Sizes buffers of schedules that only kernels read.
flashmla_sparse.num_compute_units = indexer.num_compute_units = lambda *args: 132
# Prefill kernels that plan for themselves; all need Blackwell.
mla_attention.use_cudnn_prefill = lambda: False
mla_attention.use_flashinfer_prefill = lambda: False
mla_attention.use_trtllm_ragged_deepseek_prefill = lambda: False


def _configuration(driver: MLAFamilyDriver, max_model_len: int) -> Any:
    speculation = driver.scenario.speculation
    speculative = SimpleNamespace(num_speculative_tokens=speculation, parallel_drafting=False)
    text = SimpleNamespace(kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128)
    return SimpleNamespace(
        speculative_config=speculative if speculation else None,
        scheduler_config=SimpleNamespace(max_num_seqs=driver.max_rows, max_num_batched_tokens=driver.max_tokens),
        cache_config=SimpleNamespace(cache_dtype="fp8_ds_mla", block_size=PAGE),
        parallel_config=SimpleNamespace(decode_context_parallel_size=1, cp_kv_cache_interleave_size=1),
        attention_config=SimpleNamespace(use_prefill_query_quantization=False, use_fp4_indexer_cache=False),
        compilation_config=SimpleNamespace(),
        model_config=SimpleNamespace(
            max_model_len=max_model_len,
            dtype=torch.bfloat16,
            hf_config=SimpleNamespace(index_topk=2048),
            hf_text_config=text,
            get_num_attention_heads=lambda parallel: 64,
            get_head_size=lambda: HEAD_SIZE,
        ),
    )


def _spec(block_size: int) -> Any:
    return MLAAttentionSpec(block_size=block_size, num_kv_heads=1, head_size=HEAD_SIZE, dtype=torch.bfloat16)


class ReleaseMLADriver(MLABase):
    """The release's MLA builder, as a backend with decodes of any length has it."""

    common_type = CommonAttentionMetadata
    devices: ClassVar[tuple[str, ...]] = ("traced",)

    def make_builder(self) -> Any:
        workspace = self.workspace_tokens

        class Builder(mla_attention.MLACommonMetadataBuilder):  # type: ignore[misc]
            query_len_support = mla_attention.QueryLenSupport.VARLEN

            @staticmethod
            def determine_chunked_prefill_workspace_size(vllm_config: Any) -> int:
                return workspace

        builder = Builder(_spec(PAGE), ["layer"], _configuration(self, self.longest), self.device.torch_device)
        # As on CUDA, where chunks start at pages.
        builder.aot_schedule, builder.page_size = True, PAGE
        return builder

    def consume(self, builder: Any, batch: Any) -> Any:
        return builder.build(0, batch)

    def own_operations(self, trace: Trace) -> list[Operation]:
        """Without what 0.20.0 counts besides, on the host: the tokens of prefills that have context."""
        offsets = ("device sub", "host_view", "host_view select", "host sub")
        count = ("host_view select", "host _local_scalar_dense", "h2d_pinned _to_copy")
        rules = (leaving_out(offsets, slice(1, 4)), leaving_out(count, slice(0, 2)))
        return rewritten(trace.operations, rules if self.has_bound else ())


class ReleaseFlashMLASparseDriver(FlashMLASparseBase):
    """The release's FlashMLA-sparse builder over an fp8 cache."""

    common_type = CommonAttentionMetadata
    devices: ClassVar[tuple[str, ...]] = ("traced",)

    def make_builder(self) -> Any:
        configuration = _configuration(self, self.longest)
        return flashmla_sparse.FlashMLASparseMetadataBuilder(
            _spec(PAGE), ["layer"], configuration, self.device.torch_device
        )

    def consume(self, builder: Any, batch: Any) -> Any:
        return builder.build(0, batch)

    def own_operations(self, trace: Trace) -> list[Operation]:
        """Without a view of lengths that decodes are planned with: top-k's in 0.19.1, their own in 0.20.0."""
        decodes = ("host _local_scalar_dense", "view", "view", "view")
        rule = leaving_out(decodes, slice(3, 4) if self.has_bound else slice(1, 2))
        return rewritten(trace.operations, (rule,))

    def parts(self, result: Any) -> tuple[Any, Any, dict[str, Value]]:
        extra = result.fp8_extra_metadata
        if extra.decode is None:
            return extra, extra.prefill, {"decode": None}
        fields = pick(extra.decode, ("decode_query_len",), "decode.")
        return extra, extra.prefill, fields | {"decode.cache_lens": extra.decode.kernel_metadata.cache_lens}


class ReleaseIndexerDriver(IndexerBase):
    """The release's indexer builder. In 0.20.0 two Triton kernels are done in torch, uncounted."""

    common_type = CommonAttentionMetadata

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        if hasattr(indexer, "_build_prefill_chunk_metadata_kernel"):
            indexer._build_prefill_chunk_metadata_kernel = _Launch(_fill_spans)
            # Lays decodes out, of which nothing is compared.
            indexer._prepare_uniform_decode_kernel = _Launch(lambda *given: None)
        super().__init__(state, scenario, device)
        os.environ["VLLM_SPARSE_INDEXER_MAX_LOGITS_MB"] = str(self.max_scores_mb)

    def make_builder(self) -> Any:
        # As many blocks for the longest sequence as the tables are wide.
        block_size = -(-self.longest // self.blocks)
        configuration = _configuration(self, self.longest)
        return indexer.DeepseekV32IndexerMetadataBuilder(
            _spec(block_size), ["layer"], configuration, self.device.torch_device
        )

    def consume(self, builder: Any, batch: Any) -> Any:
        return builder.build(0, batch)

    def parts(self, result: Any) -> tuple[Any, Any]:
        return result, None if result.prefill is None else result.prefill.chunks


def leaving_out(pattern: Sequence[str], dropped: slice) -> Rule:
    """A rule: where operations read like the pattern, `kind` or `kind name` each, some places of it are foreign."""

    def rule(head: Sequence[Operation]) -> tuple[int, list[Operation]] | None:
        stretch = list(head[: len(pattern)])
        spelled = [f"{operation.kind} {operation.name.split('.')[1]} " for operation in stretch]
        if not all(text.startswith(f"{part} ") for text, part in zip(spelled, pattern, strict=False)):
            return None
        if len(stretch) < len(pattern):
            return None
        del stretch[dropped]
        return len(pattern), stretch

    return rule


class _Launch:
    """Stands for a Triton kernel: `kernel[grid](...)` runs `body` on arrays that share its tensors' memory."""

    def __init__(self, body: Callable[..., None]) -> None:
        self.body = body

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return self

    def __call__(self, *given: Any, **constants: Any) -> None:
        # A traced tensor's data lie on the host; NumPy is not counted.
        self.body(*(getattr(x, "host", x).numpy() if isinstance(x, Tensor) else x for x in given))


def _fill_spans(
    starts: Int32,
    seq_lens: Int32,
    key_starts: Int32,
    token_to_seq: Int32,
    span_starts: Int32,
    span_ends: Int32,
    first_query: int,
    end_query: int,
) -> None:
    """Writes where the keys of query tokens `first_query` to `end_query` lie, and the row of each key."""
    for row, queries in enumerate(starts[1:] - starts[:-1]):
        first, end = key_starts[row], key_starts[row + 1]
        token_to_seq[first:end] = row
        places = np.arange(queries)
        tokens = starts[row] + places
        wanted = (tokens >= first_query) & (tokens < end_query)
        written = tokens[wanted] - first_query
        span_starts[written] = first
        span_ends[written] = first + seq_lens[row] - queries + 1 + places[wanted]
