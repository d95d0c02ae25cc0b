"""Logs of servers and load generators: how they begin, how they end, and whether there was room for them."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 4 << 20
"""Of a log, from its end, that are read."""
LEAST_ROOM = 64 << 10

COMPILES = re.compile(r"torch\.compile takes|Compiling a graph|\bJIT\b|[Aa]utotun|Capturing CUDA graph")
"""A line of a server that compiles, autotunes or captures: work that no measurement may hold."""


def begin_log(log: Path, command: Sequence[str]) -> BinaryIO:
    """A new log, open, whose first line is the command; so a full disk is noticed before anything is started.

    Raises:
        OSError: the disk refuses.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    stream = log.open("wb", buffering=0)
    try:
        stream.write(f"$ {shlex.join(command)}\n".encode())
    except OSError:
        stream.close()
        raise
    return stream


def no_room(log: Path) -> str | None:
    """That the disk of a log is full, if it is."""
    full = shutil.disk_usage(log.parent).free < LEAST_ROOM
    return f"a disk is full: no room is left in {log.parent}" if full else None


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
