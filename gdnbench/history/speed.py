"""How fast a history is: made, listed, and asked. `python -m gdnbench.history.speed` prints seconds.

The points are drawn by lot and say nothing of anything but their number.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

from gdnbench.history.history import History
from gdnbench.history.place import Place
from gdnbench.history.shifts import find_among
from gdnbench.values.runs import Machine, Run, RunIdentity, Source
from gdnbench.values.series import Point, Series, setting

FIRST = datetime(2025, 1, 1, 2, tzinfo=UTC)
MACHINE = Machine("0123456789ab", "cpu", "A Processor", cores=2, system="Linux", libraries={"torch": "2.13.0"})

ONE = "SELECT position, value, ci_low, ci_high FROM points JOIN runs USING (run) WHERE series = ? ORDER BY position"
LAST = "SELECT series, arg_max(value, position) AS value FROM points JOIN runs USING (run) GROUP BY series"


def nights(points: int, runs: int, samples: int = 10) -> Iterator[Run]:
    """So many runs that share so many points; the same every time.

    Every hundredth series shifts by 5 % after three quarters of the runs.

    Args:
        samples: of each point.
    """
    lot, each = random.Random(0), points // runs
    how = setting("in one process", [8, 2])
    keys = [
        Series(f"pr{number}.after", "", "build", f"{number % 16}q1s1k", "host_time", "median", how, *_WHERE)
        for number in range(each)
    ]
    for number in range(runs):
        late = 4 * number >= 3 * runs
        values = [(21 if late and at % 100 == 0 else 20) * lot.lognormvariate(0, 0.02) for at in range(each)]
        yield Run(
            RunIdentity("step", (FIRST + timedelta(days=number)).isoformat(), MACHINE, Source("c0ffee")),
            tuple(
                Point(
                    key, value, "us", "lower", "sampled", (0.99 * value, 1.01 * value), 10, samples=(value,) * samples
                )
                for key, value in zip(keys, values, strict=True)
            ),
            token=f"night {number}",
        )


_WHERE = (MACHINE.device, MACHINE.hardware, MACHINE.host)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=400)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        history = History(Place(directory))
        _timed("keep every run", lambda: [history.record(run) for run in nights(asked.points, asked.runs)])
        size = sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())
        print(f"{asked.points:,} points in {asked.runs:,} runs: {size / 1e6:.1f} MB on disk")
        listing = _timed("list the runs", history.listing)
        tables = _timed("read and check all points", lambda: history.tables(listing.runs))
        series = next(nights(asked.points, asked.runs)).points[0].series.id
        found = _timed("ask for one series", lambda: tables.query(ONE, [series]))
        assert len(found) == asked.runs
        shifts = _timed("look for shifts in every series", lambda: find_among(history, listing.runs, tables))
        assert shifts.series == asked.points // asked.runs
        last = _timed("ask for the last value of every series", lambda: tables.query(LAST))
        assert len(last) == asked.points // asked.runs
        _timed("verify, samples too", history.verify)
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


def _timed(what: str, do: Callable[[], Any]) -> Any:
    start = perf_counter()
    found = do()
    print(f"{what:<42}{perf_counter() - start:8.2f} s")
    return found


if __name__ == "__main__":
    main()
