"""Small programs with what each must cost on an accelerator: every rule of the traced one, in code that CUDA runs, too.

`tests/devices` holds the traced accelerator to them; `gdnbench.devices.selfcheck` holds a GPU to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gdnbench.devices.base import Device


class Operands:
    """The tensors that programs work on, made anew for each run; four elements where no shape is given."""

    def __init__(self, device: Device) -> None:
        self.device = device.torch_device
        self.host = torch.tensor([3, 1, 2, 0])
        """int64"""
        self.host_mask = torch.tensor([True, False, True, True])
        self.host_scalar = torch.tensor(7)
        self.pinned = self.host.pin_memory()
        self.pinned_out = torch.zeros(4, dtype=torch.int64).pin_memory()
        self.pinned_grid = torch.arange(8).view(4, 2).pin_memory()
        """(4, 2) int64"""
        self.x = device.put(self.host)
        self.mask = device.put(self.host_mask)
        self.scalar = device.put(self.host_scalar)
        self.values = device.put(torch.tensor([7, 8, 9]))
        """(3,), as many as the mask selects"""
        self.grid = device.put(torch.arange(8).view(4, 2))
        """(4, 2) int64"""
        self.buffer = device.put(torch.zeros(8, dtype=torch.int64))
        self.narrow = device.put(torch.zeros(4, dtype=torch.int32))


@dataclass(frozen=True, slots=True)
class Program:
    """One line of code on operands, and its costs.

    Attributes:
        name: what it does.
        run: the code; what it returns is its result.
        device_ops, h2d_pinned, h2d_pageable, d2h, syncs: as `Costs` counts them.
        hides_sync: a GPU waits, yet torch's sync debug mode cannot tell: the driver stages pageable memory by itself.
    """

    name: str
    run: Callable[[Operands], Any]
    device_ops: int = 0
    h2d_pinned: int = 0
    h2d_pageable: int = 0
    d2h: int = 0
    syncs: int = 0
    hides_sync: bool = False

    @property
    def counts(self) -> dict[str, int]:
        names = ("device_ops", "h2d_pinned", "h2d_pageable", "d2h", "syncs")
        return {name: getattr(self, name) for name in names}


def _waits(name: str, run: Callable[[Operands], Any], device_ops: int = 1) -> Program:
    """A device operation for whose result, or its size, the host waits."""
    return Program(name, run, device_ops=device_ops, syncs=1)


def _reads(name: str, run: Callable[[Operands], Any], device_ops: int = 0) -> Program:
    """A copy to the host, which waits for it."""
    return Program(name, run, device_ops=device_ops, d2h=1, syncs=1)


def _sends(name: str, run: Callable[[Operands], Any], device_ops: int = 0, hides_sync: bool = False) -> Program:
    """A copy from pageable memory."""
    return Program(name, run, device_ops=device_ops, h2d_pageable=1, syncs=1, hides_sync=hides_sync)


def _flows(
    name: str, run: Callable[[Operands], Any], device_ops: int = 1, h2d_pinned: int = 0, d2h: int = 0
) -> Program:
    """Work that the host only asks for."""
    return Program(name, run, device_ops=device_ops, h2d_pinned=h2d_pinned, d2h=d2h)


def _set(target: Tensor, index: Any, value: Any) -> Tensor:
    target[index] = value
    return target


def _truth(tensor: Tensor) -> str:
    return "yes" if tensor else "no"


READING = (
    _reads("item", lambda o: o.x[0].item()),
    _reads("int", lambda o: int(o.x[0])),
    _reads("float", lambda o: float(o.x[0])),
    _reads("index of a list", lambda o: [5, 6, 7, 8][o.x[0]]),
    _reads("bool", lambda o: bool(o.mask[0])),
    _reads("if", lambda o: _truth(o.mask[0])),
    _reads("is_nonzero", lambda o: torch.is_nonzero(o.x[0])),
    _reads("tolist", lambda o: o.x.tolist()),
    _reads("cpu", lambda o: o.x.cpu()),
    _reads("cpu().numpy()", lambda o: o.x.cpu().numpy().sum()),
    _reads("to('cpu')", lambda o: o.x.to("cpu")),
    _reads("copy into pageable memory", lambda o: o.host.copy_(o.x)),
    _reads("copy into pinned memory", lambda o: o.pinned_out.copy_(o.x)),
    Program(
        "copy into pageable memory, non-blocking", lambda o: o.host.copy_(o.x, True), d2h=1, syncs=1, hides_sync=True
    ),
    _reads("arange up to a device scalar", lambda o: torch.arange(o.scalar.item(), device=o.device), device_ops=1),
    _reads("read a column", lambda o: o.grid[:, 0].cpu(), device_ops=1),
    _reads("any().item()", lambda o: (o.x > 2).any().item(), device_ops=2),
    _flows("to('cpu'), non-blocking", lambda o: o.x.to("cpu", non_blocking=True), device_ops=0, d2h=1),
    _flows("copy into pinned memory, non-blocking", lambda o: o.pinned_out.copy_(o.x, True), device_ops=0, d2h=1),
)

SENDING = (
    _sends("to(device)", lambda o: o.host.to(o.device)),
    _sends("cuda()", lambda o: o.host.cuda()),
    _sends("to(device), pageable and non-blocking", lambda o: o.host.to(o.device, non_blocking=True), hides_sync=True),
    _sends("tensor of a list", lambda o: torch.tensor([1, 2], device=o.device)),
    _sends("as_tensor of an array", lambda o: torch.as_tensor(o.host.numpy(), device=o.device)),
    _sends("new_tensor", lambda o: o.x.new_tensor([1, 2])),
    _sends("copy from pageable memory", lambda o: o.x.copy_(o.host)),
    _sends("copy from pageable memory, non-blocking", lambda o: o.x.copy_(o.host, True), hides_sync=True),
    _sends("set one element to a number", lambda o: _set(o.x, 0, 5)),
    _sends("where with a host scalar", lambda o: torch.where(o.mask, o.x, o.host_scalar), device_ops=1),
    Program("pinned, blocking", lambda o: o.pinned.to(o.device), h2d_pinned=1, syncs=1),
    _flows("pinned, non-blocking", lambda o: o.pinned.to(o.device, non_blocking=True), 0, h2d_pinned=1),
    _flows("a slice of pinned, non-blocking", lambda o: o.pinned[1:].to(o.device, non_blocking=True), 0, h2d_pinned=1),
    _flows("copy from pinned, non-blocking", lambda o: o.x.copy_(o.pinned, True), 0, h2d_pinned=1),
    _flows("into a slice from pinned, non-blocking", lambda o: o.buffer[:4].copy_(o.pinned, True), 0, h2d_pinned=1),
    _flows("pin, then send", lambda o: o.host.pin_memory().to(o.device, non_blocking=True), 0, h2d_pinned=1),
    _flows("pinned and of another dtype, non-blocking", lambda o: o.narrow.copy_(o.pinned, True), 1, h2d_pinned=1),
    _sends("pinned and of another dtype, blocking", lambda o: o.narrow.copy_(o.pinned)),
    _sends("a column of pinned, non-blocking", lambda o: o.x.copy_(o.pinned_grid[:, 0], True), hides_sync=True),
    _flows("into a column from pinned, non-blocking", lambda o: o.grid[:, 0].copy_(o.pinned, True), 1, h2d_pinned=1),
)

INDEXING = (
    _waits("by a device mask", lambda o: o.x[o.mask]),
    _waits("by a device mask and a slice", lambda o: o.grid[o.mask, :1]),
    _flows("by a host mask", lambda o: o.x[o.host_mask], h2d_pinned=1),
    _flows("by a host mask and a number", lambda o: o.grid[o.host_mask, 0], h2d_pinned=1),
    _flows("by device positions", lambda o: o.x[o.x]),
    _sends("by host positions", lambda o: o.x[o.host], device_ops=1),
    _sends("by a list", lambda o: o.x[[0, 2]], device_ops=1),
    Program("by pinned positions", lambda o: o.x[o.pinned], device_ops=1, h2d_pinned=1, syncs=1),
    _flows("by numbers and slices", lambda o: o.grid[1:3, 0][None, ..., -1], device_ops=0),
    _flows("fill a slice", lambda o: _set(o.x, slice(0, 2), 5)),
    _flows("fill by a device mask", lambda o: _set(o.x, o.mask, 5)),
    _waits("put by a device mask", lambda o: _set(o.x, o.mask, o.values)),
    _waits("index_put by a device mask", lambda o: o.x.index_put((o.mask,), o.values)),
    _waits("_index_put_impl_ by a device mask", lambda o: torch.ops.aten._index_put_impl_(o.x, [o.mask], o.values)),
    _flows("put by a host mask", lambda o: _set(o.x, o.host_mask, o.values), h2d_pinned=1),
    _flows("put by device positions", lambda o: _set(o.x, o.x.clone(), o.x.flip(0)), device_ops=3),
    _sends("put by host positions", lambda o: _set(o.x, o.host, o.scalar), device_ops=1),
    Program("fill by a host mask", lambda o: _set(o.x, o.host_mask, 5), 1, h2d_pinned=1, h2d_pageable=1, syncs=1),
)

SIZES = (
    _waits("nonzero", lambda o: o.x.nonzero()),
    _waits("torch.nonzero, as a tuple", lambda o: torch.nonzero(o.x, as_tuple=True)),
    _waits(
        "nonzero, out",
        lambda o: torch.nonzero(o.mask, out=torch.empty((3, 1), dtype=torch.int64, device=o.device)),
    ),
    _waits("where of a condition alone", lambda o: torch.where(o.mask)),
    _waits("argwhere", lambda o: torch.argwhere(o.mask)),
    _waits("masked_select", lambda o: o.x.masked_select(o.mask)),
    _waits(
        "masked_select, out",
        lambda o: torch.masked_select(o.x, o.mask, out=torch.empty(3, dtype=torch.int64, device=o.device)),
    ),
    _waits("_unique", lambda o: torch._unique(o.x)),
    _waits("unique", lambda o: torch.unique(o.x)),
    _waits("unique of a dimension", lambda o: torch.unique(o.grid, dim=0)),
    _waits("unique_consecutive", lambda o: torch.unique_consecutive(o.x)),
    _waits("unique_consecutive of a dimension", lambda o: torch.unique_consecutive(o.grid, dim=0)),
    _waits("bincount", lambda o: torch.bincount(o.x)),
    _waits("equal", lambda o: torch.equal(o.x, o.x)),
    _waits("allclose", lambda o: torch.allclose(o.x.float(), o.x.float()), device_ops=3),
    _waits("repeat_interleave", lambda o: torch.repeat_interleave(o.x, o.x), device_ops=2),
    _flows(
        "repeat_interleave of a known size", lambda o: torch.repeat_interleave(o.x, o.x, output_size=6), device_ops=2
    ),
    _waits("masked_fill with a device value", lambda o: o.x.masked_fill(o.mask, o.scalar)),
    _waits("masked_fill_ with a device value", lambda o: o.x.masked_fill_(o.mask, o.scalar)),
    _waits("index_fill with a device value", lambda o: o.x.index_fill(0, o.x, o.scalar)),
    _waits("index_fill_ with a device value", lambda o: o.x.index_fill_(0, o.x.clone(), o.scalar), device_ops=2),
    _flows("masked_fill with a number", lambda o: o.x.masked_fill(o.mask, 5)),
)

WORKING = (
    _flows("zeros", lambda o: torch.zeros(4, device=o.device)),
    _flows("full", lambda o: torch.full((4,), 7, device=o.device)),
    _flows("arange", lambda o: torch.arange(4, device=o.device)),
    _flows("new_zeros", lambda o: o.x.new_zeros(4)),
    _flows("empty", lambda o: torch.empty(4, device=o.device).shape, device_ops=0),
    _flows("fill_ with a device scalar", lambda o: o.x.fill_(o.scalar)),
    _flows("fill nothing", lambda o: o.x[4:].fill_(5), device_ops=0),
    _flows("send nothing", lambda o: o.host[4:].to(o.device), device_ops=0),
    _flows("copy on the device", lambda o: o.buffer[:4].copy_(o.x, non_blocking=True)),
    _flows("compare", lambda o: o.x >= 2),
    _flows("add a host scalar", lambda o: o.x + o.host_scalar),
    _flows("not", lambda o: ~o.mask),
    _flows("where with a number", lambda o: torch.where(o.mask, o.x, 0), device_ops=2),
    _flows("where", lambda o: torch.where(o.mask, o.x, o.x)),
    _flows("diff", lambda o: torch.diff(o.x)),
    _flows("sum", lambda o: o.x.sum()),
    _flows("argsort", lambda o: torch.argsort(o.mask, stable=True)),
    _flows("cumsum, out", lambda o: torch.cumsum(o.x, 0, out=o.buffer[1:5])),
    _flows("gather", lambda o: torch.gather(o.x, 0, o.x)),
    _flows("index_select", lambda o: o.x.index_select(0, o.x)),
    _flows("stack", lambda o: torch.stack([o.x, o.x])),
    _flows("to another dtype", lambda o: o.x.to(torch.int32)),
    _flows("to the same dtype", lambda o: o.x.to(torch.int64), device_ops=0),
    _flows("contiguous", lambda o: o.grid.t().contiguous()),
)

PROGRAMS = READING + SENDING + INDEXING + SIZES + WORKING
