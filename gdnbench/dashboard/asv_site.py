"""The same figures in asv's own pages: result files of asv from a history, one commit for each run, and `asv publish`.

asv draws what it draws over commits, so a repository is made that has one for each run, dated when the run stands.
It has one benchmark for each metric and statistic; its parameter names the series. Invalid points are left out.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from gdnbench.dashboard import words
from gdnbench.dashboard.data import SeriesData, SiteData
from gdnbench.values.errors import EnvironmentMissing

MACHINE = "history"
PUBLISH = [sys.executable, "-m", "asv", "publish", "--no-pull", "--config", "asv.conf.json"]
_UNSAFE = re.compile(r"[^A-Za-z0-9 .,@+:()_-]")
"""asv puts names into its pages as they are, so only these signs reach it."""


def require_asv() -> None:
    """Check that asv can publish.

    Raises:
        EnvironmentMissing: asv or git is missing.
    """
    if find_spec("asv") is None or shutil.which("git") is None:
        raise EnvironmentMissing("asv's pages need git and asv: install it with pip install 'gdnbench[asv]'")


class AsvSite:
    """The figures of a site as asv has them."""

    def __init__(self, site: SiteData) -> None:
        self.site = site

    @staticmethod
    def benchmark(one: SeriesData) -> str:
        """The name of the benchmark that a series is in."""
        return (
            re.sub(r"[^A-Za-z0-9_]", "_", one.series.metric) + "." + re.sub(r"\W", "_", one.series.statistic or "value")
        )

    @staticmethod
    def parameter(one: SeriesData) -> str:
        """The value of its parameter that is the series."""
        series = one.series
        told = [series.variant, series.against and f"against {series.against}", series.load, words.place(series)]
        return _UNSAFE.sub("_", ", ".join(part for part in told if part)) + f" ({one.id[:8]})"

    def link(self, one: SeriesData) -> str:
        """What follows `#` in the address of a series."""
        return f"{self.benchmark(one)}?p-series={quote(self.parameter(one), safe='')}"

    def publish(self, folder: Path) -> None:
        """Write asv's pages into a new folder.

        Raises:
            EnvironmentMissing: as `require_asv`, or asv refuses.
        """
        require_asv()
        with tempfile.TemporaryDirectory() as name:
            made = Path(name)
            self.write_results(made)
            done = subprocess.run(PUBLISH, cwd=made, capture_output=True, text=True, check=False)
            if done.returncode:
                said = (done.stderr or done.stdout).strip().splitlines() or ["it says nothing"]
                raise EnvironmentMissing(f"asv publish failed: {said[-1][:200]}")
            shutil.move(made / "html", folder)

    def write_results(self, folder: Path) -> None:
        """A configuration, a repository and the results of asv in a folder."""
        commits = self._commits(folder / "repository")
        results = folder / "results"
        (results / MACHINE).mkdir(parents=True)
        machine = dict.fromkeys(("arch", "cpu", "num_cpu", "os", "ram"), "") | {"machine": MACHINE}
        config = {
            "version": 1,
            "project": "gdnbench",
            "repo": "repository",
            "dvcs": "git",
            "branches": ["main"],
            "results_dir": "results",
            "html_dir": "html",
            "show_commit_url": "#",
            "hash_length": 10,
        }
        _write(folder / "asv.conf.json", config)
        _write(results / MACHINE / "machine.json", {**machine, "version": 1})
        _write(results / "benchmarks.json", {**self._benchmarks(), "version": 2})
        for number, found in self._results().items():
            run = self.site.runs[number]
            content = {
                "version": 2,
                "commit_hash": commits[number],
                "env_name": "gdnbench",
                "date": int(run.position.timestamp() * 1000),
                "params": machine,
                "python": "",
                "requirements": {},
                "env_vars": {},
                "result_columns": ["result", "params", "version"],
                "results": {name: [values, [labels], "1"] for name, (labels, values) in found.items()},
                "durations": {},
            }
            _write(results / MACHINE / f"{commits[number][:10]}-gdnbench.json", content)

    def _benchmarks(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for one in self.site.series:
            name = self.benchmark(one)
            entry = found.setdefault(
                name,
                {
                    "name": name,
                    "pretty_name": name,
                    "code": "",
                    "type": "track",
                    "unit": _UNSAFE.sub("_", one.unit),
                    "version": "1",
                    "param_names": ["series"],
                    "params": [[]],
                    "timeout": 60,
                },
            )
            entry["params"][0].append(self.parameter(one))
        return found

    def _results(self) -> dict[int, dict[str, tuple[list[str], list[float | None]]]]:
        """By number of a run, then by benchmark, the series that it has and their figures."""
        points = self.site.points
        found: dict[int, dict[str, tuple[list[str], list[float | None]]]] = {}
        for one in self.site.series:
            name, label = self.benchmark(one), self.parameter(one)
            values = np.array(points.value[one.rows])
            values[list(one.invalid)] = np.nan
            for run, value in zip(points.run[one.rows].tolist(), values.tolist(), strict=True):
                labels, figures = found.setdefault(run, {}).setdefault(name, ([], []))
                labels.append(label)
                figures.append(value if value == value else None)
        return found

    def _commits(self, repository: Path) -> list[str]:
        """Make a repository with a commit for each run, and give their hashes in order."""
        repository.mkdir(parents=True)
        stream = []
        for number, run in enumerate(self.site.runs, 1):
            head = f"commit refs/heads/main\nmark :{number}\n"
            who = f"committer gdnbench <> {int(run.position.timestamp())} +0000\n"
            stream.append(f"{head}{who}data {len(str(run.name))}\n{run.name}\n")
        _git(repository, "init", "--quiet", "--initial-branch=main")
        _git(repository, "fast-import", "--quiet", given="".join(stream).encode("ascii"))
        return _git(repository, "rev-list", "--reverse", "--first-parent", "main").decode().split()


def _git(repository: Path, *arguments: str, given: bytes = b"") -> bytes:
    done = subprocess.run(["git", *arguments], cwd=repository, input=given, capture_output=True, check=False)
    if done.returncode:
        raise EnvironmentMissing(f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()[:200]}")
    return done.stdout


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), "utf-8")
