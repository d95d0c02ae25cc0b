"""No process of a server outlives the one who started it, however that one, the warden or the server ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gdnbench.serving.process_tree import descendants, marked
from standins import MARK

WARDEN = [sys.executable, "-m", "gdnbench.serving.warden"]

Start = Callable[..., "subprocess.Popen[str]"]
Wait = Callable[..., None]


@pytest.fixture
def start(mark: str, tree: str, tmp_path: Path, wait_until: Wait) -> Start:
    """Starts a warden over a server whose three processes are up."""

    def start(behaviour: str = "plain", grace: float = 5.0) -> subprocess.Popen[str]:
        log = tmp_path / "log"
        with log.open("w") as stderr:
            warden = subprocess.Popen(
                [*WARDEN, "--grace", str(grace), "--", sys.executable, tree, "server", behaviour],
                env={**os.environ, MARK: mark},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        wait_until(lambda: "up" in log.read_text())
        assert len(marked(MARK, mark)) == 4
        return warden

    return start


def server_pid(warden: subprocess.Popen[str]) -> int:
    assert warden.stdout is not None
    return int(json.loads(warden.stdout.readline())["pid"])


def test_closing_its_input_ends_the_whole_tree(start: Start, mark: str) -> None:
    warden = start()
    assert server_pid(warden) in descendants(warden.pid)
    stdout, _ = warden.communicate(timeout=20)
    assert (warden.returncode, stdout) == (0, "")
    assert marked(MARK, mark) == []


def test_sigterm_ends_the_whole_tree(start: Start, mark: str) -> None:
    warden = start()
    warden.terminate()
    assert warden.wait(20) == 0
    assert marked(MARK, mark) == []


def test_the_server_may_take_its_own_way_down(start: Start, mark: str, tmp_path: Path) -> None:
    start("orderly").communicate(timeout=20)
    assert "went down" in (tmp_path / "log").read_text()
    assert marked(MARK, mark) == []


def test_processes_that_ignore_sigterm_are_killed_when_the_grace_is_over(start: Start, mark: str) -> None:
    warden, begun = start("stubborn", grace=0.5), time.monotonic()
    warden.communicate(timeout=20)
    assert 0.5 < time.monotonic() - begun < 8
    assert marked(MARK, mark) == []


def test_a_stopped_server_still_takes_its_own_way_down(start: Start, mark: str, tmp_path: Path) -> None:
    warden = start("orderly", grace=20)
    for pid in descendants(warden.pid):
        os.kill(pid, signal.SIGSTOP)
    warden.communicate(timeout=15)
    assert "went down" in (tmp_path / "log").read_text()
    assert marked(MARK, mark) == []


def test_what_a_server_that_dies_leaves_behind_is_ended(start: Start, mark: str) -> None:
    warden = start()
    os.kill(server_pid(warden), signal.SIGKILL)
    assert warden.stdout is not None
    assert json.loads(warden.stdout.readline()) == {"status": -signal.SIGKILL}
    assert warden.wait(20) == 0
    assert marked(MARK, mark) == []


def test_the_status_of_a_server_that_ends_by_itself_is_told() -> None:
    command = [*WARDEN, "--", sys.executable, "-c", "raise SystemExit(7)"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as warden:
        assert warden.stdout is not None
        assert [json.loads(line) for line in warden.stdout][1:] == [{"status": 7}]


def test_killing_the_warden_kills_the_server_itself(start: Start, mark: str, wait_until: Wait) -> None:
    warden = start()
    pid = server_pid(warden)
    warden.kill()
    warden.wait()
    wait_until(lambda: pid not in marked(MARK, mark))


@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT", "SIGSEGV", "SIGKILL of one that forked"])
def test_nothing_survives_a_harness_that_is_killed(
    how: str, mark: str, tree: str, tmp_path: Path, wait_until: Wait
) -> None:
    """Where the harness forked, a copy of it holds the pipe to the warden; then only the parent's death tells."""
    command = [*WARDEN, "--", sys.executable, tree, "server", "plain"]
    harness = textwrap.dedent(f"""
        import os, subprocess, time
        subprocess.Popen({command!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        if {"fork" in how} and os.fork() == 0:
            time.sleep(60)
        time.sleep(100)
    """)
    log = tmp_path / "log"
    with log.open("w") as stderr:
        parent = subprocess.Popen([sys.executable, "-c", harness], env={**os.environ, MARK: mark}, stderr=stderr)
    wait_until(lambda: "up" in log.read_text())
    parent.send_signal(signal.Signals[how.partition(" ")[0]])
    parent.wait(20)
    wait_until(lambda: len(marked(MARK, mark)) == ("fork" in how))


def test_it_binds_the_tree_to_cores() -> None:
    core = min(os.sched_getaffinity(0))
    code = "import os, sys; sys.exit(os.sched_getaffinity(0) != {int(sys.argv[1])})"
    command = [*WARDEN, "--cores", str(core), "--", sys.executable, "-c", code, str(core)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as warden:
        assert warden.stdout is not None
        assert [json.loads(line) for line in warden.stdout][1:] == [{"status": 0}]
