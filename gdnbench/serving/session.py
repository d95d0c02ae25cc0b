"""One server with its load generator: passes that are thrown away, and blocks that count."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gdnbench.plugin.control import Control, Snapshot
from gdnbench.serving.failures import ServerFailed
from gdnbench.serving.load import BlockReply, LoadGenerator
from gdnbench.serving.logs import COMPILES
from gdnbench.serving.plan import Load, ServePlan
from gdnbench.serving.records import Block, Pooled
from gdnbench.serving.server import Server
from gdnbench.values.coverage import Builds

UNPATCHED = "unpatched"
"""The role of the server's own builder, which runs a few requests before any side is switched in."""

BLOCK_TIMEOUT_S = 300.0
IDLE_TIMEOUT_S = 30.0
SETTLED_S = 0.005
"""For so long no step may begin before the engine counts as idle: a step ahead of the last answer would be late."""

Tick = Callable[[], None]
"""Called after each block, those that do not count included."""


@dataclass
class Session:
    """A running server under load.

    Attributes:
        plan, number: of the campaign, and of this launch.
        clock: when the launch began, `time.monotonic`.
    """

    plan: ServePlan
    number: int
    server: Server
    load: LoadGenerator
    control: Control
    clock: float
    tick: Tick
    blocks: list[Block] = field(default_factory=list)
    _samples: dict[tuple[str, int, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    _count: int = 0
    _log_before: int = 0
    _before: Snapshot | None = None

    def warm_up(self, load: Load, rounds: Sequence[Sequence[int]], role: str, compare: bool) -> None:
        """Sends every request of a load once, at its concurrency; nothing of it counts.

        Args:
            rounds: the requests of each round.
            role: whose builder answers the engine.
            compare: whether both sides build each step and are held against each other.
        """
        once = list(dict.fromkeys(index for indices in rounds for index in indices))
        self._send(role, load, once, compare=compare)
        self.tick()

    def builds_per_step(self, role: str, load: Load, indices: Sequence[int]) -> float:
        """Builds divided by steps that built, over a few requests that do not count."""
        before = self.control.snapshot()
        self._send(role, load, indices)
        seen = self.control.snapshot().since(before)
        return seen.builds(role) / seen.steps_built if seen.steps_built else 0.0

    def measure(self, role: str, load: Load, number: int, indices: Sequence[int]) -> None:
        """One block that counts.

        Args:
            number: of the round.
            indices: of its requests.
        """
        if self._before is None:
            self._log_before, self._before = self.server.log.stat().st_size, self.control.snapshot()
        started = time.monotonic() - self.clock
        before = self.control.snapshot()
        reply = self._send(role, load, indices, alternate=self.plan.observation)
        seen = self.control.snapshot().since(before)
        self.blocks.append(_block(role, load, number, started, reply, seen))
        for metric, values in reply.samples.items():
            self._samples[role, load.concurrency, metric] += values
        self.tick()

    def pooled(self) -> tuple[Pooled, ...]:
        """The samples of all blocks of a side together."""
        return tuple(
            _pooled(role, concurrency, metric, values)
            for (role, concurrency, metric), values in self._samples.items()
            if values
        )

    def coverage(self, role: str) -> tuple[Builds, ...]:
        """Builds of a side in the blocks that count."""
        return () if self._before is None else self.control.snapshot().since(self._before).coverage(role)

    def notes(self) -> tuple[str, ...]:
        """Lines of the server's log, written while blocks were measured, that tell of compilation."""
        with self.server.log.open("rb") as log:
            log.seek(self._log_before)
            lines = log.read(1 << 20).decode(errors="replace").splitlines()
        return tuple([line.strip()[:300] for line in lines if COMPILES.search(line)][:5])

    def _send(
        self, role: str, load: Load, indices: Sequence[int], *, compare: bool = False, alternate: bool = False
    ) -> BlockReply:
        """Switches to a side while the engine is idle, sends requests, and waits until it is idle again."""
        self._count += 1
        self.control.command(role, self._count, compare=compare, alternate=alternate)
        reply = self.load.block(
            indices, load.concurrency, f"{self.number}-{self._count}", timeout_s=BLOCK_TIMEOUT_S, server=self.server
        )
        self._wait_idle()
        return reply

    def _wait_idle(self) -> None:
        deadline = time.monotonic() + IDLE_TIMEOUT_S
        begun, since = -1, time.monotonic()
        while True:
            now, seen = time.monotonic(), self.control.snapshot()
            if seen.steps_begun != begun or seen.steps_ended != begun:
                begun, since = seen.steps_begun, now
            elif now - since >= SETTLED_S:
                return
            if now > deadline:
                self.server.check()
                raise ServerFailed(
                    f"the engine was not idle {IDLE_TIMEOUT_S:g} s after its last answer; log: {self.server.log}"
                )
            time.sleep(0.001)


def _block(role: str, load: Load, number: int, started: float, reply: BlockReply, seen: Snapshot) -> Block:
    return Block(
        role=role,
        concurrency=load.concurrency,
        round=number,
        started=round(started, 4),
        duration_s=reply.duration_s,
        sent=reply.sent,
        completed=reply.completed,
        failed=reply.failed,
        empty=reply.empty,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        figures=reply.figures,
        samples={metric: len(values) for metric, values in reply.samples.items()},
        acceptance=reply.acceptance,
        prompts=reply.prompts,
        texts=reply.texts,
        builds={name: builds for name in seen.roles if (builds := seen.builds(name))},
        mixed_steps=seen.mixed_steps,
        pace_ns=seen.pace_ns,
        phases=tuple((phase.steps, round(phase.log_ns, 6)) for phase in seen.phases),
    )


def _pooled(role: str, concurrency: int, metric: str, values: Sequence[float]) -> Pooled:
    in_order = sorted(values)
    quantiles = tuple(round(percentile(in_order, percent), 4) for percent in range(101))
    return Pooled(role, concurrency, metric, len(values), percentile(in_order, 99), in_order[-1], quantiles)


def requests_of(load: Load, available: int, seed: str) -> list[list[int]]:
    """The requests of each round: a shuffled walk over those there are, again from the start when they run out."""
    order = list(range(available))
    random.Random(seed).shuffle(order)
    walk: Iterator[int] = (order[i % available] for i in range(load.rounds * load.requests))
    return [[next(walk) for _ in range(load.requests)] for _ in range(load.rounds)]


def percentile(in_order: Sequence[float], percent: float) -> float:
    """Of sorted values, as vLLM's benchmark takes it: linear between neighbours."""
    place = (len(in_order) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(in_order) - 1)
    return in_order[low] + (in_order[high] - in_order[low]) * (place - low)


def log_directory(root: Path, number: int) -> Path:
    """A new directory for the logs of a launch; one that was tried before keeps those of its first try."""
    for attempt in range(1, 1000):
        path = root / (f"{number:03}" if attempt == 1 else f"{number:03}-{attempt}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise ServerFailed(f"{root} holds a thousand tries of launch {number}: remove some")
