"""Clocks: how long one step takes, in nanoseconds, on the host and on an accelerator.

    host_time        the call as the host sees it, nothing else queued
    host_time_busy   the same while the accelerator works: what a blocking step waits for shows here
    device_time      what the accelerator spends on the step, its launches queued beforehand

On a CPU there is `host_time` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from time import perf_counter_ns
from typing import Any, Protocol

import torch

from gdnbench.devices.base import Device

Step = Callable[[Any], Any]

SPIN_NS = 1_000_000
"""How long the accelerator is kept busy for a step of one KV group: longer than the host needs to queue it."""
SPIN_NS_PER_GROUP = 400_000
"""And for each further group."""


class Clock(Protocol):
    """Times single steps. What the step returns is freed after the clock has stopped."""

    metric: str

    def time(self, step: Step, inputs: Any, wait: bytes) -> int:
        """Nanoseconds that `step(inputs)` takes, and a busy wait of `len(wait)` idle loops behind it."""

    def drain(self) -> None:
        """Wait until nothing is queued any more: called before a block."""


class HostClock:
    """The host's monotonic clock around a call on the CPU."""

    metric = "host_time"

    def time(self, step: Step, inputs: Any, wait: bytes) -> int:
        start = perf_counter_ns()
        result = step(inputs)
        for _ in wait:
            pass
        stop = perf_counter_ns()
        del result
        return stop - start

    def drain(self) -> None:
        pass


class CudaIdleClock(HostClock):
    """The host's time of a call whose stream is idle when it begins."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def time(self, step: Step, inputs: Any, wait: bytes) -> int:
        torch.cuda.synchronize(self.device)
        return super().time(step, inputs, wait)

    def drain(self) -> None:
        torch.cuda.synchronize(self.device)


class CudaBusyClock(CudaIdleClock):
    """The host's time of a call while the stream still spins: a step that blocks waits for the spin's end."""

    metric = "host_time_busy"

    def __init__(self, device: torch.device, kv_groups: int) -> None:
        super().__init__(device)
        self.spin_cycles = spin_cycles(device, kv_groups)

    def time(self, step: Step, inputs: Any, wait: bytes) -> int:
        torch.cuda.synchronize(self.device)
        torch.cuda._sleep(self.spin_cycles)  # type: ignore[no-untyped-call]
        start = perf_counter_ns()
        result = step(inputs)
        for _ in wait:
            pass
        stop = perf_counter_ns()
        del result
        return stop - start


class CudaDeviceClock(CudaBusyClock):
    """The accelerator's time between two events around the step, queued behind a spin so that it never starves.

    A step that blocks cannot be queued ahead; its time then holds the gaps in which the accelerator waits for the host.
    A busy wait keeps the host, so it is not seen here.
    """

    metric = "device_time"

    def time(self, step: Step, inputs: Any, wait: bytes) -> int:
        start, stop = _event(), _event()
        torch.cuda.synchronize(self.device)
        torch.cuda._sleep(self.spin_cycles)  # type: ignore[no-untyped-call]
        start.record()
        result = step(inputs)
        for _ in wait:
            pass
        stop.record()
        torch.cuda.synchronize(self.device)
        del result
        return round(float(start.elapsed_time(stop)) * 1e6)


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


@lru_cache
def cycles_per_millisecond(device: torch.device) -> float:
    """How many cycles of its clock the accelerator spins in a millisecond, measured once per process."""
    cycles = 20_000_000
    start, stop = _event(), _event()
    torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]
    start.record()
    torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]
    stop.record()
    torch.cuda.synchronize(device)
    return cycles / float(start.elapsed_time(stop))


def spin_cycles(device: torch.device, kv_groups: int) -> int:
    """The cycles of a spin that outlasts the queueing of a step of `kv_groups` groups."""
    nanoseconds = SPIN_NS + SPIN_NS_PER_GROUP * (kv_groups - 1)
    return round(cycles_per_millisecond(device) * nanoseconds / 1e6)


def clocks(device: Device, kv_groups: int = 1) -> tuple[Clock, ...]:
    """The clocks of a device, the one that decides by default first.

    Args:
        device: a real one; the traced accelerator has no time.
        kv_groups: of the scenario, which the spin must outlast.
    """
    if device.name == "cpu":
        return (HostClock(),)
    if device.name == "cuda":
        where = device.torch_device
        return CudaIdleClock(where), CudaBusyClock(where, kv_groups), CudaDeviceClock(where, kv_groups)
    raise ValueError(f"nothing can be timed on the device {device.name!r}")
