"""Runner V2: the host kept no lengths of decodes at all; now it mirrors the computed tokens, optimistically.

Kernels that write token ids, positions, the device's lengths and the logits' places are not part of this: what they
write is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gdn_impl.pr40654 import common

Int32 = npt.NDArray[np.int32]


class Requests:
    """What the host remembers of each request, one slot a request.

    Source: `RequestState` of vLLM 0.19.1.
    """

    def __init__(self, size: int) -> None:
        self.prefill_len = np.zeros(size, np.int32)
        self.computed_prefill = np.zeros(size, np.int32)
        """Tokens computed of what is to be prefilled; stops there."""

    def add(self, slot: int, computed: int, prefill_len: int) -> None:
        """A new request, or one that resumes with `computed` tokens."""
        self.prefill_len[slot] = prefill_len
        self.computed_prefill[slot] = computed

    def advance(self, slots: Int32, scheduled: Int32) -> None:
        """A step has run `scheduled` tokens of the requests in `slots`, both (rows,)."""
        self.computed_prefill[slots] += scheduled
        np.minimum(self.computed_prefill, self.prefill_len, out=self.computed_prefill)

    def bound(self, slots: Int32, scheduled: Int32, rows_padded: int) -> Tensor | None:
        """What the host can say of the sequence lengths in a step: nothing."""
        return None


class MirroredRequests(Requests):
    """With a mirror of the computed tokens that takes every draft for accepted, and learns of no rejection.

    So the bound drifts above the truth by every rejected draft of a request's life; the runner corrects it from
    0.22.0 on, with the scheduler's counts.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.computed = np.zeros(size, np.int32)

    def add(self, slot: int, computed: int, prefill_len: int) -> None:
        super().add(slot, computed, prefill_len)
        self.computed[slot] = computed

    def advance(self, slots: Int32, scheduled: Int32) -> None:
        super().advance(slots, scheduled)
        self.computed[slots] += scheduled

    def bound(self, slots: Int32, scheduled: Int32, rows_padded: int) -> Tensor:
        """(rows_padded,) int32 on the host: computed plus scheduled tokens, 0 for padded rows."""
        lengths = np.zeros(rows_padded, np.int32)
        np.add(self.computed[slots], scheduled, out=lengths[: len(slots)])
        return torch.from_numpy(lengths)


@dataclass
class Batch:
    """One step's rows, n with padding, fewest scheduled tokens first."""

    slots: Int32
    """(rows,) which request each real row belongs to."""
    slots_device: Tensor
    """The same on the device."""
    scheduled: Int32
    """(rows,) tokens to run."""
    rows_padded: int
    query_start_loc_np: Int32
    """(n + 1,) where each row's tokens start."""
    query_start_loc: Tensor
    """The same on the device."""
    seq_lens: Tensor
    """(n,) int32 on the device."""
    seq_lens_bound: Tensor | None
    """(n,) int32 on the host, or None."""
    logits_starts: Tensor
    """(rows + 1,) int32 on the device: one place for each row, and one for each of its drafts."""
    logits_slots: Tensor
    """(places,) int32 on the device: which request each belongs to; a kernel fills it where there are drafts."""
    logits_offsets: Tensor
    """(places,) int32 on the device: which place of its request each is; likewise."""
    logits_indices: Tensor
    """(places,) int64 on the device: which token each reads; a kernel fills it."""
    input_ids: Tensor
    """(t,) int32 on the device, t tokens with padding; a kernel fills it."""
    positions: Tensor
    """(t,) int64 on the device; likewise."""


class Before:
    """Prepares a step, hands it to the metadata builders, and advances the host's counts after it.

    Source: `GPUModelRunner.prepare_inputs`, `.postprocess` and `DefaultModelState.prepare_attn` of vLLM 0.19.1.

    Args:
        max_rows, max_tokens: of a step.
        max_model_len: tokens that a sequence can have.
    """

    requests_type: type[Requests] = Requests
    common_type: type[common.Before] = common.Before

    def __init__(self, max_rows: int, max_tokens: int, max_model_len: int, device: torch.device) -> None:
        self.device = device
        self.max_rows = max_rows
        self.max_model_len = max_model_len
        self.requests = self.requests_type(max_rows)
        self.query_start_loc = torch.zeros(max_rows + 1, dtype=torch.int32, device=device)
        self.seq_lens = torch.zeros(max_rows, dtype=torch.int32, device=device)
        """The truth; a kernel writes it."""
        self.input_ids = torch.zeros(max_tokens, dtype=torch.int32, device=device)
        self.positions = torch.zeros(max_tokens, dtype=torch.int64, device=device)

    def prepare(
        self, scheduled: Mapping[int, int], drafts: Mapping[int, int], rows_padded: int, tokens_padded: int
    ) -> Batch:
        """Rows of a step, sorted by their tokens.

        Args:
            scheduled: tokens to run, by slot.
            drafts: how many of those are drafts, for slots that have any.
            rows_padded, tokens_padded: size of the captured graph, or as many as there are.
        """
        slots = np.array(sorted(scheduled, key=scheduled.__getitem__), np.int32)
        tokens = np.array([scheduled[slot] for slot in slots.tolist()], np.int32)
        rows = len(slots)
        slots_device = self._send(slots)
        logits_starts, logits_slots, logits_offsets = self._logits(slots, slots_device, drafts)

        starts = np.empty(self.max_rows + 1, np.int32)
        starts[0] = 0
        np.cumsum(tokens, out=starts[1 : rows + 1])
        starts[rows + 1 :] = starts[rows]
        self.query_start_loc.copy_(torch.from_numpy(starts), non_blocking=True)
        query_start_loc = self.query_start_loc[: rows_padded + 1]
        seq_lens = self.seq_lens[:rows_padded]
        logits_indices = torch.empty(len(logits_slots), dtype=torch.int64, device=self.device)
        return Batch(
            slots=slots,
            slots_device=slots_device,
            scheduled=tokens,
            rows_padded=rows_padded,
            query_start_loc_np=starts[: rows_padded + 1],
            query_start_loc=query_start_loc,
            seq_lens=seq_lens,
            seq_lens_bound=self.requests.bound(slots, tokens, rows_padded),
            logits_starts=logits_starts,
            logits_slots=logits_slots,
            logits_offsets=logits_offsets,
            logits_indices=logits_indices,
            input_ids=self.input_ids[:tokens_padded],
            positions=self.positions[:tokens_padded],
        )

    def metadata(self, batch: Batch, tables: Sequence[Tensor], slot_mappings: Sequence[Tensor]) -> list[Any]:
        """Common metadata for each KV group, of `common_type`.

        Args:
            batch: of `prepare`.
            tables: (n, blocks) int32 on the device, one for each group.
            slot_mappings: (t,) int64 on the device, one for each group.
        """
        rows = batch.rows_padded
        max_seq_len = self.longest(batch)
        lengths: dict[str, Any] = {
            "query_start_loc": batch.query_start_loc,
            "query_start_loc_cpu": torch.from_numpy(batch.query_start_loc_np),
            "seq_lens": batch.seq_lens[:rows],
        } | self.handed_bound(batch)
        return [
            self.common_type(
                num_reqs=rows,
                num_actual_tokens=len(batch.input_ids),
                max_query_len=int(batch.scheduled.max()),
                max_seq_len=max_seq_len,
                block_table_tensor=table,
                slot_mapping=slot_mapping,
                **lengths,
            )
            for table, slot_mapping in zip(tables, slot_mappings, strict=True)
        ]

    def longest(self, batch: Batch) -> int:
        """Tokens of the longest row: nobody knows, so as many as the model can hold."""
        return self.max_model_len

    def handed_bound(self, batch: Batch) -> dict[str, Tensor]:
        """What consumers learn of the bound: nothing."""
        return {}

    def postprocess(self, batch: Batch) -> None:
        """After a step that generated; the device's counts advance in a kernel, by the accepted tokens only."""
        self.requests.advance(batch.slots, batch.scheduled)

    def postprocess_pooling(self, batch: Batch) -> None:
        """After a step that pooled."""
        self.requests.advance(batch.slots, batch.scheduled)

    def _logits(self, slots: Int32, slots_device: Tensor, drafts: Mapping[int, int]) -> tuple[Tensor, Tensor, Tensor]:
        """Starts, slots and offsets of the places whose logits are wanted."""
        rows, device = len(slots), self.device
        if not drafts:
            starts = torch.arange(rows + 1, device=device, dtype=torch.int32)
            return starts, slots_device, torch.zeros(rows, dtype=torch.int32, device=device)
        counts = np.array([1 + drafts.get(slot, 0) for slot in slots.tolist()], np.int32)
        starts = self._send(np.concatenate([np.zeros(1, np.int32), counts.cumsum(dtype=np.int32)]))
        places = int(counts.sum())
        return starts, slots_device.new_empty(places), torch.empty(places, dtype=torch.int32, device=device)

    def _send(self, array: Int32) -> Tensor:
        """A copy on the device, from pageable memory: pinning proved slower under load."""
        host = torch.from_numpy(array)
        return torch.empty_like(host, device=self.device).copy_(host, non_blocking=True)


class After(Before):
    """The bound travels with the batch, and the longest row is known."""

    requests_type = MirroredRequests
    common_type = common.After

    def longest(self, batch: Batch) -> int:
        assert batch.seq_lens_bound is not None
        return int(batch.seq_lens_bound[: batch.rows_padded].max().item())

    def handed_bound(self, batch: Batch) -> dict[str, Tensor]:
        assert batch.seq_lens_bound is not None
        return {"seq_lens_cpu_upper_bound": batch.seq_lens_bound[: batch.rows_padded]}
