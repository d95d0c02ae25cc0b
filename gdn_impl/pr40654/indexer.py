"""The indexer of sparse MLA: which keys each query token scores, prefills taken in chunks that fit two budgets.

In 0.20.0 the chunks' spans come from the device's exact lengths, by one fused kernel: a rewrite that landed beside
40654 and that the bound needs, for it may size a workspace but not say where a span ends. `After` has it, in torch
operations.
Source: `DeepseekV32IndexerMetadataBuilder` of vLLM 0.19.1 and 0.20.0, without DeepSeek V4's compressed cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gdn_impl.pr40654 import common
from gdn_impl.pr40654.indexer_decode import DecodeHalf, Decodes
from gdn_impl.split import Split, split_decodes_and_prefills


@dataclass
class Chunk:
    """Some prefill rows, or some query tokens of one: q query tokens over k keys laid out row after row."""

    cu_seqlen_ks: Tensor
    """(q,) int32 on the device: where each query's keys start."""
    cu_seqlen_ke: Tensor
    """(q,) int32 on the device: where they end; a query sees the keys up to its own."""
    cu_seq_lens: Tensor
    """(rows + 1,) int32 on the device: where each row's keys start."""
    token_to_seq: Tensor
    """(k,) int32 on the device: the row of each key; any value past the keys that there are."""
    total_seq_lens: int | Tensor
    """k, or a bound of it; in 0.19.1 a 0-dim host tensor."""
    block_table: Tensor
    token_start: int
    """First query token, counted in the batch."""
    token_end: int
    num_reqs: int
    skip_kv_gather: bool
    """The workspace holds these keys already, from the chunk before."""


@dataclass
class IndexerMetadata:
    seq_lens: Tensor
    max_seq_len: int
    slot_mapping: Tensor
    split: Split
    prefill: list[Chunk] | None
    decode: Decodes | None


class Before:
    """The host copy of the lengths sizes the chunks, and says where each span ends.

    Args:
        decode: the other half of the build, which no bound touches.
        max_keys: keys that the workspace holds.
        max_scores: scores, queries times keys, that a chunk may have.
    """

    def __init__(self, decode: DecodeHalf, max_keys: int, max_scores: int, device: torch.device) -> None:
        self.decode = decode
        self.max_keys = max_keys
        self.max_scores = max_scores
        self.device = device

    def build(self, batch: Any) -> IndexerMetadata:
        """The metadata of one step."""
        threshold, uniform = 1 + self.decode.speculation, not self.decode.flattens
        split = split_decodes_and_prefills(batch, threshold, require_uniform=uniform)
        return IndexerMetadata(
            seq_lens=batch.seq_lens,
            max_seq_len=batch.max_seq_len,
            slot_mapping=batch.slot_mapping,
            split=split,
            prefill=self._prefills(batch, split.num_decodes) if split.num_prefills else None,
            decode=self.decode.build(batch, split) if split.num_decodes else None,
        )

    def _prefills(self, batch: Any, decodes: int) -> list[Chunk]:
        query_lens = torch.diff(batch.query_start_loc_cpu[decodes : batch.num_reqs + 1])
        lengths = self.host_lengths(batch)
        chunks = []
        for first, end, queries in self._cut(lengths[decodes:], query_lens):
            chunk = self.chunk(batch, lengths, slice(decodes + first, decodes + end), queries)
            if chunk is not None:
                chunks.append(chunk)
        return chunks

    def _cut(self, seq_lens: Tensor, query_lens: Tensor) -> list[tuple[int, int, slice]]:
        """Ranges of rows, each with a range of their query tokens; a row too large by itself is cut between queries."""
        cuts, end = [], 0
        while end < len(seq_lens):
            first, queries, keys = end, 0, 0
            while end < len(seq_lens):
                more_queries = queries + int(query_lens[end].item())
                more_keys = keys + int(seq_lens[end].item())
                if more_keys > self.max_keys or more_queries * more_keys > self.max_scores:
                    break
                queries, keys, end = more_queries, more_keys, end + 1
            if end == first:
                queries, keys, end = int(query_lens[end].item()), int(seq_lens[end].item()), end + 1
            # At least 1: a padded row that is left by itself has neither; releases before 0.26.0 fail there.
            step = max(1, self.max_scores // keys if keys else queries)
            cuts += [(first, end, slice(at, min(at + step, queries))) for at in range(0, queries, step)]
        return cuts

    # What the change touches

    def host_lengths(self, batch: Any) -> Tensor:
        """(n,) int32 on the host."""
        lengths: Tensor = batch.seq_lens_cpu
        return lengths

    # What 0.20.0 rewrote beside it

    def chunk(self, batch: Any, lengths: Tensor, rows: slice, queries: slice) -> Chunk | None:
        """The metadata of some query tokens of some rows, made on the host and copied over; None without keys."""
        starts = batch.query_start_loc_cpu[rows.start : rows.stop + 1] - batch.query_start_loc_cpu[rows.start]
        spans = self._spans(starts, lengths[rows])
        first_token = int(batch.query_start_loc_cpu[rows.start].item())
        keys = lengths[rows].sum()
        count = rows.stop - rows.start
        numbers = torch.arange(0, count, dtype=torch.int32)
        token_to_seq = torch.repeat_interleave(numbers, lengths[rows]).to(self.device)
        assert keys <= self.max_keys, "the chunk's keys exceed the workspace"
        key_starts = torch.cat([torch.zeros(1, dtype=torch.int32), lengths[rows].cumsum(dim=0)])
        return Chunk(
            cu_seq_lens=key_starts.to(torch.int32).to(self.device),
            cu_seqlen_ks=spans[0][queries],
            cu_seqlen_ke=spans[1][queries],
            token_to_seq=token_to_seq,
            total_seq_lens=keys,
            block_table=batch.block_table_tensor[rows],
            token_start=first_token + queries.start,
            token_end=first_token + queries.stop,
            num_reqs=count,
            skip_kv_gather=queries.start > 0,
        )

    def _spans(self, starts: Tensor, seq_lens: Tensor) -> tuple[Tensor, Tensor]:
        """Where each query token's keys start and end: two of (query tokens,) int32 on the device."""
        starts, seq_lens = starts.to(dtype=torch.long), seq_lens.to(dtype=torch.long)
        query_lens = common.lengths(starts)
        tokens = int(starts[-1].item())
        key_starts = torch.cumsum(seq_lens, dim=0) - seq_lens
        row = torch.repeat_interleave(torch.arange(len(seq_lens)), query_lens)
        first = key_starts[row]
        length = torch.repeat_interleave(seq_lens, query_lens)
        queries = torch.repeat_interleave(query_lens, query_lens)
        place = torch.arange(tokens, dtype=torch.long) - torch.repeat_interleave(starts[:-1], query_lens) + 1
        end = first + (length - queries + place)
        return first.int().to(self.device), end.int().to(self.device)


class After(Before):
    """By the bound, which sizes chunks and workspace."""

    def host_lengths(self, batch: Any) -> Tensor:
        bound: Tensor = batch.bound
        return bound

    # What 0.20.0 rewrote beside it

    def chunk(self, batch: Any, lengths: Tensor, rows: slice, queries: slice) -> Chunk | None:
        """Spans from the device's own lengths, nothing sent and nothing fetched."""
        keys = int(lengths[rows].sum().item())
        if keys == 0:
            return None
        count = rows.stop - rows.start
        seq_lens, starts = batch.seq_lens[rows], batch.query_start_loc[rows.start : rows.stop + 1]
        starts = starts - starts[0]
        key_starts = torch.empty(count + 1, dtype=torch.int32, device=self.device)
        key_starts[:1] = 0
        torch.cumsum(seq_lens, dim=0, out=key_starts[1:])

        tokens = torch.arange(queries.start, queries.stop, dtype=torch.int32, device=self.device)
        row = torch.searchsorted(starts[1:], tokens, right=True)
        first = key_starts[row]
        context = seq_lens - common.lengths(starts)
        end = first + context[row] + tokens - starts[row] + 1
        numbers = torch.arange(keys, dtype=torch.int32, device=self.device)
        first_token = int(batch.query_start_loc_cpu[rows.start].item())
        return Chunk(
            cu_seqlen_ks=first,
            cu_seqlen_ke=end,
            cu_seq_lens=key_starts,
            token_to_seq=torch.searchsorted(key_starts[1:], numbers, right=True, out_int32=True),
            total_seq_lens=keys,
            block_table=batch.block_table_tensor[rows],
            token_start=first_token + queries.start,
            token_end=first_token + queries.stop,
            num_reqs=count,
            skip_kv_gather=queries.start > 0,
        )
