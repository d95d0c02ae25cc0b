"""The points of a history, ordered as the rule for shifts takes them: by series and night, reruns behind their run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gdnbench.accuracy.judging import FLOOR as DIFFERENCE_FLOOR
from gdnbench.history.pointing import DIFFERENCE, RATIO
from gdnbench.history.querying import RUNS, Tables
from gdnbench.history.reading import KeptRun
from gdnbench.stats.shifts import Ints
from gdnbench.stats.student import Floats
from gdnbench.values.metrics import METRICS, Direction
from gdnbench.values.series import KEY, Series

RERUN_OF = "rerun_of"
"""The setting by which a run says that it measures the night of another run again; its value is that run's name."""

UNKNOWN_FLOOR = float(np.log1p(0.01))
"""Of metrics that are none of ours, such as those of asv: 1 %."""

_POINTS = """
WITH numbered AS (SELECT run, row_number() OVER (ORDER BY position, run) - 1 AS number FROM runs),
     keys AS (SELECT series, row_number() OVER (ORDER BY series) - 1 AS key FROM (SELECT DISTINCT series FROM points))
SELECT keys.key AS key, numbered.number AS run, points.value AS value
FROM points JOIN numbered USING (run) JOIN keys USING (series)
WHERE coalesce(points.invalid, '') = '' AND isfinite(points.value)
"""
_KEYS = f"SELECT {', '.join(f'any_value({name}) AS {name}' for name in KEY)}, any_value(unit) AS unit, "
_KEYS += "any_value(direction) AS direction, any_value(assumption) AS assumption FROM points GROUP BY series"
_KEYS += " ORDER BY points.series"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is followed: a series, and what holds for all of its points.

    Attributes:
        exact: whether its figures are counts.
        logarithmic: whether its values are followed as logarithms, so that a step is a ratio.
    """

    series: Series
    unit: str
    direction: Direction
    exact: bool

    @property
    def logarithmic(self) -> bool:
        return not self.exact and self.unit != DIFFERENCE

    def floor(self, level: float) -> float:
        """The smallest step worth a shift, as a distance between values that are followed."""
        if self.exact:
            return 0.0
        metric = METRICS.get(self.series.metric)
        if self.unit == DIFFERENCE:
            return DIFFERENCE_FLOOR
        if metric is None:
            return UNKNOWN_FLOOR
        # Of a ratio there is no level in the metric's unit; its floor is the one in percent.
        floor = metric.log_floor(np.inf if self.unit == RATIO else level)
        return floor or UNKNOWN_FLOOR


@dataclass(frozen=True, slots=True)
class Nights:
    """Valid points, one entry for each, by row, then night, then order within the night.

    A night of a series is one run and the reruns that name it; of a night whose run is invalid, its first valid rerun
    stands for it.

    Attributes:
        subjects: what is followed, by row: series of sampled figures first, and those with more nights before others.
        row, night, again: of each point: the row, the number of the night within it from 0, and 0 for a run, 1 for
            its first rerun.
        run: of each point, its run's number in order of time.
        value: of each point, in the unit of its series.
        counts: of each row, how many nights it has.
        runs: names of all runs, by number.
    """

    subjects: tuple[Subject, ...]
    row: Ints
    night: Ints
    again: Ints
    run: Ints
    value: Floats
    counts: Ints
    runs: tuple[str, ...]


def nights_of(tables: Tables, runs: Sequence[KeptRun]) -> Nights:
    """The nights of all series of some runs.

    Args:
        tables: of these runs.
    """
    names = tuple(tables.query(RUNS)["run"])
    subjects = [
        Subject(Series(*key[: len(KEY)]), key[-3], key[-2], key[-1] == "exact")
        for key in tables.query(_KEYS).itertuples(index=False, name=None)
    ]
    points = tables.query(_POINTS)
    key, run, value = (points[name].to_numpy() for name in ("key", "run", "value"))
    takes_log = np.array([subject.logarithmic for subject in subjects], np.bool_)
    sound = ~takes_log[key] | (value > 0) if len(key) else np.zeros(0, np.bool_)
    key, run, value = key[sound], run[sound], value[sound]

    of_night = _nights_of_runs(names, runs)[run]
    order = np.lexsort((run, of_night != run, of_night, key))
    key, run, value, of_night = key[order], run[order], value[order], of_night[order]
    is_new = np.ones(len(key), np.bool_)
    is_new[1:] = (key[1:] != key[:-1]) | (of_night[1:] != of_night[:-1])
    counts = np.bincount(key[is_new], minlength=len(subjects))

    exact = np.array([subject.exact for subject in subjects], np.bool_)
    rows = np.lexsort((-counts, exact))
    row_of = np.empty(len(subjects), np.int64)
    row_of[rows] = np.arange(len(subjects))
    order = np.argsort(row_of[key], kind="stable")
    row, is_new = row_of[key][order], is_new[order]
    number = is_new.cumsum() - 1
    first = np.concatenate([[0], counts[rows].cumsum()])
    starts = np.flatnonzero(is_new)
    return Nights(
        subjects=tuple(subjects[one] for one in rows),
        row=row,
        night=number - first[row],
        again=np.arange(len(row)) - starts[number],
        run=run[order],
        value=value[order],
        counts=counts[rows],
        runs=names,
    )


def _nights_of_runs(names: Sequence[str], runs: Sequence[KeptRun]) -> Ints:
    """For each run by its number, that of the run whose night it measures: its own, unless it is a rerun."""
    numbers = {name: number for number, name in enumerate(names)}
    found = np.arange(len(names))
    for run in runs:
        again = run.identity.settings.get(RERUN_OF)
        if isinstance(again, str) and again in numbers and str(run.name) in numbers:
            found[numbers[str(run.name)]] = numbers[again]
    return found
