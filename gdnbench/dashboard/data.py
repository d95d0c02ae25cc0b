"""What a site is made from: the runs and nights of a history, its series, and their points as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gdnbench.dashboard.nights import Nights
from gdnbench.history.reading import KeptRun, Skipped
from gdnbench.values.metrics import Assumption, Direction
from gdnbench.values.series import Series
from gdnbench.values.verdicts import Caveat, Verdict

VERDICTS = (Verdict.IMPROVED, Verdict.REGRESSED, Verdict.SAME, Verdict.UNKNOWN, Verdict.INVALID)
"""In the order of their codes in `Points.verdict`, from 1; 0 is none."""


@dataclass(frozen=True, slots=True)
class Points:
    """Points as columns of one length, in order of series, then of position.

    Attributes:
        run: number of the run in `SiteData.runs`.
        value, low, high: the figure and the ends of its interval; NaN where there is none.
        launches: that it rests on.
        verdict: its code, see `VERDICTS`.
    """

    run: NDArray[np.int32]
    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    launches: NDArray[np.int32]
    verdict: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.run)


@dataclass(frozen=True, slots=True)
class SeriesData:
    """One series of a site.

    Attributes:
        id: of its key, as in file names and links.
        unit, direction, assumption: of its last point.
        change: the catalogued change that it belongs to; None for none.
        rows: where its points stand among all.
        last: number of the run of its last point.
        invalid: why points must not be held against others, by their number in the series.
    """

    id: str
    series: Series
    unit: str
    direction: Direction
    assumption: Assumption
    change: int | None
    rows: slice
    last: int
    invalid: Mapping[int, str]


@dataclass(frozen=True)
class SiteData:
    """A history as a site shows it.

    Attributes:
        runs: in order of position; those whose tables are damaged are not among them.
        series: in order of their keys.
        skipped: runs that were left out, and why.
        warnings: what a reader must know.
        made: when the history was read, UTC.
    """

    runs: tuple[KeptRun, ...]
    nights: Nights
    series: tuple[SeriesData, ...]
    points: Points
    skipped: tuple[Skipped, ...]
    warnings: tuple[Caveat, ...]
    made: datetime

    @cached_property
    def number(self) -> Mapping[str, int]:
        """Of each run, by its name."""
        return {str(run.name): number for number, run in enumerate(self.runs)}

    @cached_property
    def by_id(self) -> Mapping[str, SeriesData]:
        """Each series by its id."""
        return {one.id: one for one in self.series}

    def night(self, one: SeriesData) -> date:
        """The night of the last point of a series."""
        return self.nights.of_run[one.last]

    def is_stale(self, one: SeriesData) -> bool:
        """Whether a series has been silent for too long."""
        return self.nights.is_stale(self.night(one))

    def column(self, one: SeriesData, name: str) -> NDArray[Any]:
        """A column of `Points` for one series."""
        found: NDArray[Any] = getattr(self.points, name)[one.rows]
        return found
