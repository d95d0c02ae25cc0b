from __future__ import annotations

import gc
from collections.abc import Mapping
from statistics import median
from typing import Any

import pytest
import torch

from gdnbench.devices.base import CpuDevice
from gdnbench.drivers.base import Driver, Value
from gdnbench.probes.digest import field_digests
from gdnbench.probes.step_time import Block, StepTimer, idle_loop_ns
from gdnbench.values.scenarios import parse
from gdnbench.values.variants import Handicap

SCENARIO = parse("16q1s1k")


class Adds(Driver):
    """Adds one a few times, and remembers under what conditions it was called."""

    part = "sample"

    def __init__(self, state: str = "before") -> None:
        super().__init__(state, SCENARIO, CpuDevice())
        self.given: list[torch.Tensor] = []
        self.conditions: set[tuple[bool, bool]] = set()

    def inputs(self) -> torch.Tensor:
        self.given.append(torch.zeros(16))
        return self.given[-1]

    def run(self, inputs: torch.Tensor) -> torch.Tensor:
        self.conditions.add((torch.is_inference_mode_enabled(), gc.isenabled()))
        for _ in range(10):
            inputs = inputs + 1
        return inputs

    def fields(self, inputs: Any, result: torch.Tensor) -> Mapping[str, Value]:
        return {"sum": result, "size": 16, "scratch": torch.rand(3)}

    def may_differ(self, field: str) -> bool:
        return field == "scratch"


def test_each_step_gets_inputs_of_its_own_and_warm_up_does_not_count() -> None:
    driver = Adds()
    block = StepTimer(driver).block("host_time", steps=7, warmup=3)
    assert len(block.ns) == 7 and all(ns > 0 for ns in block.ns)
    assert len({id(given) for given in driver.given}) == 10
    assert all(bool((given == 0).all()) for given in driver.given)


def test_steps_run_in_inference_mode_with_garbage_collection_off() -> None:
    driver = Adds()
    StepTimer(driver).block("host_time", 3, 1)
    assert driver.conditions == {(True, False)}
    assert gc.isenabled() and not torch.is_inference_mode_enabled()


def test_the_median_of_a_block() -> None:
    assert Block((1, 9, 2, 3)).median_ns == 2.5


@pytest.mark.parametrize("handicap", [Handicap(100, "%"), Handicap(50, "us")])
def test_a_handicap_slows_the_step_by_what_it_says(handicap: Handicap) -> None:
    """Wide bounds, since other work shares the machine; the calibration of campaigns holds it to narrow ones."""
    timer, slow = StepTimer(Adds()), StepTimer(Adds())
    slow.wait = bytes(timer.wait_loops(handicap))
    ratios, differences = [], []
    for _ in range(60):
        before, after = timer.block("host_time", 5, 1).median_ns, slow.block("host_time", 5, 1).median_ns
        ratios.append(after / before)
        differences.append((after - before) / 1000)
    if handicap.unit == "%":
        assert 1.7 < median(ratios) < 2.3
    else:
        assert 20 < median(differences) < 125


def test_an_idle_loop_takes_a_few_nanoseconds() -> None:
    assert 0.5 < median(idle_loop_ns() for _ in range(50)) < 500


def test_digests_tell_values_types_and_shapes_apart() -> None:
    class Doubles(Adds):
        def run(self, inputs: torch.Tensor) -> torch.Tensor:
            return super().run(inputs).double()

    class Differs(Adds):
        def run(self, inputs: torch.Tensor) -> torch.Tensor:
            result = super().run(inputs)
            result[3] += 1
            return result

    same, again = field_digests(Adds()), field_digests(Adds())
    assert same == again and same.keys() == {"sum", "size"}
    assert field_digests(Doubles())["sum"] != same["sum"]
    assert field_digests(Differs())["sum"] != same["sum"]
    assert field_digests(Differs())["size"] == same["size"]
