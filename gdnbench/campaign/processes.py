"""Child processes: in which Python they run, and that they never outlive their parent."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gdnbench.campaign.pipes import raise_failure

PR_SET_PDEATHSIG = 1


class PythonProcess(Protocol):
    """How to start a Python that can import this project, and perhaps one vLLM."""

    @property
    def env(self) -> dict[str, str]: ...

    def command(self, module: str, *arguments: str) -> list[str]: ...


@dataclass(frozen=True)
class OwnProcess:
    """This very interpreter."""

    env: dict[str, str]

    def command(self, module: str, *arguments: str) -> list[str]:
        return [sys.executable, "-m", module, *arguments]


def python_process(
    vllm: str | None, say: Callable[[str], None] = lambda line: None, builders: Path | None = None
) -> PythonProcess:
    """The Python for sides that need a vLLM (`0.29.0`, `path:DIR`), or this one for ours.

    Args:
        vllm: whose, or None.
        say: is told before something that takes long.
        builders: of ours: the folder that holds another `gdn_impl` than this process's. The harness stays the same.

    Raises:
        UserError, EnvironmentMissing: that vLLM cannot be had.
    """
    if vllm is None:
        return OwnProcess({**os.environ, "OMP_NUM_THREADS": "1", "PYTHONSAFEPATH": "1", "PYTHONPATH": _path(builders)})
    from gdnbench.oracle.environment import release_process

    return release_process(vllm, say=say)


def _path(builders: Path | None) -> str:
    """Where a child finds the harness that this process runs, and before it other builders, if it is to have others."""
    from gdnbench.oracle.environment import importable

    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join([*([str(builders)] if builders else []), str(importable()), *filter(None, given)])


def die_with_parent() -> None:
    """End this process when its parent ends, however that came about. Linux only; elsewhere it does nothing."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_alone(command: list[str], env: Mapping[str, str], stdin: str, log: Path, timeout_s: float) -> tuple[int, str]:
    """Run a command in a process group of its own; its status and standard output.

    Whatever ends it early, a time-out or Ctrl-C, ends all of its group.

    Args:
        stdin: what it reads.
        log: where its standard error goes.
        timeout_s: after which it is ended.

    Raises:
        subprocess.TimeoutExpired: it took too long.
    """
    with log.open("wb") as stderr:
        child = subprocess.Popen(
            command,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
        try:
            stdout, _ = child.communicate(stdin, timeout=timeout_s)
        finally:
            _end_group(child)
    return child.returncode, stdout


class Unanswered(Exception):  # noqa: N818 - what happened; who asked says it to the user
    """A child gave no answer: it hung, died or failed. The message goes on behind its name."""


def ask(process: PythonProcess, module: str, request: Mapping[str, Any], log: Path, timeout_s: float) -> dict[str, Any]:
    """What a module of ours, run alone in `process`, answers to a request: one JSON object each way.

    Args:
        log: where its standard error goes.
        timeout_s: after which it is ended.

    Raises:
        Unanswered: there is no answer.
        UserError, EnvironmentMissing: that is its answer.
    """
    try:
        status, answer = run_alone(process.command(module), process.env, json.dumps(request), log, timeout_s)
    except subprocess.TimeoutExpired:
        raise Unanswered(f"hung and was stopped after {timeout_s:g} s") from None
    try:
        reply: dict[str, Any] = json.loads(answer)
    except ValueError:
        ending = f"signal {-status}" if status < 0 else f"status {status}"
        raise Unanswered(f"died ({ending})") from None
    try:
        raise_failure(reply)
    except RuntimeError as error:
        raise Unanswered(f"failed ({error})") from None
    return reply


def _end_group(child: subprocess.Popen[Any]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
