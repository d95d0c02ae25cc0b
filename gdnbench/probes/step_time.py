"""Step time: how long one step of a driver takes, in short blocks that take turns with other drivers' blocks."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns

import torch

from gdnbench.devices.clocks import Clock, clocks
from gdnbench.drivers.base import Driver
from gdnbench.values.variants import Handicap


@dataclass(frozen=True, slots=True)
class Block:
    """A short run of steps of one side: nanoseconds of each, the warm-up left out."""

    ns: tuple[int, ...]

    @property
    def median_ns(self) -> float:
        return median(self.ns)


class StepTimer:
    """Times the steps of one driver, each on inputs made anew, under inference mode as in vLLM's model runner.

    Args:
        driver: made already, so that its buffers are those of a running server.
        wait_loops: a busy wait added to each step, in idle loops (see `wait_loops`).
    """

    def __init__(self, driver: Driver, wait_loops: int = 0) -> None:
        self.driver = driver
        self.wait = bytes(wait_loops)
        self.clocks: dict[str, Clock] = {
            clock.metric: clock for clock in clocks(driver.device, driver.scenario.kv_groups)
        }

    def block(self, metric: str, steps: int, warmup: int) -> Block:
        """One block: `warmup` steps that are thrown away, then `steps` that count.

        Args:
            metric: a key of `clocks`.
        """
        clock, inputs, step, wait = self.clocks[metric], self.driver.inputs, self.driver.run, self.wait
        with self.driver.device.active(), torch.inference_mode(), frozen_garbage():
            clock.drain()
            for _ in range(warmup):
                clock.time(step, inputs(), wait)
            return Block(tuple([clock.time(step, inputs(), wait) for _ in range(steps)]))

    def wait_loops(self, handicap: Handicap, steps: int = 8, seconds: float = 0.5) -> int:
        """The idle loops that make this driver's step slower by `handicap`, measured here and now.

        Loops, not nanoseconds, so that a share stays that share when the machine's speed changes: step and loop are
        measured in turns, and their ratio counts. Behind a step a wait costs more than its loops alone, since it starts
        and ends cold: some 0.1 us, which is 0.5 % of a step of 20 us. So the loops are corrected by what they really
        add, twice, in turns with blocks that do not wait, for about `seconds` each time.
        """
        metric, own_wait = next(iter(self.clocks)), self.wait

        def block_ns(loops: int) -> float:
            self.wait = bytes(loops)
            return self.block(metric, steps, warmup=2).median_ns

        alone, loop_ns = [], []
        for _ in range(60):
            loop_ns.append(idle_loop_ns())
            alone.append(handicap.nanoseconds(block_ns(0) / 1000) / loop_ns[-1])
        loops = round(median(alone))
        for _ in range(2):
            surplus: list[float] = []
            stop = perf_counter_ns() + round(seconds * 1e9)
            while perf_counter_ns() < stop or len(surplus) < 60:
                turns = (0, loops) if len(surplus) % 2 else (loops, 0)
                took = {turn: block_ns(turn) for turn in turns}
                surplus.append(took[loops] - took[0] - handicap.nanoseconds(took[0] / 1000))
            loops = max(1, loops - round(median(surplus) / median(loop_ns)))
        self.wait = own_wait
        return loops


def idle_loop_ns() -> float:
    """Nanoseconds of one idle loop, as the clocks wait: the difference between a long and a short wait."""

    def time(wait: bytes) -> float:
        times = []
        for _ in range(5):
            start = perf_counter_ns()
            for _ in wait:
                pass
            times.append(perf_counter_ns() - start)
        return median(times)

    short, long = bytes(50), bytes(1050)
    return (time(long) - time(short)) / (len(long) - len(short))


@contextmanager
def frozen_garbage() -> Iterator[None]:
    """No garbage collection inside: a collection would be charged to whoever's step it falls into."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
