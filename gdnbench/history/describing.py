"""Steps of one series as shifts: levels, change, state and blame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gdnbench.history.blaming import blame
from gdnbench.history.following import Step
from gdnbench.history.nights import Subject
from gdnbench.history.reading import KeptRun
from gdnbench.stats.shifts import RULE, Ints
from gdnbench.stats.student import Floats
from gdnbench.values.shifts import Shift, ShiftState

_95 = 1.96 * math.sqrt(math.pi / 2)
"""Half of a 95 % interval of the median of normal values, in their scatter over the root of their number."""

FORGOTTEN = 3
"""Nights that do not say the same, after which a shift is resolved without a step back."""


@dataclass(frozen=True, slots=True)
class SeriesNights:
    """One series.

    Attributes:
        subject: what it is.
        runs: the run of each night.
        night: of each point, in order, the number of its night.
        values: of each point, as they are followed.
        scatter: of one run, in the unit of `values`.
        floor: the smallest step that counts, in the same unit.
    """

    subject: Subject
    runs: Sequence[KeptRun]
    night: Ints
    values: Floats
    scatter: float
    floor: float


@dataclass(frozen=True, slots=True)
class _Level:
    """The median of all runs of some nights, and half of its 95 % interval."""

    centre: float
    reach: float


def shifts_of(series: SeriesNights, steps: Sequence[Step]) -> list[Shift]:
    """The shifts of a series, from its steps in order of time."""
    bounds = [0, *(step.first for step in steps), len(series.runs)]
    levels = [_level(series, *span) for span in pairwise(bounds)]
    states = _states(series, levels, steps)
    return [
        _shift(series, step, before, after, state)
        for step, (before, after), state in zip(steps, pairwise(levels), states, strict=True)
    ]


def _level(series: SeriesNights, first: int, end: int) -> _Level:
    """That of the nights from one up to another, or of the last that the rule remembers."""
    first = max(first, end - RULE.memory)
    inside = (series.night >= first) & (series.night < end)
    return _Level(float(np.median(series.values[inside])), _95 * series.scatter / math.sqrt(end - first))


def _states(series: SeriesNights, levels: Sequence[_Level], steps: Sequence[Step]) -> list[ShiftState]:
    """Of each step. One for the better that leads back to an earlier level is resolved with those that it undoes."""
    found = [_state(series, levels, number, step) for number, step in enumerate(steps)]
    for number, level in enumerate(levels[2:], start=1):
        undoes = any(_is_back(series, levels, earlier, level) for earlier in range(number))
        if undoes and not _is_worse(series.subject, levels[number + 1].centre - levels[number].centre):
            found[number] = "resolved"
    return found


def _state(series: SeriesNights, levels: Sequence[_Level], number: int, step: Step) -> ShiftState:
    """Of one step by itself."""
    before = levels[number]
    if any(_is_back(series, levels, number, later) for later in levels[number + 2 :]):
        return "resolved"
    if number + 2 < len(levels):
        return "confirmed"
    newer = len(series.runs) - step.found - 1
    if not newer:
        return "new"
    level, at_once = _level(series, step.found + 1, len(series.runs)), _level(series, step.first, step.found + 1)
    half = abs(at_once.centre - before.centre) / 2
    if _sign(levels, number) * (level.centre - before.centre) > max(series.floor, min(half, level.reach)):
        return "confirmed"
    return "resolved" if newer >= FORGOTTEN else "new"


def _is_back(series: SeriesNights, levels: Sequence[_Level], number: int, later: _Level) -> bool:
    """Whether a later level is where it was before a step, or beyond."""
    before = levels[number]
    near = max(series.floor, math.hypot(before.reach, later.reach))
    return _sign(levels, number) * (later.centre - before.centre) <= near


def _sign(levels: Sequence[_Level], number: int) -> int:
    return 1 if levels[number + 1].centre > levels[number].centre else -1


def _is_worse(subject: Subject, difference: float) -> bool:
    return (difference > 0) == (subject.direction == "lower")


def _shift(series: SeriesNights, step: Step, before: _Level, after: _Level, state: ShiftState) -> Shift:
    subject, runs = series.subject, series.runs
    difference, reach = after.centre - before.centre, math.hypot(before.reach, after.reach)
    if subject.logarithmic:
        levels = math.exp(before.centre), math.exp(after.centre)
        change: float | None = math.expm1(difference)
        interval: tuple[float, float] | None = (math.expm1(difference - reach), math.expm1(difference + reach))
    else:
        levels = before.centre, after.centre
        change = difference / before.centre if subject.exact and before.centre else None
        interval = None
    of_the_finding = (series.night >= step.first) & (series.night <= step.found)
    return Shift(
        series=subject.series,
        unit=subject.unit,
        direction=subject.direction,
        before=levels[0],
        after=levels[1],
        change=change,
        interval=interval,
        worse=_is_worse(subject, difference),
        last_before=str(runs[step.first - 1].name),
        first_after=str(runs[step.first].name),
        since=runs[step.first].position,
        state=state,
        reruns=int(of_the_finding.sum()) - (step.found - step.first + 1),
        blame=blame(runs[max(step.earliest - 1, 0) : step.latest + 1]),
    )
