"""Starts a server and answers for its end: `python -m gdnbench.serving.warden [--grace S] [--cores 0,1] -- COMMAND...`.

A server is a tree of processes, some with sessions of their own, and whoever started it may be killed outright. So this
small process stands between the two. It is a subreaper, hence every process of the tree stays its descendant even when
its own parent dies. It ends the tree when its standard input closes, when its parent dies, when it gets SIGTERM, and
when the server's first process ends by itself: SIGTERM, and SIGKILL to all that is left when the grace is over.

On standard output it tells one JSON line of each: `{"pid": n}` of the server, then `{"status": n}` if the server ended
by itself (negative: by that signal). The server's output goes where this process's standard error goes.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

from gdnbench.serving.process_tree import descendants

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
GRACE_S = 10.0
"""For the server's own way down; vLLM needs 1 to 3 s."""
LEFTOVER_GRACE_S = 2.0
"""For what is left of the tree once the server's first process has ended."""
KILL_S = 10.0
"""For SIGKILL to take effect: a process in the middle of a disk access goes when that is done."""


class Warden:
    """Watches over one server.

    Args:
        command: of the server.
        grace_s: between SIGTERM and SIGKILL.
    """

    def __init__(self, command: list[str], grace_s: float) -> None:
        self._parent = os.getppid()
        self._grace_s = grace_s
        self._status: int | None = None
        self._stop = False
        self._wake, wake = os.pipe()
        for end in (self._wake, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_sigterm)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        self._server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=2, start_new_session=True, preexec_fn=_die_with_warden
        )
        _tell(pid=self._server.pid)

    def run(self) -> int:
        """Wait for a reason to end the tree, end it; the exit code."""
        watched = [self._wake, 0]
        while self._status is None and not self._stop and os.getppid() == self._parent:
            ready, _, _ = select.select(watched, [], [], 1.0)
            if 0 in ready and not os.read(0, 4096):
                break
            self._reap()
        if self._status is not None:
            _tell(status=self._status)
        self._end()
        return 1 if descendants(os.getpid()) else 0

    def _on_sigterm(self, *_: object) -> None:
        self._stop = True

    def _reap(self) -> None:
        """Collect every process that has ended; the server's status if it is among them."""
        with suppress(BlockingIOError):
            os.read(self._wake, 4096)
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                if pid == self._server.pid:
                    self._status = os.waitstatus_to_exitcode(status)

    def _end(self) -> None:
        if self._status is None:
            _send(self._server.pid, signal.SIGTERM)
            for pid in descendants(os.getpid()):
                _send(pid, signal.SIGCONT)  # a stopped process cannot go down
            for _ in self._left(self._grace_s):
                if self._status is not None:
                    break
        for pid in descendants(os.getpid()):
            _send(pid, signal.SIGTERM, signal.SIGCONT)
        for _ in self._left(LEFTOVER_GRACE_S):
            pass
        for pids in self._left(KILL_S):
            for pid in pids:
                _send(pid, signal.SIGKILL)

    def _left(self, seconds: float) -> Iterator[list[int]]:
        """What is left of the tree, again and again, until nothing is or the time is over."""
        deadline = time.monotonic() + seconds
        while True:
            self._reap()
            left = descendants(os.getpid())
            if not left or time.monotonic() > deadline:
                return
            yield left
            select.select([self._wake], [], [], 0.05)


def _die_with_warden() -> None:
    """Should even this process be killed outright, its child goes with it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _send(pid: int, *signals: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        for one in signals:
            os.kill(pid, one)


def _tell(**what: int) -> None:
    with suppress(OSError):  # the parent may be gone
        os.write(1, (json.dumps(what) + "\n").encode())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m gdnbench.serving.warden")
    parser.add_argument("--grace", type=float, default=GRACE_S)
    parser.add_argument("--cores", default="")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    if arguments.cores:
        os.sched_setaffinity(0, map(int, arguments.cores.split(",")))
    return Warden(arguments.command, arguments.grace).run()


if __name__ == "__main__":
    sys.exit(main())
