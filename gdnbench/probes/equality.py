"""Equality: every field of two drivers' results is the same, and neither step changes its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from gdnbench.devices.base import Device
from gdnbench.drivers.base import Driver, Value

STEPS = 2
"""Steps of each driver: from the second on, buffers hold what an earlier step left."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not the same on both sides, and what each side has there."""

    field: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.field}: before {self.before}, after {self.after}"


def compare(before: Driver, after: Driver) -> list[Difference]:
    """What differs between two drivers of one scenario: names, None or not, device, dtype, shape, values; inputs, too.

    Fields that `before.may_differ` names are left out. Ends after the first step in which something differs.
    """
    found: list[Difference] = []
    for _ in range(STEPS):
        left, left_inputs = _step(before)
        right, right_inputs = _step(after)
        for field in [*left, *(name for name in right if name not in left)]:
            if before.may_differ(field):
                continue
            if field not in left or field not in right:
                found.append(Difference(field, _presence(field, left), _presence(field, right)))
            elif sides := _sides(left[field], right[field], before.device):
                found.append(Difference(field, *sides))
        for name in [*left_inputs, *(name for name in right_inputs if name not in left_inputs)]:
            sides = left_inputs.get(name, "left as it was"), right_inputs.get(name, "left as it was")
            found.append(Difference(f"input {name}", *sides))
        if found:
            break
    return found


def difference(left: Value, right: Value, device: Device) -> str | None:
    """How two values of one field differ, in one line; None where they are the same."""
    sides = _sides(left, right, device)
    return None if sides is None else f"{sides[0]} against {sides[1]}"


def _step(driver: Driver) -> tuple[Mapping[str, Value], dict[str, str]]:
    """One step: its fields, and what it did to each input that it changed."""
    device = driver.device
    with device.active(), torch.inference_mode():
        inputs = driver.inputs()
        given = {name: device.get(tensor).clone() for name, tensor in driver.watched(inputs).items()}
        result = driver.run(inputs)
        changed = {}
        for name, tensor in driver.watched(inputs).items():
            sides = _values(given[name], device.get(tensor))
            if sides is not None:
                changed[name] = f"changed from {sides[0]} to {sides[1]}"
        return driver.fields(inputs, result), changed


def _presence(field: str, fields: Mapping[str, Value]) -> str:
    return "has it" if field in fields else "lacks it"


def _sides(left: Value, right: Value, device: Device) -> tuple[str, str] | None:
    """What is on either side, where that differs."""
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        same = type(left) is type(right) and left == right
        return None if same else (_described(left), _described(right))
    if _described(left) != _described(right):
        return _described(left), _described(right)
    return _values(device.get(left), device.get(right))


def _described(value: Value) -> str:
    if not isinstance(value, Tensor):
        return repr(value)
    place = "on the host" if value.device.type == "cpu" else f"on {value.device.type}"
    return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)} {place}"


def _values(left: Tensor, right: Tensor) -> tuple[str, str] | None:
    """The first element that differs between host tensors of one dtype and shape, and how many do."""
    if torch.equal(left, right):
        return None
    places = (left != right).nonzero()
    place = tuple(places[0].tolist())
    total = f"{len(places)} of {left.numel()} differ"
    return f"{left[place].item()} at {list(place)}", f"{right[place].item()} ({total})"
