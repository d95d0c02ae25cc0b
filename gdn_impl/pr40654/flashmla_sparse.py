"""FlashMLA's sparse attention over an fp8 cache: prefills are unpacked into a workspace, a few rows at a time.

The variant with prefills and decodes in separate kernels (32 heads and more per rank), without DeepSeek V4's compressed
cache. The kernel's schedule is made at its first call, so no tensor of it is built here.
Source: `FlashMLASparseMetadataBuilder` of vLLM 0.19.1 and 0.20.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gdn_impl.batch import pins
from gdn_impl.split import Split, split_decodes_and_prefills


@dataclass
class Chunk:
    """Prefill rows whose sequences fit the workspace together."""

    seq_lens: Tensor
    """(rows,) int32 on the device."""
    tokens_slice: slice
    """Their tokens in the batch."""
    block_table: Tensor
    req_start_idx: int
    """Their first row, counted from the first prefill."""
    workspace_starts: Tensor
    """(rows,) int32 on the device: where each sequence starts in the workspace."""
    chunk_tot_seqlen: Tensor
    """0-dim int64 on the host: tokens of the workspace in use, or more."""


@dataclass
class Prefills:
    """The p rows after the decodes."""

    seq_lens: Tensor
    """(p,) int32 on the device."""
    request_ids: Tensor
    """(t,) int32 on the device: the prefill that a token belongs to, -1 for tokens of decodes."""
    workspace_starts: Tensor
    """(p,) int32 on the device, from 0 in each chunk."""
    chunks: list[Chunk]


@dataclass
class Decodes:
    """The rows before the prefills, all of one length."""

    cache_lens: Tensor
    """(rows,) int32 on the device: the longest sequence there can be, since the indices say which tokens are read."""
    dummy_block_table: Tensor
    decode_query_len: int


@dataclass
class SparseMetadata:
    query_start_loc: Tensor
    slot_mapping: Tensor
    block_table: Tensor
    req_id_per_token: Tensor
    """(t,) int32 on the device, a view of a persistent buffer; 0 for padding."""
    split: Split
    prefill: Prefills | None
    decode: Decodes | None


class Before:
    """All lengths are fetched from the device: every step with a prefill waits for it.

    Args:
        decode_threshold: the longest query that still decodes, 1 + speculation.
        max_model_len: tokens of the longest sequence; the workspace holds five.
        max_rows: max-num-seqs.
        max_tokens: max-num-batched-tokens.
    """

    def __init__(
        self, decode_threshold: int, max_model_len: int, max_rows: int, max_tokens: int, device: torch.device
    ) -> None:
        self.decode_threshold = decode_threshold
        self.workspace_tokens = 5 * max_model_len
        self.device = device
        self.longest_sequence = torch.full((max_rows,), max_model_len, device=device, dtype=torch.int32)
        self.dummy_block_table = torch.empty((max_rows, 1), dtype=torch.int32, device=device)
        self.rows_of_tokens = torch.empty((max_tokens,), dtype=torch.int32, device=device)

    def build(self, batch: Any) -> SparseMetadata:
        """The metadata of one step."""
        starts = np.asarray(batch.query_start_loc_cpu, dtype=np.int32)
        query_lens = starts[1:] - starts[:-1]
        rows = np.repeat(np.arange(query_lens.shape[0], dtype=np.int32), query_lens)
        self.rows_of_tokens.fill_(0)
        self.rows_of_tokens[: rows.shape[0]].copy_(torch.from_numpy(rows), non_blocking=True)
        rows_of_tokens = self.rows_of_tokens[: batch.num_actual_tokens]

        split = split_decodes_and_prefills(batch, self.decode_threshold, require_uniform=True)
        return SparseMetadata(
            query_start_loc=batch.query_start_loc,
            slot_mapping=batch.slot_mapping,
            block_table=batch.block_table_tensor,
            req_id_per_token=rows_of_tokens,
            split=split,
            prefill=self._prefills(batch, split) if split.num_prefills else None,
            decode=self._decodes(batch, split.num_decodes) if split.num_decodes else None,
        )

    def host_lengths(self, batch: Any) -> Tensor:
        """(n,) int32 on the host."""
        lengths: Tensor = batch.seq_lens.cpu()
        return lengths

    def _prefills(self, batch: Any, split: Split) -> Prefills:
        decodes, prefills = split.num_decodes, split.num_prefills
        host, device = self.host_lengths(batch)[decodes:], batch.seq_lens[decodes:]
        starts_cpu = batch.query_start_loc_cpu
        ids = torch.full((batch.num_actual_tokens,), -1, dtype=torch.int32, device=self.device)
        for number in range(prefills):
            row = decodes + number
            ids[starts_cpu[row] : starts_cpu[row + 1]] = number

        starts_host = torch.zeros(prefills, dtype=torch.int32, pin_memory=pins(self.device))
        starts_host[1:] = torch.cumsum(host[:-1], dim=0)
        starts = torch.empty(prefills, dtype=torch.int32, device=self.device)
        chunks = []
        for first, end in _rows_that_fit(host, self.workspace_tokens):
            before = starts_host[first].item()
            starts_host[first:end] -= before
            seq_lens = device[first:end]
            total = host[first:end].sum()
            first_token, end_token = (int(starts_cpu[decodes + row].item()) for row in (first, end))
            tokens = slice(first_token, end_token)
            view, block_table = starts[first:end], batch.block_table_tensor[decodes + first : decodes + end]
            chunks.append(Chunk(seq_lens, tokens, block_table, first, view, total))
        starts.copy_(starts_host, non_blocking=True)
        return Prefills(device, ids, starts, chunks)

    def _decodes(self, batch: Any, decodes: int) -> Decodes:
        starts = batch.query_start_loc_cpu
        query_len = int((starts[1] - starts[0]).item())
        block_table, longest = self.dummy_block_table[:decodes], self.longest_sequence[:decodes]
        return Decodes(longest, block_table, query_len)


class After(Before):
    """By the bound: the workspace is planned as if every draft had been accepted, at no wait."""

    def host_lengths(self, batch: Any) -> Tensor:
        bound: Tensor = batch.bound
        return bound


def _rows_that_fit(seq_lens: Tensor, workspace_tokens: int) -> list[tuple[int, int]]:
    """Ranges of consecutive rows, each as long as its sequences fit the workspace together."""
    assert torch.all(seq_lens <= workspace_tokens).item(), "a sequence exceeds the workspace"
    ranges, row = [], 0
    while row < len(seq_lens):
        first, total = row, 0
        while row < len(seq_lens) and total + (tokens := int(seq_lens[row].item())) <= workspace_tokens:
            total, row = total + tokens, row + 1
        ranges.append((first, row))
    return ranges
