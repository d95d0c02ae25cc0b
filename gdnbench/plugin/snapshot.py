"""What the plugin counted up to one moment, and between two."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gdnbench.plugin import layout
from gdnbench.values.coverage import Builds, Kind


@dataclass(frozen=True, slots=True)
class Phase:
    """Steps at one place among three.

    Attributes:
        steps: how many.
        log_ns: the sum of the logarithms of their nanoseconds.
    """

    steps: int
    log_ns: float


@dataclass(frozen=True)
class Snapshot:
    """A copy of a control file.

    Attributes:
        roles: their names, in the order of the file.
        content: its bytes.
    """

    roles: tuple[str, ...]
    content: bytes = field(repr=False)

    @cached_property
    def _words(self) -> Sequence[int]:
        return memoryview(self.content).cast("Q")

    def since(self, earlier: Snapshot) -> Snapshot:
        """What happened between an earlier snapshot of the same file and this one.

        Names of fields that differed are those up to now, if any build differed in between.
        """
        words = array("Q", self.content)
        before = earlier._words
        for role in range(len(self.roles) + 1):
            first = layout.role_at(role)
            for word in range(first, first + layout.ROLE_WORDS):
                if word - first not in (layout.FIELDS, layout.STAMPED):
                    words[word] -= before[word]
            if not words[first + layout.DIFFERENT]:
                words[first + layout.FIELDS] = 0
        return Snapshot(self.roles, words.tobytes())

    # The plugin's process

    @property
    def ready(self) -> bool:
        """Whether the plugin sits in the server's builders."""
        return self._words[layout.STATE] == layout.READY

    @property
    def refusal(self) -> str | None:
        """Why the plugin refused a side, in one line; None if it did not."""
        if self._words[layout.STATE] != layout.REFUSED:
            return None
        return self.content[layout.text_place(self._words[layout.MESSAGE])].decode()

    @property
    def process(self) -> int:
        """Id of the process that builds; 0 before there is one."""
        return self._words[layout.PROCESS]

    @property
    def groups(self) -> int:
        """KV groups: distinct builders that built in a step."""
        return self._words[layout.GROUPS]

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """What the server is, read from the live engine: see `gdnbench.plugin.facts`; empty before it is ready."""
        text = self.content[layout.text_place(self._words[layout.FACTS])]
        facts: dict[str, Any] = json.loads(text) if text else {}
        return facts

    # Steps

    @property
    def steps_begun(self) -> int:
        """Calls of the worker's `execute_model`, those that nobody commanded included."""
        return self._total(layout.BEGUN)

    @property
    def pace_ns(self) -> float | None:
        """What the loop that each step begins with took, nanoseconds; None before the first step."""
        count = self._total(layout.PACES)
        return self._total(layout.PACED) / count if count else None

    @property
    def steps_ended(self) -> int:
        """Those that came back."""
        return self._total(layout.ENDED)

    @property
    def steps_built(self) -> int:
        """Those with at least one observed build."""
        return self._total(layout.BUILT)

    @property
    def mixed_steps(self) -> int:
        """Those at whose end another command stood than at their begin; anything but 0 makes a block invalid."""
        return self._total(layout.MIXED)

    @property
    def strayed_builds(self) -> int:
        """Observed builds of mixed steps: stamped with another block than the one commanded."""
        return self._total(layout.STRAYED)

    @property
    def outside_builds(self) -> int:
        """Builds outside of a step: profile runs, captures."""
        return self._total(layout.OUTSIDE)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Steps in which observation took turns, by phase: observed, and twice not; empty if it never did."""
        totals = [self._total(layout.PHASE_AT + word) for word in range(2 * layout.PHASES)]
        pairs = zip(totals[::2], totals[1::2], strict=True)
        return tuple(Phase(steps, total / layout.LOG_UNITS) for steps, total in pairs) if any(totals) else ()

    # Observed builds

    @property
    def block(self) -> int:
        """The block that the latest steps were stamped with."""
        return self._words[layout.BLOCK]

    def stamped(self, role: str) -> int:
        """Observed builds of a role that were stamped with `block`, in steps that have ended."""
        return self._words[self._at(role) + layout.STAMPED]

    def builds(self, role: str) -> int:
        """Observed builds of a role."""
        return sum(one.builds for one in self.coverage(role))

    def coverage(self, role: str) -> tuple[Builds, ...]:
        """Observed builds of a role by kind of step, staged and not; kinds that never came are left out."""
        number = self._number(role)
        cells = ((kind, staged) for kind in layout.KINDS for staged in (False, True))
        found = [self._cell(number, kind, staged) for kind, staged in cells]
        return tuple(one for one in found if one.builds)

    # Both sides held against each other

    @property
    def compared(self) -> int:
        """Builds that both `before` and `after` made."""
        return self._total(layout.COMPARED)

    @property
    def different(self) -> int:
        """Those in which a field differed."""
        return self._total(layout.DIFFERENT)

    @property
    def different_fields(self) -> tuple[str, ...]:
        """Fields that ever differed."""
        bits = 0
        for number in range(len(self.roles) + 1):
            bits |= self._words[layout.role_at(number) + layout.FIELDS]
        return tuple(name for place, name in enumerate(self.facts.get("fields", ())) if bits >> place & 1)

    def _number(self, role: str) -> int:
        return self.roles.index(role)

    def _at(self, role: str) -> int:
        return layout.role_at(self._number(role))

    def _total(self, word: int) -> int:
        return sum(self._words[layout.role_at(number) + word] for number in range(len(self.roles) + 1))

    def _cell(self, number: int, kind: Kind, staged: bool) -> Builds:
        first = layout.cell_at(number, kind, staged)
        histogram = self._words[first + 1 : first + layout.CELL_WORDS]
        builds = sum(histogram)
        mean = self._words[first] / builds / 1000 if builds else None
        return Builds(kind, staged, builds, mean, median_us(histogram))


def median_us(histogram: Sequence[int]) -> float | None:
    """The median of what a histogram holds, microseconds; None if it is empty.

    A value counts as the geometric middle of its bucket, so the median is off by 2.5 % at most.
    """
    total = sum(histogram)
    if not total:
        return None
    middle = (_place(histogram, (total - 1) // 2), _place(histogram, total // 2))
    return sum(float(layout.BUCKET_RATIO ** (bucket + 0.5)) for bucket in middle) / 2000


def _place(histogram: Sequence[int], rank: int) -> int:
    """The bucket of the value with this rank, from 0."""
    for bucket, count in enumerate(histogram):
        rank -= count
        if rank < 0:
            return bucket
    raise AssertionError("a rank beyond all values")  # pragma: no cover
