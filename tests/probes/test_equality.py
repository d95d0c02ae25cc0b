"""Equality: each way in which two results can differ is told apart, and inputs are watched."""

from __future__ import annotations

import pytest
import torch

from gdnbench.devices.base import CpuDevice
from gdnbench.devices.traced import TracedDevice
from gdnbench.drivers.base import Driver
from gdnbench.probes.equality import Difference, compare, difference
from gdnbench.values.scenarios import parse

DECODE = parse("4q1s1k")
DEVICES = [CpuDevice, TracedDevice]
if torch.cuda.is_available():
    from gdnbench.devices.base import CudaDevice

    DEVICES.append(CudaDevice)


class Lengths(Driver):
    """Query lengths, on the device and on the host, and how many there are."""

    part = "lengths"

    def inputs(self):
        starts = torch.tensor([0, 1, 3, 6, 10], dtype=torch.int32)
        return {"starts": self.device.put(starts), "starts_host": starts}

    def run(self, inputs):
        starts, host = inputs["starts"], inputs["starts_host"]
        return {"lengths": starts[1:] - starts[:-1], "host": host[1:] - host[:-1], "count": 4, "extra": None}

    def fields(self, inputs, result):
        return result

    def watched(self, inputs):
        return inputs


def altered(change, base=Lengths):
    """A driver whose result is changed by `change(driver, result)`."""

    class Altered(base):
        def run(self, inputs):
            result = super().run(inputs)
            change(self, result)
            return result

    return Altered


def between(before, after, make=CpuDevice):
    device = make()
    with device.active(), torch.inference_mode():
        return compare(before("before", DECODE, device), after("after", DECODE, device))


@pytest.mark.parametrize("make", DEVICES)
def test_the_same_is_the_same(make):
    assert between(Lengths, Lengths, make) == []


def one_off(driver, result):
    result["lengths"][2] += 1


def transposed(driver, result):
    result["lengths"] = result["lengths"].view(2, 2)


CHANGES = {
    "a value": (one_off, "lengths: before 3 at [2], after 4 (1 of 4 differ)"),
    "a dtype": (
        lambda driver, result: result.update(lengths=result["lengths"].long()),
        "lengths: before int32 (4,) {place}, after int64 (4,) {place}",
    ),
    "a shape": (transposed, "lengths: before int32 (4,) {place}, after int32 (2, 2) {place}"),
    "none": (
        lambda driver, result: result.update(lengths=None),
        "lengths: before int32 (4,) {place}, after None",
    ),
    "not none": (lambda driver, result: result.update(extra=0), "extra: before None, after 0"),
    "a number": (lambda driver, result: result.update(count=5), "count: before 4, after 5"),
    "a type": (lambda driver, result: result.update(count=4.0), "count: before 4, after 4.0"),
    "a missing field": (lambda driver, result: result.pop("count"), "count: before has it, after lacks it"),
    "a new field": (lambda driver, result: result.update(more=1), "more: before lacks it, after has it"),
}


@pytest.mark.parametrize("make", DEVICES)
@pytest.mark.parametrize("name", CHANGES)
def test_a_difference_is_told(name, make):
    change, line = CHANGES[name]
    place = "on the host" if make is CpuDevice else "on cuda"
    assert [str(one) for one in between(Lengths, altered(change), make)] == [line.format(place=place)]


@pytest.mark.parametrize("make", DEVICES[1:])
def test_the_wrong_device_is_told(make):
    def moved(driver, result):
        result["lengths"], result["host"] = result["lengths"].cpu(), result["host"].to(driver.device.torch_device)

    assert [str(one) for one in between(Lengths, altered(moved), make)] == [
        "lengths: before int32 (4,) on cuda, after int32 (4,) on the host",
        "host: before int32 (4,) on the host, after int32 (4,) on cuda",
    ]


class Overwrites(Lengths):
    def run(self, inputs):
        result = super().run(inputs)
        inputs["starts"][0] = 7
        return result


@pytest.mark.parametrize("make", DEVICES)
def test_a_changed_input_is_told_of_either_side(make):
    changed = "changed from 0 at [0] to 7 (1 of 5 differ)"
    assert between(Overwrites, Lengths, make) == [Difference("input starts", changed, "left as it was")]
    assert between(Lengths, Overwrites, make) == [Difference("input starts", "left as it was", changed)]


class Remembers(Lengths):
    """Right in its first step only."""

    steps = 0

    def run(self, inputs):
        self.steps += 1
        return super().run(inputs) | {"count": 3 + self.steps}


def test_what_an_earlier_step_leaves_behind_is_met():
    assert [str(one) for one in between(Lengths, Remembers)] == ["count: before 4, after 5"]


class Free(Lengths):
    def may_differ(self, field):
        return field == "count"


def test_what_may_differ_is_left_out():
    assert between(Free, altered(CHANGES["a number"][0])) == []
    assert between(Free, altered(CHANGES["a missing field"][0])) == []
    assert between(Free, altered(one_off)) != []


def test_two_values_in_one_line():
    device = CpuDevice()
    assert difference(torch.tensor([1, 2]), torch.tensor([1, 2]), device) is None
    assert difference(torch.tensor([1, 2]), torch.tensor([1, 3]), device) == "2 at [1] against 3 (1 of 2 differ)"
    assert difference(True, 1, device) == "True against 1"
    assert difference(torch.tensor(1), torch.tensor(2), device) == "1 at [] against 2 (1 of 1 differ)"
