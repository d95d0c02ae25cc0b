"""Step cost: one warm step, counted the same each time, every mistake seen."""

from __future__ import annotations

import pytest
import torch

from gdnbench.devices.operations import Costs
from gdnbench.drivers.base import Driver
from gdnbench.drivers.registry import PARTS, load
from gdnbench.probes.cost import step_costs
from gdnbench.values.scenarios import parse

DECODE = parse("4q1s1k")


class Lengths(Driver):
    """Query lengths from offsets, staged into a buffer that the first step makes."""

    part = "lengths"
    buffer = None

    def inputs(self):
        return self.device.put(torch.arange(5, dtype=torch.int32))

    def run(self, inputs):
        if self.buffer is None:
            self.buffer = torch.zeros(8, dtype=torch.int32, device=self.device.torch_device)
        self.buffer[:4].copy_(inputs[1:] - inputs[:-1], non_blocking=True)
        return self.buffer[:4]

    def fields(self, inputs, result):
        return {"lengths": result}


class Looks(Lengths):
    """The same with a look at the device."""

    def run(self, inputs):
        result = super().run(inputs)
        assert result[0].item() == 1
        return result


class SendsPageable(Lengths):
    def inputs(self):
        return super().inputs(), torch.ones(4, dtype=torch.int32)

    def run(self, inputs):
        device, host = inputs
        super().run(device)
        return host.to(self.device.torch_device, non_blocking=True)


class SendsPinned(SendsPageable):
    def inputs(self):
        device, host = super().inputs()
        return device, host.pin_memory()


def costs(driver):
    return step_costs(lambda device: driver("after", DECODE, device))


def test_one_warm_step_is_counted():
    step = costs(Lengths)
    assert step.costs == Costs(device_ops=2, alloc_bytes=16)
    assert [operation.kind for operation in step.operations] == ["view", "view", "view", "device", "device", "view"]
    assert step.costs == Costs.of(step.operations)


def test_counting_twice_gives_the_same():
    assert costs(Lengths) == costs(Lengths)


def test_a_look_at_the_device_is_a_sync():
    sound, faulty = costs(Lengths).costs, costs(Looks).costs
    assert (sound.syncs, sound.d2h) == (0, 0)
    assert (faulty.syncs, faulty.d2h) == (1, 1)
    assert faulty.device_ops == sound.device_ops


def test_pageable_memory_is_a_sync_and_pinned_is_not():
    pageable, pinned = costs(SendsPageable).costs, costs(SendsPinned).costs
    assert (pageable.h2d_pageable, pageable.h2d_pinned, pageable.syncs) == (1, 0, 1)
    assert (pinned.h2d_pageable, pinned.h2d_pinned, pinned.syncs) == (0, 1, 0)


GDN_CHANGES = {51913: "16q1s1k", 52078: "16q9s1kd8", 55404: "16q1s1k/capture", 51565: "16q1s1k"}


def sides(change, scenario, wrap=lambda driver: driver):
    driver = wrap(load(PARTS[change][0].ours))
    return [step_costs(lambda device, s=state: driver(s, parse(scenario), device)) for state in ("before", "after")]


def named(step, operation):
    return sum(one.name.startswith(f"aten.{operation}.") for one in step.operations)


@pytest.mark.parametrize("change", GDN_CHANGES, ids=lambda change: f"pr{change}")
def test_after_the_change_nothing_waits(change):
    after = sides(change, GDN_CHANGES[change])[1].costs
    assert (after.syncs, after.d2h, after.h2d_pageable) == (0, 0, 0)


@pytest.mark.parametrize("change", GDN_CHANGES, ids=lambda change: f"pr{change}")
def test_an_item_in_the_builder_is_seen(change):
    def with_item(driver):
        class Faulty(driver):
            def run(self, inputs):
                groups = inputs.groups
                assert groups[0].query_start_loc[0].item() == 0
                return super().run(inputs)

        return Faulty

    sound, faulty = sides(change, GDN_CHANGES[change])[1], sides(change, GDN_CHANGES[change], with_item)[1]
    assert faulty.costs.syncs == sound.costs.syncs + 1


@pytest.mark.parametrize("scenario", ["q1s1k", "16q1s1k", "16q1s1k/eager", "16q9s1kd8", "13q1s1k_3pad"])
def test_pr51913_spares_a_decode_two_subtractions(scenario):
    before, after = sides(51913, scenario)
    assert before.costs.device_ops - after.costs.device_ops == 2
    assert named(before, "sub") - named(after, "sub") == 2


@pytest.mark.parametrize("scenario", ["q2k", "15q1s1k_q2k"])
def test_pr51913_spares_a_prefill_nothing(scenario):
    before, after = sides(51913, scenario)
    assert before.costs == after.costs


def test_pr51913_saves_in_every_group():
    before, after = sides(51913, "16q1s1k/g30")
    assert before.costs.device_ops - after.costs.device_ops == 60


@pytest.mark.parametrize("scenario", ["q9s1kd8", "16q9s1kd8", "8q9s1kd8_6q1s1k_2q128"])
def test_pr52078_compares_once_instead_of_twice(scenario):
    before, after = sides(52078, scenario)
    assert (named(before, "ge"), named(after, "ge")) == (2, 1)
    assert before.costs.device_ops == after.costs.device_ops
    assert after.costs.host_ops < before.costs.host_ops


@pytest.mark.parametrize("scenario", ["16q1s1k/capture", "16q9s1k/spec8/capture"])
def test_pr55404_copies_nothing_back(scenario):
    before, after = sides(55404, scenario)
    assert (before.costs.d2h, before.costs.syncs) == (1, 1)
    assert (after.costs.d2h, after.costs.syncs) == (0, 0)


@pytest.mark.parametrize("scenario", ["q1s1k", "16q1s1k", "16q1s1k/g30"])
def test_pr51565_adds_host_work_alone(scenario):
    before, after = sides(51565, scenario)
    assert before.costs.device_ops == after.costs.device_ops
    assert after.costs.host_ops > before.costs.host_ops
