"""Shifts: change points in series of runs, and between what they happened."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from gdnbench.values.metrics import Direction
from gdnbench.values.series import KEY, Series
from gdnbench.values.verdicts import Json, finite

ShiftState = Literal["new", "confirmed", "acknowledged", "resolved"]
"""`new`: found on the newest night; `confirmed`: a later night says the same; `acknowledged`: somebody said why it is
so; `resolved`: the level is back where it was, or beyond."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One fact that differs between two runs; empty where a run does not have it."""

    name: str
    before: str
    after: str

    def to_json(self) -> Json:
        return {"name": self.name, "before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class Blame:
    """Between what a shift happened.

    Attributes:
        runs: names of the nights of this series, from the last that is surely at the level before to the first that is
            surely at the level after.
        commits: of ours, oldest first: that of the first of these runs, those between where they are known, and that of
            the last; one where both are of the same.
        libraries: whose version differs between the first and the last of these runs.
        machine: facts of the machine and of the code that differ between them.
    """

    runs: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    libraries: tuple[Changed, ...] = ()
    machine: tuple[Changed, ...] = ()

    def to_json(self) -> Json:
        return {
            "runs": list(self.runs),
            "commits": list(self.commits),
            "libraries": [one.to_json() for one in self.libraries],
            "machine": [one.to_json() for one in self.machine],
        }


@dataclass(frozen=True, slots=True)
class Shift:
    """One change point of one series.

    Attributes:
        series: its key.
        unit: of the levels.
        direction: whether lower or higher is better; of a ratio, of what it is a ratio of.
        before, after: the levels on both sides, in `unit`: medians of the nights that they rest on.
        change: as a fraction of `before`; None where that is 0, or the figures are differences.
        interval: of the change, 95 %; None for exact metrics, and where there is no change as a fraction.
        worse: whether it goes the bad way.
        last_before: name of the last run at the level before.
        first_after: name of the first run at the level after.
        since: position of the first run after, UTC.
        state: see `ShiftState`.
        reason: of the acknowledgement; empty without one.
        reruns: how many were spent on it.
        blame: between what it happened.
    """

    series: Series
    unit: str
    direction: Direction
    before: float
    after: float
    change: float | None
    interval: tuple[float, float] | None
    worse: bool
    last_before: str
    first_after: str
    since: datetime
    state: ShiftState = "new"
    reason: str = ""
    reruns: int = 0
    blame: Blame = Blame()

    @property
    def is_open(self) -> bool:
        """Whether nobody has dealt with it."""
        return self.state in ("new", "confirmed")

    @property
    def way(self) -> str:
        """Which way it goes: `worse` or `better`."""
        return "worse" if self.worse else "better"

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits: the same for as long as the series and the first run after are."""
        return shift_id(self.series.id, self.first_after)

    def to_json(self) -> Json:
        low, high = self.interval or (None, None)
        return {
            "id": self.id,
            "series": self.series.id,
            **{name: getattr(self.series, name) for name in KEY},
            "unit": self.unit,
            "direction": self.direction,
            "before": finite(self.before),
            "after": finite(self.after),
            "change": finite(self.change),
            "ci_low": finite(low),
            "ci_high": finite(high),
            "worse": self.worse,
            "last_before": self.last_before,
            "first_after": self.first_after,
            "since": self.since.isoformat(timespec="seconds"),
            "state": self.state,
            "reason": self.reason,
            "reruns": self.reruns,
            "blame": self.blame.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Suspect:
    """A series whose newest night may be the first after a shift: reruns of that night would tell.

    Attributes:
        series: its key.
        night: name of the run that raised suspicion, the one that is to be measured again.
        change: against the nights before, as a fraction; of differences, in their unit.
        distance: the same in standard errors.
        limit: the distance from which on it is a shift.
        reruns: of that night that are there already.
    """

    series: Series
    night: str
    change: float
    distance: float
    limit: float
    reruns: int

    def to_json(self) -> Json:
        return {
            "series": self.series.id,
            **{name: getattr(self.series, name) for name in KEY},
            "night": self.night,
            "change": finite(self.change),
            "distance": finite(self.distance),
            "limit": finite(self.limit),
            "reruns": self.reruns,
        }


def shift_id(series: str, first_after: str) -> str:
    """The id of the shift of a series, by its id, at a run, by its name."""
    return hashlib.sha256(json.dumps([series, first_after]).encode()).hexdigest()[:16]
