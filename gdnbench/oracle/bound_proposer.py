"""Drives the draft proposer of real vLLM releases: its preparation, and its loop over a model that computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from vllm.v1.attention.backend import CommonAttentionMetadata
from vllm.v1.spec_decode import eagle

from gdnbench.drivers.bound_producers import MAX_MODEL_LEN
from gdnbench.drivers.bound_proposer import DraftStep, LoopBase, PreparationBase, ProposerBase

try:
    from vllm.v1.spec_decode import llm_base_proposer as home  # 0.20.0 moved the class here
except ImportError:
    home = eagle


def release_proposer(driver: ProposerBase) -> Any:
    """A proposer without a model."""
    pins = driver.device.name != "cpu"
    home.is_pin_memory_available = lambda: pins
    tokens = max(driver.arrays.num_tokens, driver.rows)
    proposer = object.__new__(home.SpecDecodeBaseProposer)
    proposer.token_arange_np = np.arange(tokens + 1)
    proposer.arange = torch.arange(tokens + 1, device=driver.device.torch_device, dtype=torch.int32)
    return proposer


class ReleasePreparationDriver(PreparationBase):
    """`prepare_inputs`."""

    common_type = CommonAttentionMetadata

    def run(self, inputs: DraftStep) -> tuple[Any, Tensor]:
        sampled = [[0] * count for count in inputs.sampled]
        batch: tuple[Any, Tensor] = self.proposer.prepare_inputs(inputs.metadata, sampled, inputs.drafts)
        return batch

    def inputs(self) -> DraftStep:
        self.proposer = release_proposer(self)
        return super().inputs()


class ReleaseLoopDriver(LoopBase):
    """`propose`. The model and the kernel for slots do nothing; lengths on the device advance as that kernel would."""

    common_type = CommonAttentionMetadata
    devices = ("cpu",)
    """Operations are not compared, and the values are the same everywhere."""
    hidden_size = 1

    def inputs(self) -> DraftStep:
        step = super().inputs()
        self.longest: list[int] = []
        self.proposer = self._proposer(max(self.arrays.num_tokens, self.rows))
        positions = np.zeros(self.arrays.num_tokens, np.int64)
        kept = np.array(step.sampled) - np.array(step.drafts) - 1 if self.scenario.asynchronous else 0
        positions[self.arrays.query_start_loc[1:] - 1] = self.arrays.seq_lens + kept - 1
        self.positions = self.put(positions)
        return step

    def _proposer(self, tokens: int) -> Any:
        device = self.device.torch_device
        proposer = release_proposer(self)
        proposer.method = "eagle"
        proposer.num_speculative_tokens = self.scenario.speculation
        proposer.max_model_len = MAX_MODEL_LEN
        proposer.block_size = MAX_MODEL_LEN
        proposer.hidden_size = self.hidden_size
        proposer.device = device
        proposer.needs_extra_input_slots = proposer.supports_mm_inputs = proposer.parallel_drafting = False
        proposer.uses_mrope = proposer.use_local_argmax_reduction = proposer.pass_hidden_states_to_model = False
        proposer.uses_xdrope_dim = proposer.draft_uses_xdrope_dim = 0
        proposer.allowed_attn_types = None
        proposer.vllm_config = SimpleNamespace(model_config=SimpleNamespace(uses_mrope=False))
        proposer.input_ids = torch.zeros(tokens, dtype=torch.int32, device=device)
        proposer.positions = torch.zeros(tokens, dtype=torch.int64, device=device)
        proposer.hidden_states = torch.zeros(tokens, self.hidden_size, device=device)
        proposer._slot_mapping_buffer = torch.zeros(tokens, dtype=torch.int64, device=device)
        proposer._draft_attn_layer_names = ()
        proposer._determine_batch_execution_and_padding = lambda count: (None, count, None)
        proposer.model = _Model(tokens, device)
        builder = SimpleNamespace(build_for_drafting=self._record)
        proposer.draft_attn_groups = [SimpleNamespace(get_metadata_builder=lambda: builder, layer_names=[])]
        home.set_forward_context = lambda *args, **options: nullcontext()
        home.eagle_step_update_slot_mapping_and_metadata = _lengthen
        return proposer

    def _record(self, common_attn_metadata: Any, draft_index: int) -> None:
        if draft_index > 0:
            self.longest.append(common_attn_metadata.max_seq_len)

    def run(self, inputs: DraftStep) -> Sequence[int]:
        tokens, proposer = self.arrays.num_tokens, self.proposer
        proposer.propose(
            target_token_ids=proposer.input_ids[:tokens].clone(),
            target_positions=self.positions,
            target_hidden_states=proposer.hidden_states[:tokens].clone(),
            next_token_ids=proposer.input_ids[: self.rows].clone(),
            token_indices_to_sample=None,
            common_attn_metadata=inputs.metadata,
            sampling_metadata=None,
            num_rejected_tokens_gpu=inputs.rejected,
        )
        return self.longest


class _Model:
    """Answers with zeros."""

    def __init__(self, tokens: int, device: torch.device) -> None:
        self.hidden = torch.zeros(tokens, 1, device=device)

    def __call__(self, input_ids: Tensor, **inputs: Any) -> tuple[Tensor, Tensor]:
        hidden = self.hidden[: len(input_ids)]
        return hidden, hidden

    def compute_logits(self, hidden: Tensor) -> Tensor:
        return hidden


def _lengthen(
    positions_1d: Tensor, seq_lens: Tensor, max_model_len: int, out_clamped_positions: Tensor, **rest: Any
) -> None:
    """What the kernel does to lengths and positions; slots are left alone."""
    moved = positions_1d + 1
    fits = moved < max_model_len
    seq_lens.copy_(torch.where(fits, seq_lens + 1, 1).clamp(max=max_model_len))
    out_clamped_positions.copy_(torch.where(fits, moved, 0))
