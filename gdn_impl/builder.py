"""The GDN metadata builder at the state of vLLM 0.27.0, from which the catalogued changes are told as inheritance.

Each step of `build` that a change touched is a method of its own, named after what it decides; a change overrides
exactly those (pr51913.py, pr52078.py, pr55404.py, pr51565.py). Operations on tensors, and their order, are those of
the release; structure and words are ours. Cache mode is `none`: prefix caching off, as in the published setting.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gdn_impl.batch import NULL_BLOCK_ID, CommonMetadata, send
from gdn_impl.metadata import GDNMetadata
from gdn_impl.prefill import chunk_indices, chunk_offsets, convolution_programs
from gdn_impl.split import Split, split_decodes_and_prefills


@dataclass(frozen=True, slots=True)
class BuilderConfig:
    """What of vLLM's configuration decides how metadata is built."""

    speculation: int = 0
    """Drafts per step, at most; 0 without speculation."""
    full_graphs: bool = True
    """Steps that a full graph can replay are staged into persistent buffers."""
    max_rows: int = 64
    """max-num-seqs."""
    max_capture_size: int = 512
    """Largest captured batch, tokens."""

    @property
    def graph_rows(self) -> int:
        """Rows of the buffers that captured graphs read from."""
        return min(self.max_rows * (self.speculation + 1), self.max_capture_size)


class DraftMask:
    """Which rows are speculative, on the host, and which are not."""

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def others(self) -> Tensor:
        """(n,) bool: the rows that are not speculative, formed anew at each use."""
        return ~self.mask


class GraphBuffers:
    """Persistent device buffers that captured graphs read from; a staged step copies into them. Sizes are rows.

    Source: `GDNAttentionMetadataBuilder.__init__` of vLLM 0.27.0.
    """

    def __init__(self, size: int, speculation: int, device: torch.device) -> None:
        width = speculation + 1

        def buffer(*shape: int, dtype: torch.dtype = torch.int32) -> Tensor:
            return torch.empty(shape, dtype=dtype, device=device)

        self.size = size
        self.spec_state_indices = buffer(size, width)
        self.non_spec_state_indices = buffer(size)
        self.spec_sequence_masks = buffer(size, dtype=torch.bool)
        self.spec_token_indx = buffer(size * width)
        self.non_spec_token_indx = buffer(size * width)
        self.spec_query_start_loc = buffer(size + 1)
        self.non_spec_query_start_loc = buffer(size + 1)
        self.num_accepted_tokens = buffer(size)


class GDNBuilder:
    """Builds the metadata of one KV group, once per step."""

    draft_mask: type[DraftMask] = DraftMask

    def __init__(self, config: BuilderConfig, device: torch.device, buffers: GraphBuffers | None = None) -> None:
        """A builder with buffers of its own, or with those that captured graphs read from already."""
        self.config = config
        self.speculation = config.speculation
        self.buffers = buffers or GraphBuffers(config.graph_rows, config.speculation, device)

    def build(
        self,
        common_prefix_len: int,
        common: CommonMetadata,
        num_accepted_tokens: Tensor | None = None,
        num_decode_draft_tokens_cpu: Tensor | None = None,
        fast_build: bool = False,
    ) -> GDNMetadata:
        """The metadata of one step.

        Args:
            common_prefix_len: unused, part of the interface.
            common: the batch, n rows, decodes first; padded rows last.
            num_accepted_tokens: (n,) int32 on the device; needed where rows have drafts.
            num_decode_draft_tokens_cpu: (n,) int32 on the host: -1 not speculative, 0 nothing drafted, else drafts.
            fast_build: unused, part of the interface.
        """
        self.look_ahead(common)
        mask, drafted_rows = self.find_drafts(num_decode_draft_tokens_cpu)
        if mask is None:
            metadata = self._plain_rows(common)
            starts_cpu: Tensor | None = common.query_start_loc_cpu
        else:
            assert num_accepted_tokens is not None
            metadata, starts_cpu = self._rows_with_drafts(common, mask, drafted_rows, num_accepted_tokens)
        if metadata.num_prefills > 0:
            assert starts_cpu is not None
            self._add_prefill(metadata, common, starts_cpu, mask)
        if self.config.full_graphs and metadata.num_prefills == 0:
            self._stage(metadata, common.num_reqs)
        return metadata

    def build_for_capture(self, common: CommonMetadata) -> GDNMetadata:
        """The metadata that a decode graph is captured with: every row accepted all it holds."""
        size = self.buffers.size
        assert max(common.num_reqs, common.num_actual_tokens) <= size, f"batch exceeds the {size} rows of graph buffers"
        accepted = torch.diff(common.query_start_loc)
        return self.build(0, common, accepted, self.drafts_for_capture(common, accepted))

    # What the catalogued changes touch

    def look_ahead(self, common: CommonMetadata) -> None:
        """Derives the computed lengths in every step, whoever needs them (until 51913)."""
        common.compute_num_computed_tokens()

    def find_drafts(self, drafts: Tensor | None) -> tuple[Tensor | None, int]:
        """The mask of speculative rows and their number, or (None, 0) where no row drafted anything (until 52078)."""
        if not self.speculation or drafts is None or drafts[drafts >= 0].sum().item() == 0:
            return None, 0
        mask = drafts >= 0
        return mask, int(mask.sum().item())

    def drafts_for_capture(self, common: CommonMetadata, accepted: Tensor) -> Tensor:
        """(n,) int32 on the host: drafts per row of a captured batch, fetched from the device (until 55404)."""
        return (accepted - 1).cpu()

    def split(self, common: CommonMetadata) -> Split:
        """Decodes and prefills of a batch without drafts: one token is a decode (until 51565)."""
        return split_decodes_and_prefills(common, decode_threshold=1)

    # The body

    def _plain_rows(self, common: CommonMetadata) -> GDNMetadata:
        """A step in which nothing was drafted."""
        split = self.split(common)
        return GDNMetadata(
            num_prefills=split.num_prefills,
            num_prefill_tokens=split.num_prefill_tokens,
            num_decodes=split.num_decodes,
            num_decode_tokens=split.num_decode_tokens,
            num_spec_decodes=0,
            num_spec_decode_tokens=0,
            num_actual_tokens=common.num_actual_tokens,
            non_spec_query_start_loc=common.query_start_loc,
            non_spec_state_indices_tensor=common.block_table_tensor[:, 0],
        )

    def _rows_with_drafts(
        self, common: CommonMetadata, mask: Tensor, drafted_rows: int, accepted: Tensor
    ) -> tuple[GDNMetadata, Tensor | None]:
        """A step with drafts; also the host offsets of the other rows, where there are any.

        Rows of one token beside drafts go the way of prefills: the prefill kernel treats them alike.
        """
        starts, starts_cpu = common.query_start_loc, common.query_start_loc_cpu
        device_mask = send(mask, starts.device)
        lengths = starts[1:] - starts[:-1]
        rows = self.draft_mask(mask)
        lengths_cpu = starts_cpu[1:] - starts_cpu[:-1]

        other_lengths = lengths_cpu[rows.others()]
        single = int((other_lengths == 1).sum().item())
        padding = int((other_lengths == 0).sum().item())
        longer = other_lengths.size(0) - single - padding
        longer_tokens = int(other_lengths.sum().item()) - single
        drafted_tokens = int(lengths_cpu.sum().item()) - longer_tokens - single
        metadata = GDNMetadata(
            num_prefills=longer + single,
            num_prefill_tokens=longer_tokens + single,
            num_decodes=0,
            num_decode_tokens=0,
            num_spec_decodes=drafted_rows,
            num_spec_decode_tokens=drafted_tokens,
            num_actual_tokens=common.num_actual_tokens,
            spec_sequence_masks=device_mask,
        )
        if metadata.num_prefills == 0:
            self._only_drafts(metadata, common, mask)
            other_starts_cpu = None
        else:
            other_starts_cpu = self._drafts_and_others(metadata, common, rows, device_mask, lengths, lengths_cpu)
        metadata.num_accepted_tokens = accepted[mask]
        return metadata, other_starts_cpu

    def _only_drafts(self, metadata: GDNMetadata, common: CommonMetadata, mask: Tensor) -> None:
        """Every row has drafts, padding aside, which stands last: tokens and offsets are as they come."""
        device, drafted = common.query_start_loc.device, metadata.num_spec_decodes
        tokens = min(drafted * (self.speculation + 1), int(common.query_start_loc_cpu[-1].item()))
        metadata.spec_token_indx = torch.arange(tokens, dtype=torch.int32, device=device)
        metadata.non_spec_token_indx = torch.empty(0, dtype=torch.int32, device=device)
        metadata.spec_state_indices_tensor = common.block_table_tensor[mask, : self.speculation + 1]
        metadata.spec_query_start_loc = common.query_start_loc[: drafted + 1]

    def _drafts_and_others(
        self,
        metadata: GDNMetadata,
        common: CommonMetadata,
        rows: DraftMask,
        device_mask: Tensor,
        lengths: Tensor,
        lengths_cpu: Tensor,
    ) -> Tensor:
        """Tokens sorted by path, offsets and states apart; returns the host offsets of the rows without drafts."""
        device, drafted = common.query_start_loc.device, metadata.num_spec_decodes
        all_tokens = int(common.query_start_loc_cpu[-1].item())
        token_mask = torch.repeat_interleave(device_mask, lengths, output_size=all_tokens)
        by_path = torch.argsort(token_mask, stable=True)
        metadata.non_spec_token_indx = by_path[: metadata.num_prefill_tokens]
        metadata.spec_token_indx = by_path[metadata.num_prefill_tokens :]

        table = common.block_table_tensor
        metadata.spec_state_indices_tensor = table[rows.mask, : self.speculation + 1]
        metadata.non_spec_state_indices_tensor = table[rows.others(), 0]

        spec_starts = torch.zeros(drafted + 1, dtype=torch.int32, device=device)
        torch.cumsum(lengths[rows.mask], dim=0, out=spec_starts[1:])
        other_starts = torch.zeros(lengths.size(0) - drafted + 1, dtype=torch.int32, device=device)
        torch.cumsum(lengths[rows.others()], dim=0, out=other_starts[1:])
        other_starts_cpu = torch.zeros(lengths_cpu.size(0) - drafted + 1, dtype=torch.int32)
        torch.cumsum(lengths_cpu[rows.others()], dim=0, out=other_starts_cpu[1:])
        metadata.spec_query_start_loc = spec_starts
        metadata.non_spec_query_start_loc = other_starts
        return other_starts_cpu

    def _add_prefill(
        self, metadata: GDNMetadata, common: CommonMetadata, starts_cpu: Tensor, mask: Tensor | None
    ) -> None:
        """Chunks, convolution programs and initial states; decodes in front, if any, are cut off for the prefill."""
        starts, states = metadata.non_spec_query_start_loc, metadata.non_spec_state_indices_tensor
        assert starts is not None and states is not None
        device, decodes, decode_tokens = starts.device, metadata.num_decodes, metadata.num_decode_tokens
        prefill_starts_cpu = starts_cpu
        if decodes > 0:
            starts = starts[decodes:] - decode_tokens
            prefill_starts_cpu = starts_cpu[decodes:] - decode_tokens
            states = states[decodes:]
        metadata.prefill_query_start_loc = starts
        metadata.prefill_state_indices = states
        metadata.chunk_indices = send(chunk_indices(prefill_starts_cpu), device)
        metadata.chunk_offsets = send(chunk_offsets(prefill_starts_cpu), device)

        initial = common.compute_num_computed_tokens() > 0
        if mask is not None:
            initial = initial[~mask]
        metadata.has_initial_state = initial
        programs = convolution_programs(starts_cpu, device)
        metadata.nums_dict, metadata.batch_ptr, metadata.token_chunk_offset_ptr = programs
        metadata.prefill_has_initial_state = initial[decodes:] if decodes > 0 else initial

    def _stage(self, metadata: GDNMetadata, rows: int) -> None:
        """Copies a step that a graph can replay into the persistent buffers, padding filled with what does no harm."""
        size, drafted = self.buffers.size, metadata.num_spec_decodes
        if drafted == 0 and metadata.num_decodes <= size:
            self._stage_decodes(metadata, rows)
        elif metadata.num_decodes == 0 and drafted <= size and metadata.num_spec_decode_tokens <= size:
            self._stage_drafts(metadata, rows)

    def _stage_drafts(self, metadata: GDNMetadata, rows: int) -> None:
        buffers, drafted = self.buffers, metadata.num_spec_decodes
        states, masks, accepted = (
            metadata.spec_state_indices_tensor,
            metadata.spec_sequence_masks,
            metadata.num_accepted_tokens,
        )
        tokens, others, starts = metadata.spec_token_indx, metadata.non_spec_token_indx, metadata.spec_query_start_loc
        assert states is not None and masks is not None and accepted is not None
        assert tokens is not None and others is not None and starts is not None

        buffers.spec_state_indices[:drafted].copy_(states, non_blocking=True)
        metadata.spec_state_indices_tensor = _padded(buffers.spec_state_indices, drafted, rows, NULL_BLOCK_ID)
        buffers.spec_sequence_masks[:drafted].copy_(masks[:drafted], non_blocking=True)
        metadata.spec_sequence_masks = _padded(buffers.spec_sequence_masks, drafted, rows, False)

        buffers.non_spec_token_indx[: others.size(0)].copy_(others, non_blocking=True)
        metadata.non_spec_token_indx = buffers.non_spec_token_indx[: others.size(0)]
        buffers.spec_token_indx[: tokens.size(0)].copy_(tokens, non_blocking=True)
        metadata.spec_token_indx = buffers.spec_token_indx[: tokens.size(0)]

        buffers.spec_query_start_loc[: drafted + 1].copy_(starts, non_blocking=True)
        metadata.spec_query_start_loc = _padded(buffers.spec_query_start_loc, drafted + 1, rows + 1, starts[-1])
        buffers.num_accepted_tokens[:drafted].copy_(accepted, non_blocking=True)
        metadata.num_accepted_tokens = _padded(buffers.num_accepted_tokens, drafted, rows, 1)

    def _stage_decodes(self, metadata: GDNMetadata, rows: int) -> None:
        buffers, decodes = self.buffers, metadata.num_decodes
        states, starts = metadata.non_spec_state_indices_tensor, metadata.non_spec_query_start_loc
        assert states is not None and starts is not None

        buffers.non_spec_state_indices[:decodes].copy_(states, non_blocking=True)
        metadata.non_spec_state_indices_tensor = _padded(buffers.non_spec_state_indices, decodes, rows, NULL_BLOCK_ID)
        buffers.non_spec_query_start_loc[: decodes + 1].copy_(starts, non_blocking=True)
        metadata.non_spec_query_start_loc = _padded(buffers.non_spec_query_start_loc, decodes + 1, rows + 1, starts[-1])


def _padded(buffer: Tensor, filled: int, size: int, fill: Tensor | float) -> Tensor:
    """The first `size` entries of a buffer, those from `filled` on set to `fill`."""
    view = buffer[:size]
    view[filled:].fill_(fill)
    return view
