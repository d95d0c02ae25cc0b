"""Digests of a step's result, so that sides in different processes can be held against each other."""

from __future__ import annotations

import hashlib

import torch

from gdnbench.drivers.base import Driver, Value


def field_digests(driver: Driver) -> dict[str, str]:
    """One step on fresh inputs; a digest of type, shape and values for each field that a promise of equality covers."""
    with driver.device.active(), torch.inference_mode():
        inputs = driver.inputs()
        fields = driver.fields(inputs, driver.run(inputs))
        return {name: _digest(driver, value) for name, value in fields.items() if not driver.may_differ(name)}


def _digest(driver: Driver, value: Value) -> str:
    if not isinstance(value, torch.Tensor):
        return f"{type(value).__name__} {value!r}"
    host = driver.device.get(value).contiguous()
    content = hashlib.sha256(host.numpy().tobytes()).hexdigest()[:16]
    return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)} {content}"
