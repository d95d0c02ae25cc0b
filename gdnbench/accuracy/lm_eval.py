"""lm-eval itself, as a process: its questions go to a live server, or to vLLM inside that very process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gdnbench.accuracy.tasks import STOCK, Task
from gdnbench.campaign.processes import PythonProcess, die_with_parent
from gdnbench.oracle.environment import release_python
from gdnbench.oracle.installed import InstalledLmEval, installed_lm_eval
from gdnbench.serving.failures import ServerFailed, ending, first_error
from gdnbench.serving.logs import begin_log, last_line
from gdnbench.serving.server import Server
from gdnbench.values.errors import EnvironmentMissing

POLL_S = 0.5
HANG_S = 180.0
"""Without an answer for so long a server hangs; the first comes after lm-eval has read its task."""

Told = Callable[[int], None]
"""Told how many documents are answered."""


def installed() -> InstalledLmEval:
    """The lm-eval that will be run.

    Raises:
        EnvironmentMissing: there is none.
    """
    python = release_python()
    found = installed_lm_eval(python)
    if found is None:
        raise EnvironmentMissing(
            f"no lm-eval in the environment of {python}: make vllm, or pip install 'lm-eval[api]' there"
        )
    return found


def write_task(task: Task, directory: Path) -> Path:
    """The directory for `--include_path`, with the task in it."""
    folder = directory / "task"
    folder.mkdir(parents=True, exist_ok=True)
    stock = installed().tasks / STOCK / f"{STOCK}.yaml"
    text = task.to_yaml().replace(f"include: {STOCK}.yaml", f"include: {stock}", 1)
    (folder / f"{task.lm_eval_name}.yaml").write_text(text, encoding="utf-8")
    return folder


def evaluate(
    process: PythonProcess,
    task: Task,
    directory: Path,
    *,
    model: str,
    arguments: Mapping[str, Any],
    limit: int | None,
    env: Mapping[str, str],
    server: Server | None,
    told: Told,
) -> Path:
    """Run lm-eval once; the folder of its output.

    Args:
        process: the Python that has lm-eval.
        directory: for its task file, output and log, `lm_eval.log`.
        model: by lm-eval's name: `local-completions` or `vllm`.
        arguments: of that model.
        limit: only so many documents; None for all.
        env: further environment variables.
        server: that is asked, and watched meanwhile; None where the model runs in lm-eval's process.

    Raises:
        ServerFailed: lm-eval failed, or the server died or hung; the line names a log.
    """
    output, log = directory / "output", directory / "lm_eval.log"
    command = process.command(
        "lm_eval",
        *("run", "--model", model, "--model_args", json.dumps(arguments)),
        *("--tasks", task.lm_eval_name, "--include_path", str(write_task(task, directory))),
        *("--output_path", str(output), "--log_samples"),
        *(() if limit is None else ("--limit", str(limit))),
    )
    settings = {**process.env, "HF_HOME": str(directory / "huggingface"), "HF_DATASETS_OFFLINE": "1", **env}
    with begin_log(log, command) as stream:
        child = subprocess.Popen(
            command,
            env={name: value for name, value in settings.items() if not name.lower().endswith("_proxy")},
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
    try:
        _watch(child, server, told)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if child.returncode:
        if server is not None:
            server.check()
        why = first_error(log) or f"its last line: {last_line(log)}"
        raise ServerFailed(f"lm-eval failed ({ending(child.returncode)}): {why}; its log: {log}")
    return output


def _watch(child: subprocess.Popen[bytes], server: Server | None, told: Told) -> None:
    """Until it ends; a server that makes no progress hangs."""
    begun, progress = time.monotonic(), -1
    while child.poll() is None:
        time.sleep(POLL_S)
        if server is None:
            continue
        seen = server.metrics()
        told(seen.finished)
        if seen.progress != progress:
            begun, progress = time.monotonic(), seen.progress
        elif time.monotonic() - begun > HANG_S:
            raise server.hung(HANG_S)


def engine_arguments(flags: Sequence[str]) -> dict[str, Any]:
    """Flags of vLLM's server as arguments of its engine: `--no-a-b` is a_b=False, `--a-b` alone a_b=True."""
    found: dict[str, Any] = {}
    at = 0
    while at < len(flags):
        flag, equals, value = flags[at].partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        at += 1
        if equals:
            found[name] = _typed(value)
        elif at < len(flags) and not flags[at].startswith("--"):
            found[name] = _typed(flags[at])
            at += 1
        elif name.startswith("no_"):
            found[name.removeprefix("no_")] = False
        else:
            found[name] = True
    return found


def _typed(value: str) -> int | float | str:
    """A number where it is one: what the server's parser would make of it."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(value)
    return value
