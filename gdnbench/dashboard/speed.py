"""How fast a site is made and opened, with `asv publish` on the same points beside it.

`python -m gdnbench.dashboard.speed` prints seconds. The points are drawn by lot and say nothing but their number.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from gdnbench.dashboard.asv_site import PUBLISH, AsvSite
from gdnbench.dashboard.gather import gather
from gdnbench.dashboard.opening import until_interactive
from gdnbench.history.doors import open_history
from gdnbench.history.history import History
from gdnbench.history.place import Place
from gdnbench.history.speed import nights
from gdnbench.values.errors import EnvironmentMissing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--history", type=Path, help="one that is there, instead of points drawn by lot")
    parser.add_argument("--no-asv", action="store_true", help="leave asv publish out")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        history = asked.history.resolve() if asked.history else directory / "runs"
        if asked.history is None:
            opened = History(Place(str(history)))
            for run in nights(asked.points, asked.runs, samples=1):
                opened.record(run)
        make = [sys.executable, "-m", "gdnbench", "dashboard", "--history", str(history), "--out", "site"]
        ours = _measured(make, directory)
        print(f"the whole site, from the history on disk  {ours[0]:8.2f} s, {ours[1]:.0f} MiB at most")
        try:
            opened_in = until_interactive(directory / "site" / "index.html")
            print(f"overview, until it answers a click        {opened_in:8.2f} s")
        except EnvironmentMissing as missing:
            print(f"overview: not opened, {missing}")
        if not asked.no_asv:
            _results(history, directory / "asv")
            theirs = _measured(PUBLISH, directory / "asv")
            print(f"asv publish, from its result files        {theirs[0]:8.2f} s, {theirs[1]:.0f} MiB at most")
            print(f"asv publish takes {theirs[0] / ours[0]:.1f} times as long")


def _measured(command: list[str], directory: Path) -> tuple[float, float]:
    """Seconds of a command, and MiB that it held at most."""
    start = perf_counter()
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return seconds, used.ru_maxrss / 1024


def _results(history: Path, folder: Path) -> None:
    """The figures of a history as asv keeps them."""
    opened = open_history(history)
    listing = opened.listing()
    AsvSite(gather(listing, opened.tables(listing.runs), datetime.now(UTC))).write_results(folder)


if __name__ == "__main__":
    main()
