"""Release processes that answer lines with lines: a few at a time, and none outlives the block that uses them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from selectors import EVENT_READ, DefaultSelector
from types import TracebackType
from typing import IO

from gdnbench.oracle.environment import ReleaseProcess
from gdnbench.values.errors import EnvironmentMissing

AT_ONCE = 2
"""Each holds a whole vLLM in memory, and fills a core."""


class Workers:
    """Processes of one module, a list of lines for each; used as a context manager.

    Args:
        module: what they run; it answers each line of its input with one line.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._queue: list[tuple[ReleaseProcess, Sequence[str]]] = []
        self._running = DefaultSelector()

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for key in list(self._running.get_map().values()):
            key.data.end()
        self._running.close()

    def queue(self, process: ReleaseProcess, lines: Sequence[str]) -> None:
        """Adds a process and what it is to be asked."""
        self._queue.append((process, lines))

    def answers(self) -> Iterator[str]:
        """The answers of all processes, as they come.

        Raises:
            EnvironmentMissing: a process ended before it had answered all.
        """
        while self._queue or self._running.get_map():
            while self._queue and len(self._running.get_map()) < AT_ONCE:
                worker = Worker(*self._queue.pop(0), self._module)
                self._running.register(worker.stdout, EVENT_READ, worker)
            for key, _ in self._running.select():
                worker = key.data
                yield from worker.read()
                if worker.ended:
                    self._running.unregister(worker.stdout)
                    worker.end()
                    worker.check()


class Worker:
    """One process, started with all its lines."""

    def __init__(self, process: ReleaseProcess, lines: Sequence[str], module: str) -> None:
        self.release = process.release
        self.ended = False
        self._awaited = len(lines)
        self._partial = b""
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        with tempfile.TemporaryFile() as stdin:
            stdin.write("".join(f"{line}\n" for line in lines).encode())
            stdin.seek(0)
            self._process = subprocess.Popen(
                process.command(module), env=process.env, stdin=stdin, stdout=subprocess.PIPE, stderr=self._log
            )
        assert self._process.stdout is not None
        self.stdout = self._process.stdout

    def read(self) -> list[str]:
        """The lines that are whole by now; `ended` is set at the end of the output."""
        block = os.read(self.stdout.fileno(), 1 << 16)
        self.ended = not block
        *lines, self._partial = (self._partial + block).split(b"\n")
        self._awaited -= len(lines)
        return [line.decode() for line in lines]

    def end(self) -> None:
        """Ends the process, if it still runs, and keeps what it said on standard error."""
        if not self.ended:
            self._process.kill()
        self._status = self._process.wait()
        self._log.seek(0)
        self._said = self._log.read().decode(errors="replace").strip().splitlines()
        self._log.close()
        self.stdout.close()

    def check(self) -> None:
        """Raises EnvironmentMissing where answers are owed."""
        if self._awaited:
            reason = self._said[-1] if self._said else "it said nothing"
            raise EnvironmentMissing(f"the process of vLLM {self.release} ended with status {self._status}: {reason}")
