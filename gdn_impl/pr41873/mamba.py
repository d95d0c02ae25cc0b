"""The victim: Mamba-2's metadata, which takes every row that prefills for a prefill, and its persistent decode buffers.

Source: `BaseMambaAttentionMetadataBuilder` and `Mamba2AttentionMetadataBuilder` of vLLM 0.21.0, without prefix caching.
0.22.0 differs here by what is foreign to 41873: a resumed chunk of one token becomes a decode, and prefix caching
learns to speculate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from gdn_impl.batch import NULL_BLOCK_ID, CommonMetadata, pins
from gdn_impl.prefill import convolution_programs
from gdn_impl.split import Split, split_decodes_and_prefills

CHUNK_SIZE = 256
"""Tokens per chunk of the state-space scan, as Mamba-2 models are configured."""


@dataclass
class MambaMetadata:
    """One step of one KV group: d decodes, then p prefills; k = 1 + speculation depth. Tensors live on the device.

    Field names are those of vLLM's `Mamba2AttentionMetadata`: the kernels read them. In a staged step of decodes alone
    the tensors of the decodes are views of persistent buffers.
    """

    num_prefills: int
    num_prefill_tokens: int
    num_decodes: int
    num_decode_tokens: int
    num_reqs: int
    seq_lens: Tensor
    """(d + p,) int32."""
    state_indices_tensor_d: Tensor
    """(d, k) int32: cache blocks of the states before and after each draft."""
    state_indices_tensor_p: Tensor
    """(p,) int32."""
    query_start_loc_d: Tensor | None = None
    """(d + 1,) int32, in a step with drafts."""
    num_accepted_tokens: Tensor | None = None
    """(d,) int32, in a step with drafts."""
    query_start_loc_p: Tensor | None = None
    """(p + 1,) int32, from 0. This and all below where there are prefills only."""
    has_initial_states_p: Tensor | None = None
    """(p,) bool: the row had tokens before this step."""
    prep_initial_states: bool = False
    """Whether any prefill has an initial state."""
    chunk_size: int = CHUNK_SIZE
    cu_chunk_seqlen_p: Tensor | None = None
    """(chunks + 1,) int32: where each chunk's tokens start. Chunks end at multiples of their size in the sequence."""
    seq_idx_p: Tensor | None = None
    """(chunks,) int32: the prefill that each chunk belongs to."""
    last_chunk_indices_p: Tensor | None = None
    """(p,) int32: the last chunk of each prefill; -1 where a row without tokens comes first."""
    nums_dict: dict[int, dict[str, Any]] | None = None
    """Programs of the convolution kernel by block size: see `gdn_impl.prefill.convolution_programs`."""
    batch_ptr: Tensor | None = None
    token_chunk_offset_ptr: Tensor | None = None


class MambaBuilder:
    """Builds the metadata of one KV group.

    Args:
        speculation: most drafts per row.
        staged: whether full graphs are captured, so that decode steps go through persistent buffers.
        slots: the most rows of a captured graph.
        device: where the buffers live.
    """

    def __init__(self, speculation: int, staged: bool, slots: int, device: torch.device) -> None:
        self.speculation = speculation
        self.staged = staged
        self.slots = slots
        self.updates_block_tables = speculation == 0
        # What a captured graph reads, whatever step it is replayed in.
        self.state_indices_tensor_d = torch.empty((slots, 1 + speculation), dtype=torch.int32, device=device)
        self.decode_num_accepted_tokens = torch.empty((slots,), dtype=torch.int32, device=device)

    def split(self, common: CommonMetadata, threshold: int) -> Split:
        """Decodes end at the first row that is too long, or whose flag says that it prefills."""
        return split_decodes_and_prefills(common, threshold, treat_short_extends_as_decodes=False)

    def build(self, common: CommonMetadata, accepted: Tensor | None = None) -> MambaMetadata:
        """The metadata of one step.

        Args:
            common: the batch; `is_prefilling` must be there, and `seq_lens_cpu_upper_bound` where there are prefills.
            accepted: (rows,) int32 on the device, in a step with drafts: tokens that the last step accepted.
        """
        metadata = self.refresh(self._rows(common, accepted))
        any_initial, offsets, owners, last = False, None, None, None
        if metadata.num_prefills:
            assert metadata.has_initial_states_p is not None
            any_initial = bool(torch.any(metadata.has_initial_states_p).item())
            offsets, owners, last = self._chunks(common, metadata)
        return replace(
            metadata,
            prep_initial_states=any_initial,
            cu_chunk_seqlen_p=offsets,
            seq_idx_p=owners,
            last_chunk_indices_p=last,
        )

    def update_block_table(self, metadata: MambaMetadata, block_table: Tensor) -> MambaMetadata:
        """The metadata of a further KV group, whose rows are those of the first: only the blocks differ.

        With speculation the runner builds each group anew: `updates_block_tables` says so.
        """
        decodes, prefills = self._states(block_table, metadata.num_decodes, metadata.num_prefills)
        return self.refresh(replace(metadata, state_indices_tensor_d=decodes, state_indices_tensor_p=prefills))

    def refresh(self, metadata: MambaMetadata) -> MambaMetadata:
        """Copies decodes into the buffers that graphs read, if the step is decodes alone: the fault lies in the if."""
        decodes, rows = metadata.num_decodes, metadata.num_reqs
        states, starts = metadata.state_indices_tensor_d, metadata.query_start_loc_d
        accepted = metadata.num_accepted_tokens
        if metadata.num_prefills == 0 and decodes <= self.slots and self.staged:
            self.state_indices_tensor_d[:decodes].copy_(states, non_blocking=True)
            states = self.state_indices_tensor_d[:rows]
            states[decodes:] = NULL_BLOCK_ID
            if accepted is not None:
                assert starts is not None
                starts = starts[: rows + 1]
                self.decode_num_accepted_tokens[:decodes].copy_(accepted, non_blocking=True)
                accepted = self.decode_num_accepted_tokens[:rows]
                accepted[decodes:] = 1
        return replace(metadata, state_indices_tensor_d=states, query_start_loc_d=starts, num_accepted_tokens=accepted)

    def _rows(self, common: CommonMetadata, accepted: Tensor | None) -> MambaMetadata:
        split = self.split(common, 1 if accepted is None else 1 + self.speculation)
        decodes, prefills = split.num_decodes, split.num_prefills
        states_d, states_p = self._states(common.block_table_tensor, decodes, prefills)
        metadata = MambaMetadata(
            num_prefills=prefills,
            num_prefill_tokens=split.num_prefill_tokens,
            num_decodes=decodes,
            num_decode_tokens=split.num_decode_tokens,
            num_reqs=common.num_reqs,
            seq_lens=common.seq_lens,
            state_indices_tensor_d=states_d,
            state_indices_tensor_p=states_p,
            num_accepted_tokens=accepted,
        )
        if decodes and accepted is not None:
            metadata.query_start_loc_d = common.query_start_loc[: decodes + 1]
            metadata.num_accepted_tokens = accepted[:decodes]
        if prefills:
            computed = common.compute_num_computed_tokens()
            starts_host = common.query_start_loc_cpu[-prefills - 1 :] - split.num_decode_tokens
            metadata.query_start_loc_p = common.query_start_loc[-prefills - 1 :] - split.num_decode_tokens
            metadata.has_initial_states_p = computed[common.num_reqs - prefills : common.num_reqs] > 0
            programs = convolution_programs(starts_host, common.query_start_loc.device, pin=False)
            metadata.nums_dict, metadata.batch_ptr, metadata.token_chunk_offset_ptr = programs
        return metadata

    def _states(self, block_table: Tensor, decodes: int, prefills: int) -> tuple[Tensor, Tensor]:
        of_decodes, of_prefills = torch.split(block_table, [decodes, prefills], dim=0)
        return of_decodes[:, : 1 + self.speculation], of_prefills[:, 0]

    def _chunks(self, common: CommonMetadata, metadata: MambaMetadata) -> tuple[Tensor, Tensor, Tensor]:
        """Chunk starts, owners, and each prefill's last chunk, from host values, which are exact for prefills."""
        assert common.seq_lens_cpu_upper_bound is not None
        rows, prefills = metadata.num_reqs, metadata.num_prefills
        starts = common.query_start_loc_cpu[-prefills - 1 :] - metadata.num_decode_tokens
        lengths = starts[1:] - starts[:-1]
        computed = common.seq_lens_cpu_upper_bound[rows - prefills : rows] - lengths
        offsets, owners, last = [], [], []
        position = 0
        for row in range(prefills):
            done = int(computed[row].item())
            left = int(starts[row + 1].item() - starts[row].item())
            while left:
                tokens = min(left, CHUNK_SIZE - done % CHUNK_SIZE)
                offsets.append(position)
                owners.append(row)
                position, done, left = position + tokens, done + tokens, left - tokens
            last.append(len(offsets) - 1)
        offsets.append(position)
        device = common.query_start_loc.device
        return _send(offsets, device), _send(owners, device), _send(last, device)


class GuardedMambaBuilder(MambaBuilder):
    """A rival fix, pull request 42947: the consumer believes the flag only of rows that have tokens."""

    def split(self, common: CommonMetadata, threshold: int) -> Split:
        assert common.is_prefilling is not None
        has_tokens = common.query_start_loc_cpu.diff() > 0
        return super().split(common.replace(is_prefilling=common.is_prefilling & has_tokens), threshold)


def _send(values: list[int], device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.int32, pin_memory=pins(device)).to(device=device, non_blocking=True)
