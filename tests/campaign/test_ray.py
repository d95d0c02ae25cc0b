"""Campaigns on a real Ray cluster: several nodes on this machine, one of which is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gdnbench.campaign.journal import Journal
from gdnbench.oracle.environment import release_python
from gdnbench.serving.journal import ServeJournal
from gdnbench.values.errors import EnvironmentMissing

cluster_utils = pytest.importorskip("ray.cluster_utils")

pytestmark = pytest.mark.slow

STORE_BYTES = 80 << 20
SETTINGS = {
    "RAY_worker_niceness": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
}
LOSES_SOON = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 6}
COMPARED = ("pr51913.before", "pr51913.after", "--scenario", "16q1s1k")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that runs nothing, and two nodes."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        patch.delenv("GDNBENCH_MACHINE", raising=False)
        head = {"num_cpus": 0, "object_store_memory": STORE_BYTES, "include_dashboard": False}
        made = cluster_utils.Cluster(initialize_head=True, head_node_args={**head, "_system_config": LOSES_SOON})
        try:
            for _ in range(2):
                made.add_node(num_cpus=1, num_gpus=0, object_store_memory=STORE_BYTES)
            yield made
        finally:
            made.shutdown()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path))
    return tmp_path


def start(*arguments: str, command: str = "step") -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "gdnbench", command, *arguments, "--json"]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(running: subprocess.Popen[str], seconds: float = 120) -> tuple[int, str, str]:
    out, err = running.communicate(timeout=seconds)
    return running.returncode, out, err


def on(cluster: Any) -> list[str]:
    return ["--executor", "ray", "--address", cluster.address]


def journal_of(out: str) -> Journal:
    return Journal.open(Path(json.loads(out)["journal"]))


def records(cache: Path) -> list[Path]:
    return sorted(cache.glob("campaigns/*/launches/*.json"))


def wait_until(condition: Callable[[], object], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def children(process: int) -> dict[int, str]:
    """The processes below one, at whatever depth, with their command lines."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(") ")[2].split()[1])
        except OSError:
            continue
    found: dict[int, str] = {}
    below = {process}
    while below := {child for child, parent in parents.items() if parent in below}:
        for child in below:
            try:
                found[child] = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
    return found


def launch_below(process: int) -> bool:
    return any("gdnbench.campaign.launch" in line for line in children(process).values())


def raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


def pairs(journal: Journal) -> list[tuple[Any, ...]]:
    """What was measured in each launch, but for the figures."""
    return [
        (
            launch.number,
            launch.created,
            launch.refused,
            launch.unequal,
            [
                (one.scenario, one.metric, {role: len(us) for role, us in one.blocks_us.items()})
                for one in launch.measured
            ],
        )
        for launch in journal.finished()
    ]


def test_a_cluster_gives_the_same_pairs_as_this_machine(cluster: Any, cache: Path) -> None:
    few = ["pr51913.after", "pr51913.after+100%", "--scenario", "16q1s1k", "--launches", "2", "--rounds", "3"]
    history = ["--history", str(cache / "history")]
    status, out, err = told(start(*few, *on(cluster), *history))
    assert status in (0, 1) and "kept in the history" in err
    there = journal_of(out)
    here = journal_of(told(start(*few))[1])
    assert there.plan == here.plan
    assert there.waits() is not None, "and handicaps were sized on a machine of the cluster"
    assert pairs(there) == pairs(here)
    assert [launch.number for launch in there.finished()] == [1, 2]
    assert there.hardware == here.hardware
    (run,) = (cache / "history").glob("*-step-*/run.json")
    environments = [own for launch in there.finished() for own in launch.environment.values()]
    assert json.loads(run.read_text())["identity"]["machine"]["host"] == environments[0]["machine"]


def test_a_cluster_without_a_gpu_is_one_line_for_a_plan_that_needs_one(cluster: Any, cache: Path) -> None:
    status, out, err = told(start(*COMPARED, "--device", "cuda", *on(cluster)))
    assert (status, out) == (4, "") and "it has no GPU" in err and err.count("\n") == 1
    assert not records(cache)


def test_ctrl_c_ends_all_of_it_and_it_can_go_on(cluster: Any, cache: Path) -> None:
    running = start(*COMPARED, "--launches", "3", "--rounds", "200", *on(cluster))
    wait_until(lambda: records(cache) and any(launch_below(raylet(node)) for node in cluster.worker_nodes))
    running.send_signal(signal.SIGINT)
    status, out, err = told(running)
    kept = {path: path.read_bytes() for path in records(cache)}
    assert (status, out) == (3, "")
    assert f"after {len(kept)} of 3 launches" in err and err.count("\n") == 1
    assert f"--executor ray --address {cluster.address}" in err
    wait_until(lambda: not any(launch_below(raylet(node)) for node in cluster.worker_nodes), 20)

    (directory,) = cache.glob("campaigns/*")
    assert told(start("--resume", str(directory), *on(cluster)))[0] in (0, 1)
    assert [path.stem for path in records(cache)] == ["001", "002", "003"]
    assert {path: path.read_bytes() for path in kept} == kept


@pytest.mark.thorough
def test_a_server_runs_on_a_cluster(cluster: Any, cache: Path) -> None:
    try:
        release_python()
    except EnvironmentMissing as missing:
        pytest.skip(str(missing))
    few = [*COMPARED[:2], "--concurrency", "1", "--launches", "1", "--rounds", "2"]
    status, out, err = told(start(*few, *on(cluster), command="serve"), 280)
    assert status == 0, err
    (launch,) = ServeJournal.open(Path(json.loads(out)["journal"])).finished()
    assert [block.role for block in launch.blocks].count("before") == 2
    assert not any("vllm" in line for node in cluster.worker_nodes for line in children(raylet(node)).values())


def test_no_pair_is_lost_or_doubled_when_a_node_is_killed(cluster: Any, cache: Path) -> None:
    """The last: it leaves the cluster with one node less."""
    running = start(*COMPARED, "--launches", "5", "--rounds", "200", *on(cluster))
    victim = next(iter(cluster.worker_nodes))
    wait_until(lambda: records(cache) and launch_below(raylet(victim)))
    gone = {raylet(victim), *children(raylet(victim))}
    for process in gone:
        os.kill(process, signal.SIGKILL)
    kept = {path.name: path.read_bytes() for path in records(cache)}
    status, out, err = told(running)
    assert status in (0, 1), err
    assert "was lost with" in err and "all of it is run again" in err
    assert json.loads(out)["rows"][0]["launches"] == 5
    launches = journal_of(out).finished()
    assert [launch.number for launch in launches] == [1, 2, 3, 4, 5]
    assert len({launch.started + str(launch.measured) for launch in launches}) == 5, "each was measured once"
    assert {path.name: path.read_bytes() for path in records(cache) if path.name in kept} == kept
    assert not list(cache.rglob("*.aside"))
