"""Stand-ins for what takes long to start: a release's processes, and what tests do to them."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gdnbench.serving.failures import ServerFailed
from gdnbench.serving.server import Server

MARK = "GDNBENCH_TEST_MARK"
"""A variable in the environment of a test's processes: who carries it afterwards was forgotten."""


@dataclass
class StandIn:
    """Python processes of ours in place of a release's; only what watches over them is real."""

    env: dict[str, str]
    scripts: dict[str, str] = field(default_factory=dict)

    def command(self, module: str, *arguments: str) -> list[str]:
        script = self.scripts.get(module)
        return [sys.executable, *(["-m", module] if script is None else [script]), *arguments]


def failure(act: Callable[[], object]) -> str:
    """The one line that it fails with."""
    with pytest.raises(ServerFailed) as caught:
        act()
    assert caught.value.exit_code == 4
    assert "\n" not in str(caught.value)
    return str(caught.value)


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def warden_of(server: Server) -> int:
    return next(pid for pid in server.pids() if "gdnbench.serving.warden" in command_line(pid))


def first_process(server: Server) -> int:
    """The server itself, below the warden."""
    lines = {pid: command_line(pid) for pid in server.pids()}
    return next(pid for pid, line in lines.items() if "--served-model-name" in line and "warden" not in line)


def break_engine(server: Server) -> None:
    """From now on the stand-in answers as vLLM does whose engine died; a second later it ends."""
    with suppress(OSError):
        urllib.request.urlopen(f"{server.url}/break", timeout=5)
