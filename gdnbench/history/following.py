"""The nights of a history, followed by the rule for shifts: where steps were found, and which series are suspect."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gdnbench.history.nights import Nights
from gdnbench.stats.shifts import RULE, Ints, Standing, Watch
from gdnbench.stats.student import Floats


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """A step of a row, by numbers of its nights.

    Attributes:
        row: of `Nights`.
        first: the first night after the step.
        found: the night in which it was found.
        earliest, latest: the range of nights in which the first one may lie.
    """

    row: int
    first: int
    found: int
    earliest: int
    latest: int


@dataclass(frozen=True, slots=True)
class Doubt:
    """A row whose newest night is suspect; the rest as of `values.shifts.Suspect`."""

    row: int
    change: float
    distance: float
    limit: float


@dataclass(frozen=True, slots=True)
class Followed:
    """What following found.

    Attributes:
        steps: by row, then in order of time.
        doubts: by row.
        values: of each point of the nights: logarithms where the subject takes them.
        scatter: of each row, of one run around its level, in the unit of `values`; 0 where that is not known.
        floors: of each row, the smallest step that counts, in the same unit.
    """

    steps: tuple[Step, ...]
    doubts: tuple[Doubt, ...]
    values: Floats
    scatter: Floats
    floors: Floats


def follow(nights: Nights, dates: Ints) -> Followed:
    """Follow every series from its first night to its newest.

    Args:
        dates: of each run by its number, the day.
    """
    subjects = nights.subjects
    values = nights.value.copy()
    takes_log = np.array([subject.logarithmic for subject in subjects], np.bool_)
    logarithmic = takes_log[nights.row]
    values[logarithmic] = np.log(values[logarithmic])
    sampled = sum(not subject.exact for subject in subjects)
    floors = np.array([subject.floor(level) for subject, level in zip(subjects, _levels(nights), strict=True)])
    scatter = np.zeros(len(subjects))
    steps, doubts, scatter[:sampled] = _sampled(nights, values, floors[:sampled], _family(nights, dates))
    return Followed(tuple(sorted([*steps, *_exact(nights, sampled)])), doubts, values, scatter, floors)


def _levels(nights: Nights) -> Floats:
    """A typical level of each row: the median of the first nights that a baseline is made of."""
    levels = np.ones(len(nights.subjects))
    early = (nights.night < RULE.history) & (nights.again == 0)
    row, value = nights.row[early], nights.value[early]
    for one, (start, end) in enumerate(pairwise(np.searchsorted(row, np.arange(len(levels) + 1)))):
        if end > start:
            levels[one] = np.median(value[start:end])
    return levels


def _family(nights: Nights, dates: Ints) -> Ints:
    """For each point, how many series have a night on that day: over so many the error of a night is split."""
    days, number = np.unique(dates, return_inverse=True)
    first = nights.again == 0
    day, row = number[nights.run[first]], nights.row[first]
    is_new = np.ones(len(day), np.bool_)
    is_new[1:] = (row[1:] != row[:-1]) | (day[1:] != day[:-1])  # a row's days are in order
    found: Ints = np.bincount(day[is_new], minlength=len(days))[number[nights.run]]
    return found


def _sampled(nights: Nights, values: Floats, floors: Floats, family: Ints) -> Any:
    """Steps and doubts of the rows of sampled figures, and their scatter."""
    watch = Watch(floors)
    among = np.flatnonzero(nights.row < len(floors))
    order = among[np.lexsort((nights.row[among], nights.again[among], nights.night[among]))]
    batches = np.flatnonzero(np.diff(nights.night[order]) | np.diff(nights.again[order])) + 1
    steps: list[Step] = []
    newest: list[Any] = [None] * len(floors)
    done = np.zeros(len(floors), np.bool_)
    for batch in np.split(order, batches) if len(order) else ():
        night, again = int(nights.night[batch[0]]), int(nights.again[batch[0]])
        if again == 0:
            done[:] = False
            standing = watch.night(values[batch], family[batch])
        else:
            batch = batch[~done[nights.row[batch]]]  # a shift that was found needs no more runs of its night
            runs = values[batch[:, None] + np.arange(-again, 1)]
            standing = watch.again(nights.row[batch], runs, family[batch])
        done[standing.rows[standing.found]] = True
        steps += _steps(night, standing)
        is_newest = nights.counts[standing.rows] == night + 1
        for number in np.flatnonzero(is_newest):
            newest[standing.rows[number]] = (standing, number)
    doubts = tuple(
        Doubt(row, float(one.change[number]), float(one.distance[number]), float(one.limit[number]))
        for row, (one, number) in ((row, found) for row, found in enumerate(newest) if found is not None)
        if one.suspect[number]
    )
    return steps, doubts, watch.scatter


def _steps(night: int, standing: Standing) -> list[Step]:
    return [
        Step(
            row=int(standing.rows[number]),
            first=night + 1 - int(standing.nights[number]),
            found=night,
            earliest=night + 1 - int(standing.earliest[number]),
            latest=night + 1 - int(standing.latest[number]),
        )
        for number in np.flatnonzero(standing.found)
    ]


def _exact(nights: Nights, sampled: int) -> list[Step]:
    """Steps of the rows of counts: every night whose count differs from that of the night before."""
    of = np.flatnonzero((nights.row >= sampled) & (nights.again == 0))
    row, value = nights.row[of], nights.value[of]
    differs = np.zeros(len(of), np.bool_)
    differs[1:] = (row[1:] == row[:-1]) & (value[1:] != value[:-1])
    return [
        Step(row=int(nights.row[one]), first=night, found=night, earliest=night, latest=night)
        for one in of[differs]
        for night in (int(nights.night[one]),)
    ]
