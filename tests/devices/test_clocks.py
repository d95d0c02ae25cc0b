from __future__ import annotations

import time
import weakref
from typing import Any

import pytest
import torch

from gdnbench.devices.base import CpuDevice, CudaDevice
from gdnbench.devices.clocks import HostClock, clocks

NO_WAIT = b""
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def test_a_cpu_has_the_host_clock_alone() -> None:
    assert [clock.metric for clock in clocks(CpuDevice())] == ["host_time"]


def test_the_host_clock_times_the_step_and_its_wait() -> None:
    clock = HostClock()
    slept = clock.time(time.sleep, 0.002, NO_WAIT)
    assert 2_000_000 <= slept < 200_000_000
    quick = min(clock.time(abs, 1, NO_WAIT) for _ in range(20))
    waiting = min(clock.time(abs, 1, bytes(10_000)) for _ in range(20))
    assert quick < 50_000
    assert waiting > quick + 20_000


def test_a_result_lives_until_the_clock_has_stopped() -> None:
    """Freeing the result is not the step's work, but nothing must keep it either."""

    class Result:
        pass

    seen: list[weakref.ref[Result]] = []

    def step(inputs: Any) -> Result:
        result = Result()
        seen.append(weakref.ref(result))
        return result

    HostClock().time(step, None, NO_WAIT)
    assert seen[0]() is None


def test_other_devices_have_no_clock() -> None:
    class Traced(CpuDevice):
        name = "traced"

    with pytest.raises(ValueError, match="traced"):
        clocks(Traced())


@needs_gpu
def test_a_blocking_step_shows_on_the_busy_clock_alone() -> None:
    idle, busy, _ = clocks(CudaDevice())
    x = torch.ones(16, device="cuda")
    for clock in (idle, busy):
        clock.time(lambda inputs: inputs.sum().item(), x, NO_WAIT)
    waits = busy.time(lambda inputs: inputs.sum().item(), x, NO_WAIT)
    passes = busy.time(lambda inputs: inputs.sum(), x, NO_WAIT)
    assert waits > 700_000 > passes
    assert idle.time(lambda inputs: inputs.sum().item(), x, NO_WAIT) < 700_000


@needs_gpu
def test_device_time_holds_no_launch_gaps() -> None:
    *_, device = clocks(CudaDevice())
    x = torch.ones(16, device="cuda")

    def step(inputs: torch.Tensor) -> list[torch.Tensor]:
        return [inputs + 1 for _ in range(20)]

    device.time(step, x, NO_WAIT)
    assert 0 < device.time(step, x, NO_WAIT) < 20 * 10_000
