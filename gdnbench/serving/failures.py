"""Why a server failed, in one line: told from its log by a table of signs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gdnbench.values.errors import UserError

MOST_BYTES = 4 << 20
"""Of a log, from its end, that are searched for signs."""


class ServerFailed(UserError):  # noqa: N818 - what happened, not a fault
    """A server or its load generator did not start, died or hung; the line says why and names the log."""

    exit_code = 4


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
    Sign(r"address already in use", "its port is taken by another process"),
    Sign(r"error: unrecognized arguments: (.*)", "this release of vLLM knows no argument {0}"),
    Sign(r"api_server\.py: error: (.*)", "vLLM refuses its arguments: {0}"),
    Sign(
        r"(?:larger than the available KV cache memory|No available memory for the cache blocks).*",
        "out of memory: too little for the KV cache; give it more, or lower --max-model-len",
    ),
    Sign(r"CUDA out of memory.*", "out of memory on the GPU: lower --gpu-memory-utilization or --max-model-len"),
    Sign(r"(?:MemoryError|Cannot allocate memory|can't allocate memory)", "out of memory on this machine"),
    Sign(
        r"(?:Invalid repository ID or local directory specified: '([^']*)')",
        "no model at {0}: name a directory with a config.json",
    ),
    Sign(
        r"Failed to infer device type", "vLLM finds no device that it was built for: is it the wheel for this machine?"
    ),
)
"""In order: the first that is found counts, so causes stand before what they lead to."""


def cause_in(log: Path) -> str | None:
    """The cause that a log tells, if it has one of the signs."""
    text = tail(log)
    return next((cause for sign in SIGNS if (cause := sign.found(text)) is not None), None)


def tail(log: Path) -> str:
    """The end of a log; empty where there is none."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - MOST_BYTES))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""


def last_line(log: Path, width: int = 160) -> str:
    """The last line of a log that says something, cut to `width` characters."""
    lines = [line.strip() for line in tail(log).splitlines() if line.strip()]
    return lines[-1][:width] if lines else "its log is empty"
