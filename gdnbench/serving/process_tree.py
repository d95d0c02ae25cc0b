"""Processes as /proc shows them: the descendants of one, those with a mark in their environment, those that starved."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from pathlib import Path


def descendants(root: int) -> list[int]:
    """All living processes below `root`, those that ended and were not collected left out."""
    children = defaultdict(list)
    ended = set()
    for pid in _processes():
        with suppress(OSError, ValueError, IndexError):
            state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
            children[int(parent)].append(pid)
            if state in "ZX":
                ended.add(pid)
    found: list[int] = []
    below = list(children[root])
    while below:
        pid = below.pop()
        found.append(pid)
        below += children[pid]
    return [pid for pid in found if pid not in ended]


def marked(variable: str, value: str) -> list[int]:
    """All living processes that were started with this environment variable."""
    wanted = f"{variable}={value}".encode()
    found = []
    for pid in _processes():
        with suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(pid)
    return found


def oom_kills() -> int:
    """How many processes the kernel has killed on this machine for lack of memory."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
