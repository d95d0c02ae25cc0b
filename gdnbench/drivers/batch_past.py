"""The past of a padded step: how requests came and went before it, the same for every driver of a scenario.

It leaves the slots behind the step's rows with the counts of requests that were still prefilling.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gdnbench.drivers.step_arrays import StepArrays
from gdnbench.values.scenarios import Scenario

LEAST_SLOTS = 64


@dataclass(frozen=True)
class Request:
    """A request as it joins. Those of the step are numbered by their row, passers-by from there on."""

    number: int
    computed: int
    prompt: int
    blocks: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Turn:
    """One earlier step: what finished before it and what joined. The batch is compacted afterwards."""

    finished: tuple[int, ...]
    joined: tuple[Request, ...]


class Batch(Protocol):
    """An input batch, ours or a release's."""

    def add(self, request: int, computed: int, prompt: int, blocks: tuple[tuple[int, ...], ...]) -> object: ...
    def remove(self, request: int) -> object: ...
    def compact(self) -> object: ...
    def swap(self, one: int, other: int) -> object: ...
    @property
    def computed(self) -> Any: ...
    @property
    def prompt(self) -> Any: ...
    @property
    def blocks(self) -> list[Any]: ...
    @property
    def slot_of(self) -> Mapping[Any, int]: ...


class Past:
    """What happened to the batch before the step of a scenario, and the step's own rows.

    First a crowd comes and goes. Then most of the step's requests join among passers-by; these finish, the late
    requests take the lowest slots left, and compaction moves others down. All rows join before their first token, so a
    slot that one of them was moved from is stale, and so is the last passer-by's: no padded row can be all clean.
    """

    def __init__(self, scenario: Scenario, arrays: StepArrays) -> None:
        rng = np.random.default_rng([41873, zlib.crc32(scenario.name.encode())])
        self.rows = len(scenario.rows)
        self.width = 1 + scenario.speculation
        self.arrays = arrays
        crowd = int(rng.integers(0, 5))
        late = int(rng.integers(0, min(self.rows, 4)))
        passers = scenario.padded_rows + late
        self.slots = max(LEAST_SLOTS, self.rows + passers, crowd)
        first = self.rows + crowd
        leaving = tuple(range(first, first + passers))
        order = [*range(self.rows - late), *leaving]
        rng.shuffle(order)
        last = max((place for place, number in enumerate(order) if number in leaving), default=-1)
        joined = tuple(
            self._row(number) if number < self.rows else self._passer(number, rng, prefills=place == last)
            for place, number in enumerate(order)
        )
        early = tuple(self._passer(number, rng) for number in range(self.rows, first))
        self.turns = (
            Turn((), early),
            Turn(tuple(range(self.rows, first)), joined),
            Turn(leaving, tuple(self._row(number) for number in range(self.rows - late, self.rows))),
        )

    def replay(self, batch: Batch) -> None:
        """Brings a new batch to the point of the scenario's step: rows in its order, counts advanced to its truth."""
        for turn in self.turns:
            for number in turn.finished:
                batch.remove(number)
            for request in turn.joined:
                batch.add(request.number, request.computed, request.prompt, request.blocks)
            batch.compact()
        for row in range(self.rows):
            if (slot := batch.slot_of[row]) != row:
                batch.swap(slot, row)
        batch.computed[: self.rows] = (self.arrays.seq_lens_bound - self.arrays.query_lens)[: self.rows]

    def _row(self, number: int) -> Request:
        blocks = tuple(tuple(table[number].tolist()) for table in self.arrays.block_tables)
        return Request(number, 0, int(self.arrays.prompt_lens[number]), blocks)

    def _passer(self, number: int, rng: np.random.Generator, prefills: bool = False) -> Request:
        prompt = int(rng.integers(1, 200))
        computed = int(rng.integers(0, prompt if prefills else 2 * prompt))
        start = 1 + (len(self.arrays.query_lens) + number) * self.width
        blocks = tuple(range(start, start + self.width))
        return Request(number, computed, prompt, (blocks,) * len(self.arrays.block_tables))
