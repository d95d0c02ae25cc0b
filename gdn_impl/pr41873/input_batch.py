"""The requests that the runner has at work, slot by slot, and what remains in slots that fell vacant.

Source: `InputBatch` and `BlockTable` of vLLM 0.21.0 (unchanged in 0.22.0), the tables that attention metadata reads.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt
import torch


class InputBatch:
    """Tables of token counts and cache blocks, one row per slot. Live requests stand in the first `len(batch)` slots.

    A step removes what finished, adds what joined, and compacts: only then are the live slots the first ones.
    """

    def __init__(self, slots: int, block_widths: Sequence[int]) -> None:
        """
        Args:
            slots: the most requests at work at once.
            block_widths: for each KV group, the most cache blocks of a request.
        """
        self.slots = slots
        self.computed: npt.NDArray[np.int32] = np.zeros(slots, np.int32)
        """(slots,) tokens computed so far. A vacated slot keeps the count of whoever was there last."""
        self.prompt: npt.NDArray[np.int32] = np.zeros(slots, np.int32)
        """(slots,) tokens of the prompt, kept alike."""
        self.blocks: list[npt.NDArray[np.int32]] = [np.zeros((slots, width), np.int32) for width in block_widths]
        """For each KV group (slots, blocks). A slot that is removed is zeroed; one that is moved keeps its blocks."""
        # The same memory, as the runner compares it.
        self.computed_tensor = torch.from_numpy(self.computed)
        self.prompt_tensor = torch.from_numpy(self.prompt)
        self.slot_of: dict[Hashable, int] = {}
        self._requests: list[Hashable | None] = []
        self._blocks_held = [np.zeros(slots, np.int32) for _ in block_widths]
        self._vacated: list[int] = []

    def __len__(self) -> int:
        """Live requests."""
        return len(self.slot_of)

    @property
    def requests(self) -> tuple[Hashable | None, ...]:
        """The requests by slot; None for a slot that was vacated and not yet compacted away."""
        return tuple(self._requests)

    def add(self, request: Hashable, computed: int, prompt: int, blocks: Sequence[Sequence[int]]) -> int:
        """Takes the lowest vacated slot of this step, or the next one at the end, and returns it.

        Raises:
            ValueError: if the request is there already or no slot is free.
        """
        if request in self.slot_of:
            raise ValueError(f"request {request!r} is in the batch already")
        if len(self) == self.slots:
            raise ValueError(f"all {self.slots} slots are taken")
        slot = self._vacated.pop(0) if self._vacated else len(self._requests)
        if slot == len(self._requests):
            self._requests.append(None)
        self._requests[slot] = request
        self.slot_of[request] = slot
        self.prompt[slot] = prompt
        self.computed[slot] = computed
        for table, held, ids in zip(self.blocks, self._blocks_held, blocks, strict=True):
            table[slot, : len(ids)] = ids
            held[slot] = len(ids)
        return slot

    def remove(self, request: Hashable) -> None:
        """Vacates the request's slot: its blocks are zeroed, its counts stay. `compact` must follow in the step."""
        slot = self.slot_of.pop(request)
        self._requests[slot] = None
        insort(self._vacated, slot)
        for table, held in zip(self.blocks, self._blocks_held, strict=True):
            table[slot, : held[slot]] = 0
            held[slot] = 0

    def compact(self) -> None:
        """Moves the last requests into the lowest vacated slots until none lies below a live one."""
        last = len(self._requests) - 1
        for hole in self._vacated:
            while last >= 0 and self._requests[last] is None:
                last -= 1
            if hole > last:
                break
            self._move(last, hole)
        self._vacated.clear()
        del self._requests[len(self) :]

    def swap(self, one: int, other: int) -> None:
        """Exchanges two live slots, as the runner does to bring decodes before prefills."""
        pair, crossed = [one, other], [other, one]
        self._requests[one], self._requests[other] = self._requests[other], self._requests[one]
        for slot in pair:
            self.slot_of[self._requests[slot]] = slot
        for table in (self.computed, self.prompt, *self.blocks, *self._blocks_held):
            table[pair] = table[crossed]

    def _move(self, source: int, target: int) -> None:
        request = self._requests[source]
        self._requests[source], self._requests[target] = None, request
        self.slot_of[request] = target
        # Copied, never cleared: this is where stale counts come from.
        self.prompt[target] = self.prompt[source]
        self.computed[target] = self.computed[source]
        for table, held in zip(self.blocks, self._blocks_held, strict=True):
            table[target, : held[source]] = table[source, : held[source]]
            held[target] = held[source]
