"""The doors to shifts: what shifted in a history, which series are suspect after a night, how a rerun is marked.

A nightly measurement uses them so, once its runs are kept:

    tonight = names of the runs that were kept
    while doubted := suspects(history, tonight):
        for suspect in doubted:
            measure again what gave suspect.series, and keep as_rerun(run, suspect.night)
    news = report(history)

The loop ends by itself: a series is suspect until its reruns clear it, make its shift plain, or number four. A rerun is
an ordinary run in every other way; every series in it counts as measured again, so one run serves all suspects that it
holds. `report` gives the shifts whose state no night has reported yet, and remembers that it did.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from gdnbench.history.describing import SeriesNights, shifts_of
from gdnbench.history.following import Followed, follow
from gdnbench.history.history import History
from gdnbench.history.nights import RERUN_OF, Nights, nights_of
from gdnbench.history.pointing import one_line
from gdnbench.history.querying import Tables
from gdnbench.history.reading import KeptRun, Skipped
from gdnbench.history.shift_records import keep_record, read_records
from gdnbench.values.errors import UserError
from gdnbench.values.runs import Run
from gdnbench.values.shifts import Shift, Suspect

MOST_RERUNS = 4
"""Of one night of a suspect series."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a history says of shifts.

    Attributes:
        shifts: in order of time.
        suspects: series whose newest night may be the first after a shift, the most suspect first.
        series: how many were followed.
        reruns: runs that measured a night again, in the whole history.
        skipped: records of shifts that cannot be read.
    """

    shifts: tuple[Shift, ...]
    suspects: tuple[Suspect, ...]
    series: int
    reruns: int
    skipped: tuple[Skipped, ...]


def find(history: History) -> Found:
    """Follow every series of a history from its first night to its newest.

    Raises:
        UserError, EnvironmentMissing: there is no such history, or it cannot be read.
    """
    runs = history.listing().runs
    return find_among(history, runs, history.tables(runs))


def find_among(history: History, runs: Sequence[KeptRun], tables: Tables) -> Found:
    """`find` for tables that were read already.

    Args:
        runs: of the listing, in its order.
        tables: of these runs.
    """
    nights = nights_of(tables, runs)
    by_name = {str(run.name): run for run in runs}
    kept = [by_name[name] for name in nights.runs]
    followed = follow(nights, np.array([run.position.toordinal() for run in kept], np.int64))
    records = read_records(history.place)
    shifts = [
        shift
        for row, steps in groupby(followed.steps, key=lambda step: step.row)
        for shift in shifts_of(_series(nights, followed, kept, row), list(steps))
    ]
    return Found(
        shifts=tuple(records.applied(sorted(shifts, key=lambda shift: (shift.since, shift.id)))),
        suspects=_suspects(nights, followed),
        series=int((nights.counts > 0).sum()),
        reruns=sum(RERUN_OF in run.identity.settings for run in kept),
        skipped=records.skipped,
    )


def suspects(history: History, nights: Collection[str] | None = None) -> tuple[Suspect, ...]:
    """The series that want a rerun of their newest night, the most suspect first.

    Args:
        nights: names of runs: only series whose newest night is one of them. Default: all.

    Raises:
        UserError, EnvironmentMissing: as `find`.
    """
    found = find(history).suspects
    return tuple(one for one in found if one.reruns < MOST_RERUNS and (nights is None or one.night in nights))


def as_rerun(run: Run, night: str) -> Run:
    """A run, marked as one that measures the night of another run again.

    Args:
        night: the name of that run in the history.
    """
    settings = {**run.identity.settings, RERUN_OF: night}
    return replace(run, identity=replace(run.identity, settings=settings))


def report(history: History) -> tuple[Shift, ...]:
    """The shifts whose state is not on record yet, in order of time; now it is.

    Raises:
        UserError, EnvironmentMissing: as `find`, or the history cannot be written.
    """
    found, records = find(history), read_records(history.place)
    news = tuple(shift for shift in found.shifts if not records.has(shift))
    for shift in news:
        keep_record(history.place, shift)
    return news


def one_shift(history: History, text: str) -> Shift:
    """The shift whose id is, or begins with, `text`.

    Raises:
        UserError: no shift has such an id, or several have.
        EnvironmentMissing: as `find`.
    """
    found = [shift for shift in find(history).shifts if shift.id.startswith(text)]
    if len(found) != 1:
        what = "no shift has" if not found else f"{len(found)} shifts have"
        raise UserError(f"{what} an id that begins with {text!r}: gdnbench shifts list --all names them")
    return found[0]


def acknowledge(history: History, text: str, reason: str) -> Shift:
    """Say why a shift is as it should be, for good.

    Args:
        text: as of `one_shift`.
        reason: one line.

    Raises:
        UserError: as `one_shift`; or it is resolved already; or the reason says nothing.
        EnvironmentMissing: the history cannot be read or written.
    """
    if not reason.strip() or one_line(reason) != reason:
        raise UserError("--reason: one line of 1 to 1,000 printable characters is needed")
    shift = one_shift(history, text)
    if shift.state == "resolved":
        raise UserError(f"shift {shift.id} is resolved: there is nothing to acknowledge")
    shift = replace(shift, state="acknowledged", reason=reason)
    keep_record(history.place, shift)
    return shift


def _series(nights: Nights, followed: Followed, kept: Sequence[KeptRun], row: int) -> SeriesNights:
    start, end = np.searchsorted(nights.row, [row, row + 1])
    firsts = nights.run[start:end][nights.again[start:end] == 0]
    return SeriesNights(
        subject=nights.subjects[row],
        runs=[kept[number] for number in firsts],
        night=nights.night[start:end],
        values=followed.values[start:end],
        scatter=float(followed.scatter[row]),
        floor=float(followed.floors[row]),
    )


def _suspects(nights: Nights, followed: Followed) -> tuple[Suspect, ...]:
    found = []
    for doubt in followed.doubts:
        subject = nights.subjects[doubt.row]
        last = int(np.searchsorted(nights.row, doubt.row + 1)) - 1
        reruns = int(nights.again[last])
        change = float(np.expm1(doubt.change)) if subject.logarithmic else doubt.change
        name = nights.runs[nights.run[last - reruns]]
        found.append(Suspect(subject.series, name, change, doubt.distance, doubt.limit, reruns))
    return tuple(sorted(found, key=lambda suspect: -suspect.distance))
