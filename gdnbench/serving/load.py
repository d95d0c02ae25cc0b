"""The load generator, seen from the harness: vLLM's own benchmark in a process of its own that keeps between blocks.

with LoadGenerator(process, log) as load:      # imports while the server starts
    load.prepare(...)
    reply = load.block(indices, 16, "1-7", timeout_s=300, server=server)
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdnbench.campaign.pipes import raise_failure
from gdnbench.campaign.processes import PythonProcess
from gdnbench.serving.failures import ServerFailed, ending
from gdnbench.serving.logs import begin_log, last_line
from gdnbench.serving.records import Acceptance
from gdnbench.serving.server import Server

if TYPE_CHECKING:
    from gdnbench.workloads.selection import Request

READY_S = 300.0
"""For the import of vLLM and the tokenizer."""
POLL_S = 0.5
LOOK_S = 20.0
"""So often a server under load is asked whether it makes progress: seldom enough that it costs nothing."""
HANG_S = 120.0
"""Without progress for so long, a server hangs."""


@dataclass(frozen=True, slots=True)
class BlockReply:
    """What vLLM's benchmark measured of a block.

    Attributes:
        duration_s: from the first request sent to the last token received.
        sent, completed, failed: requests.
        empty: requests that succeeded with no token.
        input_tokens, output_tokens: of completed requests.
        figures: by vLLM's names; None where there was no sample.
        samples: of `ttft`, `tpot`, `itl`, `e2el`, in milliseconds, in the order of the requests.
        acceptance: None without speculation.
        prompts, texts: digests of what was sent and what came back.
        errors: what failed requests said, a few of them.
    """

    duration_s: float
    sent: int
    completed: int
    failed: int
    empty: int
    input_tokens: int
    output_tokens: int
    figures: Mapping[str, float | None]
    samples: Mapping[str, list[float]]
    acceptance: Acceptance | None
    prompts: str
    texts: str
    errors: tuple[str, ...]


class LoadGenerator:
    """A process of vLLM's benchmark; it ends with the block of the `with` statement, and with this process.

    Enter it from a thread that lives as long as it does: the system ends it with the thread that started it.

    Args:
        process: the Python of the release whose benchmark it is.
        log: where everything goes that it prints.
        cores: what it is bound to; None to leave that to the system.
        hang_s: a server that makes no progress for so long during a block hangs.
    """

    def __init__(
        self, process: PythonProcess, log: Path, cores: tuple[int, ...] | None = None, *, hang_s: float = HANG_S
    ) -> None:
        self.log = log
        self._process = process
        self._cores = cores
        self._hang_s = hang_s
        self._child: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._output_lens: list[int] = []

    def __enter__(self) -> LoadGenerator:
        cores = [] if self._cores is None else ["--cores", ",".join(map(str, self._cores))]
        command = self._process.command("gdnbench.serving.load_process", *cores)
        # a proxy would stand between it and the loopback
        env = {name: value for name, value in self._process.env.items() if not name.lower().endswith("_proxy")}
        try:
            with begin_log(self.log, command) as log:
                self._child = subprocess.Popen(
                    command,
                    env=env,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            raise ServerFailed(f"the load generator cannot be started: {error.strerror}: {self.log}") from None
        return self

    def __exit__(self, *_: object) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def prepare(
        self,
        *,
        url: str,
        key: str,
        model: str,
        tokenizer: str,
        requests: Sequence[Request],
        sampling: Mapping[str, Any],
        ignore_eos: bool,
        timeout_s: float = READY_S,
    ) -> None:
        """Tell it what all blocks have in common, and wait until it is ready.

        Args:
            url, key, model: of the server, and what it calls its model.
            tokenizer: directory of one.
            requests: those that blocks choose from.
            sampling: sent with every request, such as `{"temperature": 0}`.
            ignore_eos: generate to the full length, whatever comes.

        Raises:
            ServerFailed: it died, or was not ready in time.
        """
        self._output_lens = [request.output_len if ignore_eos else 0 for request in requests]
        prompts = [[request.prompt, request.prompt_len, request.output_len] for request in requests]
        server = {"url": url, "key": key, "model": model, "tokenizer": tokenizer}
        common = {"prompts": prompts, "sampling": dict(sampling), "ignore_eos": ignore_eos}
        self._call({"prepare": server | common}, timeout_s, None)

    def block(
        self, indices: Sequence[int], concurrency: int, prefix: str, *, timeout_s: float, server: Server
    ) -> BlockReply:
        """Send a block of requests and wait for its figures.

        Args:
            indices: of the requests, in this order.
            concurrency: requests in flight at most.
            prefix: of the requests' identifiers, another for each block.
            timeout_s: after which the block counts as hung.
            server: to which they go; it is watched meanwhile.

        Raises:
            ServerFailed: the server or the load generator died or hung.
        """
        arguments = {"indices": list(indices), "concurrency": concurrency, "prefix": prefix}
        found = self._call({"block": arguments}, timeout_s, server)
        if found["failed"] or found["output_tokens"] < sum(self._output_lens[index] for index in indices):
            server.check()  # one whose engine died ends its answers early
        acceptance = found["acceptance"]
        return BlockReply(
            **{
                **found,
                "acceptance": None if acceptance is None else Acceptance(**acceptance),
                "errors": tuple(found["errors"]),
            }
        )

    def _call(self, request: Mapping[str, Any], timeout_s: float, server: Server | None) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        self._write((json.dumps(request) + "\n").encode(), deadline)
        line = self._read_line(deadline, server)
        if line is None:
            raise self._failed(f"gave no answer in {timeout_s:g} s", server)
        reply = json.loads(line)
        try:
            raise_failure(reply)
        except RuntimeError as error:
            raise self._failed(f"failed: {error}", server) from None
        result: dict[str, Any] = reply["result"]
        return result

    def _write(self, line: bytes, deadline: float) -> None:
        """Hand a request over, as far as the child takes it: who does not read it does not answer either."""
        assert self._child is not None and self._child.stdin is not None, "the load generator was not started"
        requests = self._child.stdin.fileno()
        os.set_blocking(requests, False)
        with suppress(BrokenPipeError):
            while line and time.monotonic() < deadline:
                if select.select([], [requests], [], POLL_S)[1]:
                    line = line[os.write(requests, line) :]

    def _read_line(self, deadline: float, server: Server | None) -> bytes | None:
        """The next line of the child, None if there is none in time; meanwhile the server is watched."""
        assert self._child is not None and self._child.stdout is not None
        replies = self._child.stdout.fileno()
        watch = None if server is None else _Watch(server, self._hang_s)
        while b"\n" not in self._unread:
            ready, _, _ = select.select([replies], [], [], POLL_S)
            if ready:
                got = os.read(replies, 1 << 20)
                if not got:
                    raise self._failed(f"died ({ending(self._child.wait())})", server)
                self._unread += got
            elif time.monotonic() > deadline:
                return None
            elif watch is not None:
                watch.look()
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _failed(self, what: str, server: Server | None) -> ServerFailed:
        if server is not None:
            server.check()  # a dead server is the better reason
        lives = "" if server is None else "; the server lives"
        return ServerFailed(f"the load generator {what}{lives}; last line {last_line(self.log)!r}; its log: {self.log}")


class _Watch:
    """Sees that a server under load lives and makes progress."""

    def __init__(self, server: Server, hang_s: float) -> None:
        self._server = server
        self._hang_s = hang_s
        self._every = min(LOOK_S, hang_s / 3)
        self._progress = -1
        self._looked = self._moved = time.monotonic()

    def look(self) -> None:
        now = time.monotonic()
        if not self._server.alive():
            self._server.check()
        if now - self._looked < self._every:
            return
        progress, self._looked = self._server.metrics().progress, now
        if progress != self._progress:
            self._progress, self._moved = progress, now
        elif now - self._moved > self._hang_s:
            raise self._server.hung(self._hang_s)
