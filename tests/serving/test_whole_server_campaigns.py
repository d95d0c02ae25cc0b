"""`gdnbench serve` with real vLLM: verdicts, a loss-free interruption, a killed server, code that never ran."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gdnbench.oracle.environment import release_python
from gdnbench.values.errors import EnvironmentMissing
from standins import command_line

QUICK = ["--concurrency", "1", "--output-len", "8", "--rounds", "4"]


@pytest.fixture(autouse=True)
def environment() -> None:
    try:
        release_python()
    except EnvironmentMissing as missing:
        pytest.skip(str(missing))


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gdnbench", "serve", *arguments]


def told(*arguments: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(command(*arguments, "--json"), capture_output=True, text=True)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


class Running:
    """A campaign in the background, in a directory of campaigns of its own."""

    def __init__(self, *arguments: str) -> None:
        self.known = set(self.campaigns())
        self.process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @staticmethod
    def campaigns() -> list[Path]:
        root = Path(os.environ.get("GDNBENCH_CACHE", Path.home() / ".cache" / "gdnbench")) / "campaigns"
        return list(root.glob("*-serve-*"))

    def wait_for(self, pattern: str, seconds: float = 240) -> Path:
        """The first file of this campaign's directory that matches."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for campaign in set(self.campaigns()) - self.known:
                for path in campaign.glob(pattern):
                    return path
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.1)
        raise AssertionError(f"no {pattern} in {seconds:g} s")

    def end(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


def descendants(pid: int) -> set[int]:
    """A process's children and theirs."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, waiting = set(), [pid]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found |= set(below)
        waiting += below
    return found


def alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if Path(f"/proc/{pid}/exe").exists()}


@pytest.fixture
def running() -> Iterator[list[Running]]:
    started: list[Running] = []
    yield started
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ctrl_c_loses_no_finished_launch_and_resume_goes_on_to_a_verdict(running: list[Running]) -> None:
    campaign = Running("pr51913.before", "pr51913.after", *QUICK, "--launches", "2")
    running.append(campaign)
    first = campaign.wait_for("launches/001.json")
    campaign.wait_for("logs/002/server.log")
    time.sleep(3)
    processes = descendants(campaign.process.pid)
    campaign.process.send_signal(signal.SIGINT)
    status, errors = campaign.end()
    assert status == 3
    assert errors.count("\n") == 1 and "interrupted after 1 of 2 launches; go on with --resume" in errors
    time.sleep(1)
    assert processes and not alive(processes)

    kept, directory = first.read_bytes(), first.parents[1]
    status, found = told("--resume", str(directory), "--fail-on", "invalid")
    assert status == 0
    assert first.read_bytes() == kept
    assert found["verdict"] == "unknown" and not found["invalid"]
    (row,) = [row for row in found["rows"] if row["primary"]]
    assert (row["concurrency"], row["metric"], row["unit"], row["launches"]) == (1, "output_throughput", "tok/s", 2)
    assert 0.5 < row["ratio"] < 2
    assert found["coverage"]["ran"]["before"] > 0 and found["coverage"]["ran"]["after"] > 0
    assert {"throughput_ratio", "step_time_ratio", "acceptance_ratio"} <= found["decomposition"][0].keys()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_without_speculation_52078_never_ran(tmp_path: Path) -> None:
    kept = tmp_path / "campaign.json.gz"
    status, found = told("pr52078.before", "pr52078.after", *QUICK, "--launches", "1", "--keep", str(kept))
    assert status == 1
    assert found["verdict"] == "invalid"
    assert any("the changed code never ran" in fault["message"] for fault in found["invalid"])
    again, judged = told("--recording", str(kept))
    assert again == 1
    assert {**judged, "journal": ""} == {**found, "journal": ""}


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_a_server_killed_in_mid_run_is_one_line_and_resume_goes_on(running: list[Running]) -> None:
    campaign = Running("pr51913.before", "pr51913.after", "--concurrency", "1", "--launches", "1")
    running.append(campaign)
    campaign.wait_for("logs/001/server.log")
    log = next(iter(set(campaign.campaigns()) - campaign.known)) / "logs" / "001" / "server.log"
    deadline = time.monotonic() + 240
    while "Application startup complete" not in log.read_text(errors="replace") and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(8)
    processes = descendants(campaign.process.pid)
    engines = [pid for pid in processes if command_line(pid).startswith("VLLM::EngineCore")]
    assert engines
    os.kill(engines[0], signal.SIGKILL)
    status, errors = campaign.end()
    assert status == 4
    assert errors.count("\n") == 1 and str(log) in errors and "--resume" in errors
    time.sleep(1)
    assert not alive(processes)
    status, found = told("--resume", str(log.parents[2]), "--fail-on", "invalid")
    assert (status, found["rows"][0]["launches"]) == (0, 1)


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_two_releases_are_served_apart_under_one_load_generator() -> None:
    status, found = told("vllm@0.30.0", "vllm@0.31.0", *QUICK, "--launches", "1", "--fail-on", "invalid")
    assert status == 0, found["invalid"]
    assert found["identity"]["method"] == "apart"
    assert found["identity"]["releases"] == {"before": "0.30.0", "after": "0.31.0"}


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_drafts_of_the_models_own_head_run_52078() -> None:
    asked = [
        "pr52078.before",
        "pr52078.after",
        *QUICK,
        "--speculative",
        "mtp",
        "--launches",
        "1",
        "--fail-on",
        "invalid",
    ]
    status, found = told(*asked)
    assert status == 0, found["invalid"]
    kinds = {one["kind"] for one in found["coverage"]["roles"]["after"]}
    assert "speculative" in kinds
    assert found["decomposition"][0]["acceptance_ratio"] == pytest.approx(1, abs=0.02)
