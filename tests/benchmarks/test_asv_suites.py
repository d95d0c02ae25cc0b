"""The asv suites, run by real asv: what it stores, and that samples from a `track_` benchmark are kept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gdnbench.oracle.environment import release_python
from gdnbench.values.errors import EnvironmentMissing

CHEAPEST = "track_(device_ops|step_time)"
"""One benchmark of each suite: asv starts a process for every parameter of every benchmark."""

ROOT = Path(__file__).parents[2]


class Suites:
    """A clone in which asv runs suites, and what it stored."""

    def __init__(self, root: Path, **settings: str) -> None:
        self.tree = root / "tree"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(self.tree)], check=True)
        shutil.copytree(ROOT / "benchmarks", self.tree / "benchmarks", dirs_exist_ok=True)
        shutil.copy(ROOT / "asv.conf.json", self.tree)
        self.env = os.environ | {"HOME": str(root)} | settings
        self.asv("machine", "--yes")

    def asv(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "asv", *arguments]
        run = subprocess.run(command, cwd=self.tree, env=self.env, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]

    def run(self, benchmarks: str) -> None:
        here = ("-E", f"existing:{sys.executable}", "--set-commit-hash", "HEAD")
        self.asv("run", *here, "--quick", "--record-samples", "--bench", benchmarks)
        (stored,) = (path for path in self.tree.glob(".asv/results/*/*.json") if path.name != "machine.json")
        self.stored = json.loads(stored.read_text())

    def column(self, benchmark: str, name: str):
        columns, row = self.stored["result_columns"], self.stored["results"][benchmark]
        return row[columns.index(name)] if columns.index(name) < len(row) else None


@pytest.mark.slow
def test_asv_stores_costs_and_samples_in_an_existing_environment(tmp_path):
    suites = Suites(tmp_path, GDNBENCH_ASV_LAUNCHES="2", GDNBENCH_CACHE=str(tmp_path / "cache"))
    suites.run(CHEAPEST)
    column = suites.column

    ops = column("step_cost.StepCost.track_device_ops", "result")
    variants, scenarios = column("step_cost.StepCost.track_device_ops", "params")
    table = {
        (variant.strip("'"), scenario.strip("'")): ops[i * len(scenarios) + j]
        for i, variant in enumerate(variants)
        for j, scenario in enumerate(scenarios)
    }
    assert table["pr51913.before", "16q1s1k"] == 4
    assert table["pr51913.after", "16q1s1k"] == 2
    samples = column("step_time.StepTime.track_step_time", "samples")
    assert samples is not None
    assert all(len(one) == 2 for one in samples if one is not None)

    suites.asv("publish")
    assert (suites.tree / ".asv" / "html" / "index.html").exists()


@pytest.mark.slow
@pytest.mark.thorough
def test_asv_stores_what_live_servers_gave(tmp_path):
    try:
        python = release_python()
    except EnvironmentMissing as missing:
        pytest.skip(str(missing))
    few = {"GDNBENCH_ASV_LAUNCHES": "1", "GDNBENCH_ASV_ROUNDS": "3", "GDNBENCH_ASV_DOCUMENTS": "16"}
    cache = os.environ.get("GDNBENCH_CACHE", str(Path.home() / ".cache" / "gdnbench"))
    suites = Suites(tmp_path, GDNBENCH_VLLM_PYTHON=str(python), GDNBENCH_CACHE=cache, **few)
    suites.run("^(serving.Serving|accuracy.Accuracy)")
    for name in ("output_token", "ttft", "tpot", "itl"):
        found = suites.column(f"serving.Serving.track_{name}", "result")
        assert len(found) == 8 and all(value > 0 for value in found), name
    errors = suites.column("accuracy.Accuracy.track_error_rate", "result")
    assert len(errors) == 4 and all(0 <= value < 50 for value in errors)
    assert suites.column("accuracy.Accuracy.track_flips", "result")[0] == 0
