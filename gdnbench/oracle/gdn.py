"""Drives the GDN builder of a real vLLM release, in a process of that release's environment."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import torch
from vllm.v1.attention.backend import CommonAttentionMetadata
from vllm.v1.attention.backends.gdn_attn import GDNAttentionMetadataBuilder
from vllm.v1.kv_cache_interface import MambaSpec

from gdnbench.devices.operations import Operation
from gdnbench.devices.traced import Trace
from gdnbench.drivers.gdn import MAX_CAPTURE_SIZE, MAX_ROWS, CaptureMixin, GDNDriver, GDNStep, StepMixin
from gdnbench.oracle.foreign import RULES, rewritten
from gdnbench.oracle.pinning import pin_memory_as_on

with suppress(ImportError):
    from vllm.triton_utils import triton
    from vllm.utils.math_utils import cdiv

    if not hasattr(triton, "cdiv"):  # vLLM's stand-in for Triton has it from 0.21.0 on, and prefills ask for it
        triton.cdiv = cdiv

with suppress(ImportError):  # before 0.22.0 no builder asks
    from vllm.model_executor.layers.mamba.gdn import qwen_gdn_linear_attn

    # Which prefill kernels a platform gets is not the metadata's business, and resolving it asks for a GPU.
    qwen_gdn_linear_attn._resolve_gdn_prefill_backend = lambda config: ("triton", "triton")


class ReleaseGDNDriver(GDNDriver):
    """The release's own builder, made from a hand-made configuration; the state is the release."""

    common_type = CommonAttentionMetadata
    foreign_fields = frozenset({"spec_sequence_masks_cpu", "uniform_spec_sequence_length"})
    """New in 0.31.0, beside 51565."""

    def own_operations(self, trace: Trace) -> list[Operation]:
        return rewritten(trace.operations, RULES.get(self.state, ()))

    def make_builder(self) -> Any:
        pin_memory_as_on(self.device)
        scenario = self.scenario
        spec = MambaSpec(
            block_size=256,
            shapes=((4, 4), (4, 4)),
            dtypes=(torch.float32, torch.float32),
            num_speculative_blocks=scenario.speculation,
        )
        return GDNAttentionMetadataBuilder(spec, ["layer"], self._config(), self.device.torch_device)

    def _config(self) -> Any:
        scenario = self.scenario
        speculative = SimpleNamespace(num_speculative_tokens=scenario.speculation, parallel_drafting=False)
        return SimpleNamespace(
            compilation_config=SimpleNamespace(
                cudagraph_mode=SimpleNamespace(has_full_cudagraphs=lambda: scenario.staged),
                max_cudagraph_capture_size=MAX_CAPTURE_SIZE,
            ),
            speculative_config=speculative if scenario.speculation else None,
            scheduler_config=SimpleNamespace(max_num_seqs=MAX_ROWS, max_num_batched_tokens=8192),
            cache_config=SimpleNamespace(mamba_cache_mode="none", enable_prefix_caching=False, mamba_block_size=256),
            parallel_config=SimpleNamespace(decode_context_parallel_size=1),
            model_config=SimpleNamespace(hf_text_config=SimpleNamespace()),
            additional_config={},
            # Block-table updates in place of builds belong to V2 on CUDA, from 0.31.0 on; here every group is built.
            use_v2_model_runner=False,
        )


class ReleaseBuildDriver(StepMixin, ReleaseGDNDriver):
    """The release's builder in a step."""


class ReleaseCaptureDriver(CaptureMixin, ReleaseGDNDriver):
    """The release's builder at capture."""

    def run(self, inputs: GDNStep) -> list[Any]:
        return [
            builder.build_for_cudagraph_capture(common)
            for builder, common in zip(self.builders, inputs.groups, strict=True)
        ]
