"""From the operations of one step before to those after, operation by operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gdnbench.values.verdicts import CostRow, Json

FREE = "view"
"""Operations of this kind ask nothing of anybody."""

KINDS = {
    "device": "device",
    "host": "host",
    "h2d_pinned": "pinned copy",
    "h2d_pageable": "pageable copy",
    "d2h": "copy back",
}


@dataclass(frozen=True, slots=True)
class Fall:
    """One operation of which a step has more or fewer after than before."""

    operation: str
    kind: str
    change: int


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The operations of one step, counted.

    Attributes:
        scenario: the step.
        before, after: all of them.
        falls: what makes the difference; the greatest saving first.
    """

    scenario: str
    before: int
    after: int
    falls: tuple[Fall, ...]

    def to_json(self) -> Json:
        falls = [{"operation": one.operation, "kind": one.kind, "change": one.change} for one in self.falls]
        return {"scenario": self.scenario, "before": self.before, "after": self.after, "falls": falls}


def waterfall(before: CostRow, after: CostRow) -> Waterfall | None:
    """The waterfall of one scenario; None where the operations were not kept."""
    if before.operations is None or after.operations is None:
        return None
    counts = [_counted(row.operations or ()) for row in (before, after)]
    falls = [
        Fall(name, KINDS.get(kind, kind), counts[1][kind, name] - counts[0][kind, name])
        for kind, name in counts[0].keys() | counts[1].keys()
        if counts[0][kind, name] != counts[1][kind, name]
    ]
    in_order = sorted(falls, key=lambda one: (one.change, one.kind, one.operation))
    return Waterfall(before.scenario, counts[0].total(), counts[1].total(), tuple(in_order))


def _counted(operations: Iterable[str]) -> Counter[tuple[str, str]]:
    """By kind and name: `device aten.sub.Tensor(...)` is a `sub` of the device."""
    found: Counter[tuple[str, str]] = Counter()
    for line in operations:
        kind, _, call = line.partition(" ")
        if kind != FREE:
            name = call.strip().partition("(")[0]
            found[kind, name.removeprefix("aten.").partition(".")[0].strip("_")] += 1
    return found
