"""A batch split three ways: decodes, extends (chunks that resume) and prefills (first chunks), in that order.

Source: `split_decodes_prefills_and_extends` of vLLM 0.19.1 and 0.20.0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from gdn_impl.pr40654 import common


class Split(NamedTuple):
    """Counts of rows and tokens. Once there are first chunks, the tokens after them are 0-dim host tensors."""

    num_decodes: int
    num_extends: int
    num_prefills: int
    num_decode_tokens: int
    num_extend_tokens: int | Tensor
    num_prefill_tokens: int | Tensor


class Before:
    """First chunks are told from resumed ones by the host copy of the lengths."""

    def split(self, batch: Any, decode_threshold: int = 1) -> Split:
        """The split of one batch.

        Args:
            decode_threshold: the longest query that still decodes.
        """
        rows, tokens, starts = batch.num_reqs, batch.num_actual_tokens, batch.query_start_loc_cpu
        seq_lens = self.host_lengths(batch)
        if batch.max_query_len <= decode_threshold:
            return Split(rows, 0, 0, tokens, 0, 0)

        query_lens = common.lengths(starts)
        longer = query_lens > decode_threshold
        first_chunks = (seq_lens == query_lens) & longer
        decodes = int(longer.int().argmax(dim=-1).item())
        extends_end = int(first_chunks.int().argmax(dim=-1).item())
        decode_tokens = int(starts[decodes].item())
        if not torch.any(longer):
            return Split(decodes, 0, 0, decode_tokens, 0, 0)
        other_tokens = tokens - decode_tokens
        if not torch.any(first_chunks):
            return Split(decodes, rows - decodes, 0, decode_tokens, other_tokens, 0)
        prefill_tokens = tokens - starts[extends_end]
        return Split(
            num_decodes=decodes,
            num_extends=extends_end - decodes,
            num_prefills=rows - extends_end,
            num_decode_tokens=decode_tokens,
            num_extend_tokens=other_tokens - prefill_tokens,
            num_prefill_tokens=prefill_tokens,
        )

    def host_lengths(self, batch: Any) -> Tensor:
        """(n,) on the host: read before anything else, so even an all-decode step may wait for it."""
        lengths: Tensor = batch.seq_lens_cpu
        return lengths


class After(Before):
    """By the bound: exact for first chunks, and never equal to the query length for any other row."""

    def host_lengths(self, batch: Any) -> Tensor:
        bound: Tensor = batch.bound
        return bound
