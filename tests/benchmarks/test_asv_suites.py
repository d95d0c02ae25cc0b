"""The asv suites, run by real asv: what it stores, and that samples from a `track_` benchmark are kept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHEAPEST = "track_(device_ops|step_time)"
"""One benchmark of each suite: asv starts a process for every parameter of every benchmark."""

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_asv_stores_costs_and_samples_in_an_existing_environment(tmp_path):
    tree = tmp_path / "tree"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(tree)], check=True)
    shutil.copytree(ROOT / "benchmarks", tree / "benchmarks", dirs_exist_ok=True)
    shutil.copy(ROOT / "asv.conf.json", tree)
    env = os.environ | {"GDNBENCH_ASV_LAUNCHES": "2", "HOME": str(tmp_path), "GDNBENCH_CACHE": str(tmp_path / "cache")}

    def asv(*arguments):
        command = [sys.executable, "-m", "asv", *arguments]
        run = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, timeout=1200, check=False)
        assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
        return run.stdout

    asv("machine", "--yes")
    asv(
        "run",
        "-E",
        f"existing:{sys.executable}",
        "--set-commit-hash",
        "HEAD",
        "--quick",
        "--record-samples",
        "--bench",
        CHEAPEST,
    )

    files = [path for path in (tree / ".asv" / "results").glob("*/*.json") if path.name != "machine.json"]
    assert len(files) == 1
    stored = json.loads(files[0].read_text())
    columns = stored["result_columns"]

    def column(benchmark, name):
        row = stored["results"][benchmark]
        return row[columns.index(name)] if columns.index(name) < len(row) else None

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

    asv("publish")
    assert (tree / ".asv" / "html" / "index.html").exists()
