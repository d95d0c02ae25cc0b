"""Stand-ins for what takes long to start: the processes of a server, a server, and a load generator."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gdnbench.serving.plan import ServerSetting
from gdnbench.serving.process_tree import marked
from standins import MARK, StandIn

TREE = """
# three processes, one below the other, engine and worker in sessions of their own
import os, signal, subprocess, sys, time

level, behaviour = sys.argv[1:]
if level != "server":
    os.setsid()
if behaviour == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if behaviour == "orderly" and level == "server":
    def go_down(*_):
        time.sleep(0.5)
        print("went down", flush=True)
        os._exit(0)
    signal.signal(signal.SIGTERM, go_down)
below = {"server": "engine", "engine": "worker"}.get(level)
if below:
    subprocess.Popen([sys.executable, __file__, below, behaviour])
else:
    print("up", flush=True)
time.sleep(100)
"""


@pytest.fixture
def tree(tmp_path: Path) -> str:
    """The script of those processes; its arguments: `server`, and `plain`, `orderly` or `stubborn`."""
    path = tmp_path / "tree.py"
    path.write_text(TREE)
    return str(path)


@pytest.fixture
def mark() -> Iterator[str]:
    """A mark for the environment of a test's processes; whatever still carries it afterwards is ended."""
    value = f"{os.getpid()}-{time.monotonic_ns()}"
    yield value
    for pid in marked(MARK, value):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def wait_until() -> Callable[..., None]:
    def wait(true: Callable[[], bool], seconds: float = 20.0) -> None:
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, "it did not come about in time"
            time.sleep(0.02)

    return wait


@pytest.fixture
def stand_in(mark: str) -> Callable[..., StandIn]:
    """A process whose server and load generator are the scripts beside this file, with further variables."""

    def make(**env: str) -> StandIn:
        here = Path(__file__).parent
        scripts = {
            "vllm.entrypoints.openai.api_server": str(here / "standin_server.py"),
            "gdnbench.serving.load_process": str(here / "standin_load.py"),
        }
        return StandIn({**os.environ, MARK: mark, **env}, scripts)

    return make


@pytest.fixture
def setting(tmp_path: Path) -> ServerSetting:
    """A server setting that names a model which is there."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    return ServerSetting("none", str(model), str(model), ("--dtype", "bfloat16"), {"SETTING": "1"}, None, "cpu")
