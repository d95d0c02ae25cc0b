"""Multi-head latent attention: prefills attend to their cached context in chunks that fit a workspace.

Decode context parallelism, and the prefill kernels with a plan of their own (FlashInfer, cuDNN, TRT-LLM), are left out.
Source: `MLACommonMetadataBuilder` of vLLM 0.19.1 and 0.20.0; decodes may have any length up to the threshold, as
under FlashAttention's MLA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gdn_impl.batch import pins
from gdn_impl.split import split_decodes_and_prefills


@dataclass
class ChunkedContext:
    """The context of p prefills, taken c chunks at a time."""

    cu_seq_lens: Tensor
    """(c, p + 1) int32 on the device: where each row's part of the chunk starts in the workspace."""
    starts: Tensor
    """(c, p) int32 on the device: where each row's part starts in its context."""
    seq_tot: list[int]
    """Tokens of each chunk."""
    max_seq_lens: list[int]
    """Tokens of the longest part of each chunk."""
    seq_lens: Tensor
    """(c, p) int32 on the host: tokens of each part."""
    token_to_seq: Tensor
    """(c, most tokens of a chunk) int32 on the device: which row a token of the chunk belongs to."""
    chunk_total_token: Tensor
    """(c,) int32 on the host, a view of pinned memory."""


@dataclass
class Prefills:
    """The p rows after the decodes."""

    block_table: Tensor
    query_start_loc: Tensor
    """(p + 1,) int32 on the device, from 0."""
    max_query_len: int
    chunked_context: ChunkedContext | None


@dataclass
class Decodes:
    """The rows before the prefills, as a backend's decode kernel is handed them."""

    block_table: Tensor
    seq_lens: Tensor
    query_start_loc_cpu: Tensor
    query_start_loc: Tensor


@dataclass
class MLAMetadata:
    num_reqs: int
    max_query_len: int
    max_seq_len: int
    num_actual_tokens: int
    query_start_loc: Tensor
    slot_mapping: Tensor
    num_decodes: int
    num_decode_tokens: int
    num_prefills: int
    prefill: Prefills | None
    decode: Decodes | None


class Before:
    """Computed lengths are derived on the device and fetched: every step with a prefill waits for it.

    Args:
        decode_threshold: the longest query that still decodes, 1 + speculation.
        workspace_tokens: context tokens that fit the workspace; at least a page for each row.
        page_size: tokens per cache block; chunks start at pages.
    """

    def __init__(self, decode_threshold: int, workspace_tokens: int, page_size: int, device: torch.device) -> None:
        self.decode_threshold = decode_threshold
        self.workspace_tokens = workspace_tokens
        self.page_size = page_size
        self.device = device

    def build(self, batch: Any) -> MLAMetadata:
        """The metadata of one step."""
        split = split_decodes_and_prefills(batch, self.decode_threshold)
        decodes = split.num_decodes
        return MLAMetadata(
            num_reqs=batch.num_reqs,
            max_query_len=batch.max_query_len,
            max_seq_len=batch.max_seq_len,
            num_actual_tokens=batch.num_actual_tokens,
            query_start_loc=batch.query_start_loc,
            slot_mapping=batch.slot_mapping,
            num_decodes=decodes,
            num_decode_tokens=split.num_decode_tokens,
            num_prefills=split.num_prefills,
            prefill=self._prefills(batch, decodes) if split.num_prefills else None,
            decode=self._decodes(batch, decodes) if decodes else None,
        )

    def context(self, batch: Any, decodes: int) -> Tensor:
        """(p,) int32 on the host: tokens computed before this step, of each prefill."""
        computed: Tensor = batch.compute_num_computed_tokens().cpu()
        return computed[decodes : batch.num_reqs]

    def _prefills(self, batch: Any, decodes: int) -> Prefills:
        context = self.context(batch, decodes)
        longest = int(context.max().item())
        with_context = int((context > 0).sum().item())
        starts = batch.query_start_loc[decodes:] - batch.query_start_loc[decodes]
        chunked = self._chunks(context, longest, with_context) if longest > 0 else None
        return Prefills(batch.block_table_tensor[decodes:, ...], starts, batch.max_query_len, chunked)

    def _chunks(self, context: Tensor, longest: int, rows_with_context: int) -> ChunkedContext:
        """Every row with context gets an equal share of the workspace, in whole pages."""
        share = self.workspace_tokens // rows_with_context // self.page_size * self.page_size
        assert share > 0, "the workspace holds less than a page for each row"
        rows, chunks = len(context), -(-longest // share)
        starts = torch.arange(chunks, dtype=torch.int32).unsqueeze(1).expand(-1, rows) * share
        ends = torch.min(context.unsqueeze(0), starts + share)
        lengths = (ends - starts).clamp(min=0)
        cumulative = torch.zeros(chunks, rows + 1, dtype=torch.int32, pin_memory=pins(self.device))
        torch.cumsum(lengths, dim=1, out=cumulative[:, 1:], dtype=torch.int32)
        totals = cumulative[:, -1]
        rows_of_tokens = self._rows_of_tokens(lengths, int(totals.max().item()))
        return ChunkedContext(
            cu_seq_lens=cumulative.to(self.device, non_blocking=True),
            starts=starts.to(self.device, non_blocking=True),
            seq_tot=lengths.sum(dim=1).tolist(),
            max_seq_lens=lengths.max(dim=1).values.tolist(),
            seq_lens=lengths,
            token_to_seq=rows_of_tokens.to(self.device, non_blocking=True),
            chunk_total_token=totals,
        )

    @staticmethod
    def _rows_of_tokens(lengths: Tensor, most: int) -> Tensor:
        """(c, most) int32 on the host: the row of each token of each chunk, 0 beyond its end."""
        chunks, rows = lengths.shape
        table = torch.zeros([chunks, most], dtype=torch.int32)
        numbers = torch.arange(rows, dtype=torch.int32)
        for chunk in range(chunks):
            rows_of_chunk = torch.repeat_interleave(numbers, lengths[chunk])
            table[chunk, : rows_of_chunk.shape[0]] = rows_of_chunk
        return table

    @staticmethod
    def _decodes(batch: Any, decodes: int) -> Decodes:
        return Decodes(
            batch.block_table_tensor[:decodes, ...],
            batch.seq_lens[:decodes],
            batch.query_start_loc_cpu[: decodes + 1],
            batch.query_start_loc[: decodes + 1],
        )


class After(Before):
    """By the bound less the query, which is exact for prefills."""

    def context(self, batch: Any, decodes: int) -> Tensor:
        starts, end = batch.query_start_loc_cpu, batch.num_reqs
        query_lens = starts[decodes + 1 : end + 1] - starts[decodes:end]
        context: Tensor = batch.bound[decodes:end] - query_lens
        return context
