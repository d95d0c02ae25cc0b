"""Micro-batches: one step cut into parts that overlap compute with communication, each with its own common metadata.

A request that lies across a cut belongs to both parts: the first keeps all but its last tokens, the second its last.
Source: `ubatch_utils` of vLLM 0.19.1 and 0.20.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gdn_impl.pr40654 import common


class MicroBatch(NamedTuple):
    """Which rows and tokens of the step a part holds; its outer rows may be parts of requests."""

    rows: slice
    tokens: slice


def cut(query_lens: npt.NDArray[np.int32], tokens: int, rows: int, parts: int = 2) -> list[MicroBatch]:
    """The parts of a step with `tokens` tokens and `rows` rows, padding included; the last part takes the padding.

    Args:
        query_lens: (real rows,) scheduled tokens of each request.
    """
    ends = np.concatenate([[0], np.cumsum(query_lens)])
    stops = [tokens // parts * part for part in range(1, parts)] + [int(ends[-1])]
    batches, start = [], 0
    for stop in stops:
        first = int(np.searchsorted(ends, start, side="right")) - 1
        last = int(np.searchsorted(ends, stop, side="left"))
        batches.append(MicroBatch(slice(first, last), slice(start, stop)))
        start = stop
    final = batches[-1]
    batches[-1] = MicroBatch(slice(final.rows.start, rows), slice(final.tokens.start, tokens))
    return batches


@dataclass
class Lengths:
    """The part's sequence lengths, in each form that the step has them."""

    device: Tensor
    host: Tensor | None
    computed: Tensor | None = None
    bound: Tensor | None = None


class Before:
    """The longest row is found in the host copy, fetched from the device where the runner gave none."""

    common_type: type[common.Before] = common.Before

    def split(self, parts: list[MicroBatch], batch: Any) -> list[Any]:
        """The common metadata of each part; `batch` stays as it is."""
        return [self.part(part, batch) for part in parts]

    def part(self, part: MicroBatch, batch: Any) -> Any:
        """The common metadata of one part, offsets and lengths being copies where they differ from the batch's."""
        rows, tokens = part
        all_starts = batch.query_start_loc_cpu
        first, last = rows.start, rows.stop - 1
        assert all_starts[first] <= tokens.start < all_starts[first + 1], "the part starts outside its first row"
        resumes = tokens.start > all_starts[first]
        # A captured graph's padding may reach beyond the last row.
        breaks_off = tokens.stop - 1 < all_starts[last + 1] - 1

        starts_cpu, starts = self._starts(all_starts, rows), self._starts(batch.query_start_loc, rows)
        if resumes:
            skipped = tokens.start - all_starts[first]
            starts[1:] -= skipped
            starts_cpu[1:] -= skipped
        lengths = self.slice_lengths(batch, rows)
        if breaks_off:
            left_out = all_starts[last + 1] - tokens.stop
            starts[-1] -= left_out
            starts_cpu[-1] -= left_out
            self.shorten_last(lengths, left_out)
        longest = self.longest(lengths, batch, rows)
        longest_query = int(torch.max(torch.abs(common.lengths(starts_cpu))).item())
        return self.common_type(
            query_start_loc=starts,
            query_start_loc_cpu=starts_cpu,
            seq_lens=lengths.device,
            num_reqs=rows.stop - rows.start,
            num_actual_tokens=tokens.stop - tokens.start,
            # A rehearsal's offsets are all 0.
            max_query_len=longest_query or batch.max_query_len,
            max_seq_len=longest,
            block_table_tensor=batch.block_table_tensor[rows],
            slot_mapping=batch.slot_mapping[tokens],
            _seq_lens_cpu=lengths.host,
            _num_computed_tokens_cpu=lengths.computed,
            **self.more_fields(lengths),
        )

    @staticmethod
    def _starts(starts: Tensor, rows: slice) -> Tensor:
        return starts[rows.start : rows.stop + 1] - starts[rows.start]

    # What the change touches

    def slice_lengths(self, batch: Any, rows: slice) -> Lengths:
        return Lengths(batch.seq_lens[rows], batch.seq_lens_cpu[rows])

    def shorten_last(self, lengths: Lengths, left_out: Tensor) -> None:
        """Takes the tokens that the next part holds off the last row, in copies: the batch keeps its own."""
        assert lengths.host is not None
        lengths.device, lengths.host = lengths.device.clone(), lengths.host.clone()
        lengths.device[-1] -= left_out
        lengths.host[-1] -= left_out

    def longest(self, lengths: Lengths, batch: Any, rows: slice) -> int:
        """Tokens of the longest row; the computed tokens are sliced on the way."""
        assert lengths.host is not None
        longest = int(lengths.host.max())
        lengths.computed = batch.num_computed_tokens_cpu[rows]
        return longest

    def more_fields(self, lengths: Lengths) -> dict[str, Any]:
        return {}


class After(Before):
    """The bound is sliced and shortened with the rest and gives the longest row; host copies pass on if they exist."""

    common_type = common.After

    def slice_lengths(self, batch: Any, rows: slice) -> Lengths:
        def part(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else tensor[rows]

        device = batch.seq_lens[rows]
        host, bound = part(batch._seq_lens_cpu), part(batch.seq_lens_cpu_upper_bound)
        return Lengths(device, host, part(batch._num_computed_tokens_cpu), bound)

    def shorten_last(self, lengths: Lengths, left_out: Tensor) -> None:
        def shorter(tensor: Tensor) -> Tensor:
            copy = tensor.clone()
            copy[-1] -= left_out
            return copy

        lengths.device = shorter(lengths.device)
        lengths.host = None if lengths.host is None else shorter(lengths.host)
        lengths.bound = None if lengths.bound is None else shorter(lengths.bound)

    def longest(self, lengths: Lengths, batch: Any, rows: slice) -> int:
        assert lengths.bound is not None, "the runner gave no bound of the sequence lengths"
        return int(lengths.bound.max())

    def more_fields(self, lengths: Lengths) -> dict[str, Any]:
        return {"seq_lens_cpu_upper_bound": lengths.bound}
