"""Makes a release pin host memory where the device is an accelerator, as it does on a machine that has one."""

from __future__ import annotations

import sys

from vllm.utils import torch_utils

from gdnbench.devices.base import Device

_last: tuple[bool, int] | None = None
"""What was set last, and how many modules there were to set it in: looking through thousands takes long."""


def pin_memory_as_on(device: Device) -> None:
    """Sets the release's own switch; its CPU builds never pin, since there is nothing to copy to."""
    global _last
    pins = device.name != "cpu"
    if _last == (pins, len(sys.modules)):
        return
    _last = pins, len(sys.modules)
    if "PIN_MEMORY" not in vars(torch_utils):  # 0.32.0 and newer ask at each use
        torch_utils.is_pin_memory_available = lambda: pins
    for name, module in list(sys.modules.items()):
        if name.startswith("vllm.") and "PIN_MEMORY" in vars(module):
            vars(module)["PIN_MEMORY"] = pins
    if (send := getattr(torch_utils, "async_tensor_h2d", None)) and send.__defaults__ in ((True,), (False,)):
        send.__defaults__ = (pins,)  # 0.21.0 and 0.22.0 read the switch once, as a default
