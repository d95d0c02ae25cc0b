"""Step cost: what one step asks of an accelerator, counted exactly and without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gdnbench.devices.base import Device
from gdnbench.devices.operations import Costs, Operation
from gdnbench.devices.traced import TracedDevice
from gdnbench.drivers.base import Driver

WARMING_STEPS = 2
"""Steps before the one that counts, so that buffers and caches exist as in a running server."""


@dataclass(frozen=True, slots=True)
class StepCosts:
    """The costs of one step, and the operations that they count, in order."""

    costs: Costs
    operations: tuple[Operation, ...]


def step_costs(make_driver: Callable[[Device], Driver]) -> StepCosts:
    """The costs of one warm step on fresh inputs; the same numbers on every call and every machine.

    Args:
        make_driver: makes the driver on the traced accelerator that it is given.
    """
    device = TracedDevice()
    with device.active(), torch.inference_mode():
        driver = make_driver(device)
        for _ in range(WARMING_STEPS):
            driver.run(driver.inputs())
        inputs = driver.inputs()
        with device.record() as trace:
            driver.run(inputs)
    return StepCosts(trace.costs(), trace.operations)
