"""Why a server failed, in one line: told from its log by a table of signs."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path

from gdnbench.serving.logs import tail
from gdnbench.values.errors import UserError


class ServerFailed(UserError):  # noqa: N818 - what happened, not a fault
    """A server or its load generator did not start, died or hung; the line says why and names the log."""

    exit_code = 4


SIGNALS: dict[int, str] = {
    signal.SIGKILL: "something killed it",
    signal.SIGTERM: "something ended it",
    signal.SIGSEGV: "it crashed in native code",
    signal.SIGABRT: "it crashed in native code",
    signal.SIGILL: "its native code is for another processor",
    signal.SIGBUS: "a memory-mapped file was cut off: is /dev/shm or a disk full?",
}
"""What it means that one of these ended a server."""


def ending(status: int | None) -> str:
    """How a process ended: by a signal, with a status, or, for None, together with the warden that would have told."""
    if status is None:
        return "its warden was killed"
    return signal.Signals(-status).name if status < 0 else f"status {status}"


@dataclass(frozen=True, slots=True)
class Sign:
    """A line of a log that tells a cause.

    Attributes:
        pattern: of the line.
        cause: what it means and what to do; `{0}` is the pattern's first group.
    """

    pattern: str
    cause: str

    def found(self, text: str) -> str | None:
        match = re.search(self.pattern, text, re.MULTILINE)
        return None if match is None else self.cause.format(*(group.strip() for group in match.groups()))


SIGNS = (
    Sign(r"No space left on device|Errno 28\b", "a disk is full (No space left on device)"),
    Sign(r"(?i)address already in use", "its port is taken by another process"),
    Sign(r"error: unrecognized arguments: (.*)", "this release of vLLM knows no argument {0}"),
    Sign(r"api_server\.py: error: (.*)", "vLLM refuses its arguments: {0}"),
    Sign(
        r"(Available memory on node .* is less than requested memory for kv \(.*?\))",
        "out of memory: {0}; ask for less by VLLM_CPU_KVCACHE_SPACE",
    ),
    Sign(
        r"(?:larger than the available KV cache memory|No available memory for the cache blocks)",
        "out of memory: too little for the KV cache; give it more, or lower --max-model-len",
    ),
    Sign(
        r"(Free memory on device .* is less than desired GPU memory utilization \(.*?\))",
        "out of memory on the GPU: {0}; lower --gpu-memory-utilization",
    ),
    Sign(r"CUDA out of memory", "out of memory on the GPU: lower --gpu-memory-utilization or --max-model-len"),
    Sign(
        r"^.*\b(MemoryError|Cannot allocate memory|can't allocate memory.*?bytes).*$",
        "out of memory on this machine ({0})",
    ),
    Sign(
        r"Invalid repository ID or local directory specified: '([^']*)'",
        "no model at {0}: name a directory with a config.json",
    ),
    Sign(
        r"(?:LocalEntryNotFoundError|OfflineModeIsEnabled|RepositoryNotFoundError|HFValidationError)",
        "no such model on this machine, and none is downloaded now: fetch it before, or name a directory",
    ),
    Sign(r"Failed to infer device type", "vLLM finds no device that it was built for"),
    Sign(r"Worker proc \S+ died unexpectedly", "a worker process died"),
)
"""In order: the first that is found counts, so causes stand before what they lead to."""

_CONSEQUENCES = ("EngineDeadError", "RuntimeError: cancelled", "RuntimeError: Engine core initialization failed")
"""Exceptions of processes that lost another one."""
_PREFIX = re.compile(r"^(?:\(\w+ pid=\d+\) ?)?(?:ERROR \S+ \S+ \[\S+\] ?)?")
_ERROR = re.compile(r"(?:\w+\.)*(\w*(?:Error|Exception): .+)")


def cause_in(log: Path) -> str | None:
    """The cause that a log tells, if it has one of the signs."""
    text = tail(log)
    return next((cause for sign in SIGNS if (cause := sign.found(text)) is not None), None)


def first_error(log: Path, width: int = 240) -> str | None:
    """The first exception that a log tells, for it led to the others; or that the engine went without one."""
    lines = [_PREFIX.sub("", line).strip() for line in tail(log).splitlines()]
    for at, line in enumerate(lines):
        found = _ERROR.fullmatch(line)
        if found and not found[1].startswith(_CONSEQUENCES):
            # pydantic tells what is wrong on the two lines that follow
            more = lines[at + 1 : at + 3] if "validation error" in line else []
            return " ".join([found[1], *more])[:width]
    return "its engine process died" if any("engine core exited unexpectedly" in line for line in lines) else None
