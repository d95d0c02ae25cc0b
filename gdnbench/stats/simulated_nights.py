"""Nights of many series drawn by lot, followed by the rule for shifts: what is found, how late, how often in vain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gdnbench.stats.shifts import RULE, Bools, Ints, Rule, Standing, Watch
from gdnbench.stats.student import Floats

Shape = Literal["normal", "heavy", "outliers"]
"""Of the noise: normal; Student's t at 3 degrees of freedom; normal, and one in thirty is off by five scatters more."""

MOST_RERUNS = 4
"""Of a night of a suspect series."""

FLOOR = float(np.log1p(0.01))


@dataclass(frozen=True, slots=True)
class Nights:
    """What is drawn.

    Attributes:
        series, nights: how many.
        noise: scatter of one run, as a fraction.
        step: change of the level, as a fraction.
        at: for each series, the first night at the new level, from 0; at or beyond `nights` for none. None: no steps.
        shape: of the noise.
        shared: of its variance, what all runs of a night have in common.
        reruns: that a suspect series gets in a night at most.
        seed: of everything.
    """

    series: int
    nights: int
    noise: float = 0.02
    step: float = 0.0
    at: Ints | None = None
    shape: Shape = "normal"
    shared: float = 0.0
    reruns: int = MOST_RERUNS
    seed: int = 0


@dataclass(slots=True)
class Outcome:
    """What the rule made of it: an entry for each shift that it found.

    Attributes:
        rows: of which series.
        night: in which night it was found.
        first: the night at which the shift was put; `earliest` and `latest` bound the range given for it.
        reruns: made in all.
        suspects: series and nights that were suspect after their first run.
    """

    rows: list[int] = field(default_factory=list)
    night: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    earliest: list[int] = field(default_factory=list)
    latest: list[int] = field(default_factory=list)
    reruns: int = 0
    suspects: int = 0

    def add(self, night: int, standing: Standing) -> None:
        """What was found in a night."""
        for number in np.flatnonzero(standing.found):
            self.rows.append(int(standing.rows[number]))
            self.night.append(night)
            self.first.append(night - int(standing.nights[number]) + 1)
            self.earliest.append(night - int(standing.earliest[number]) + 1)
            self.latest.append(night - int(standing.latest[number]) + 1)

    def delays(self, at: Ints) -> Floats:
        """For each series, after how many nights its step was found: 1 in the night of the step, infinite if never."""
        found = np.full(len(at), np.inf)
        for row, night in zip(self.rows, self.night, strict=True):
            if night >= at[row]:
                found[row] = min(found[row], night - at[row] + 1)
        return found


def follow(drawn: Nights, rule: Rule = RULE) -> Outcome:
    """Draw the nights one by one, with the reruns that the rule asks for."""
    outcome = Outcome()
    for night, standing, first in watched(drawn, rule):
        outcome.add(night, standing)
        if first:
            outcome.suspects += int(standing.suspect.sum())
        else:
            outcome.reruns += len(standing.rows)
    return outcome


def watched(drawn: Nights, rule: Rule = RULE) -> Iterator[tuple[int, Standing, bool]]:
    """Every night, how its series stand after their first run, and after each rerun those that had one."""
    lot = np.random.default_rng(drawn.seed)
    watch = Watch(np.full(drawn.series, FLOOR), rule)
    everyone = np.arange(drawn.series)
    for night in range(drawn.nights):
        reached = np.zeros(drawn.series, np.bool_) if drawn.at is None else drawn.at <= night
        level = np.where(reached, np.log1p(drawn.step), 0.0)
        of_night = np.sqrt(drawn.shared) * _noise(lot, drawn.shape, drawn.series)

        def measure(rows: Ints, level: Floats = level, of_night: Floats = of_night) -> Floats:
            own = np.sqrt(1 - drawn.shared) * _noise(lot, drawn.shape, len(rows))
            found: Floats = level[rows] + drawn.noise * (of_night[rows] + own)
            return found

        runs = measure(everyone)[:, None]
        standing = watch.night(runs[:, 0], drawn.series)
        yield night, standing, True
        rows = standing.rows[standing.suspect]
        runs = runs[rows]
        for _ in range(drawn.reruns):
            if not len(rows):
                break
            runs = np.concatenate([runs, measure(rows)[:, None]], axis=1)
            standing = watch.again(rows, runs, drawn.series)
            yield night, standing, False
            still: Bools = standing.suspect
            rows, runs = rows[still], runs[still]


def _noise(lot: np.random.Generator, shape: Shape, count: int) -> Floats:
    """Of scatter 1; with outliers, the scatter without them."""
    if shape == "heavy":
        heavy: Floats = lot.standard_t(3, count) / np.sqrt(3)
        return heavy
    normal: Floats = lot.standard_normal(count)
    if shape == "outliers":
        normal += np.where(lot.random(count) < 1 / 30, lot.choice([-5.0, 5.0], count), 0.0)
    return normal
