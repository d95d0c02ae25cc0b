"""Runs made by hand, to be kept in histories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from gdnbench.history.history import History
from gdnbench.history.place import Place
from gdnbench.values.runs import Machine, Run, RunIdentity, Source
from gdnbench.values.series import Point, Series
from gdnbench.values.verdicts import Verdict

MACHINE = Machine("0123456789ab", "cpu", "A Processor", cores=2, system="Linux", libraries={"torch": "2.13.0"})
STARTED = "2026-11-01T02:00:00+00:00"


def series(variant: str = "pr51913.after", load: str = "16q1s1k", **key: str) -> Series:
    base = Series(variant, "", "build", load, "host_time", "median", "s 0", "cpu", "A Processor", "0123456789ab")
    return replace(base, **key)


def point(value: float = 12.5, **changes: Any) -> Point:
    given = {"series": series(), "unit": "us", "direction": "lower", "assumption": "sampled", **changes}
    return Point(value=value, **given)


def run(token: str = "a", *points: Point, started: str = STARTED, **identity: Any) -> Run:
    """A run of one point, or of those that are given."""
    given = {"kind": "step", "machine": MACHINE, "source": Source("c0ffee"), "change": 51913, **identity}
    given.setdefault("variants", {"before": "pr51913.before", "after": "pr51913.after"})
    found = points or (point(samples=(12.0, 12.5, 13.0), interval=(12.0, 13.0), launches=3),)
    return Run(RunIdentity(started=started, **given), found, token, Verdict.SAME)


def history(location: Path | str) -> History:
    return History(Place(str(location)))
