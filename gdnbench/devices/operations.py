"""What the traced accelerator counts: operations, their costs, and which of them make the host wait.

Every entry follows what PyTorch 2.13 does for a CUDA tensor (ATen's `Copy.cu`, `IndexingUtils.h` and
`TensorAdvancedIndexing`); `gdnbench.devices.selfcheck` holds them against a real GPU.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
from torch import Tensor

Kind = Literal["device", "idle", "alloc", "view", "h2d_pinned", "h2d_pageable", "d2h", "wait", "host", "host_view"]
"""What an operation asks for.

device: work on the device, one ATen operation (which may be several kernels); it may block, too.
idle: a device operation or a copy on no elements: nothing is launched.
alloc: device memory without work (`empty` and its kin); `zeros` and `full` fill it, so they are `device`.
view, host_view: the same memory seen otherwise, on the device and on the host.
h2d_pinned, h2d_pageable, d2h: a copy between host and device, counted there and nowhere else.
wait: `torch.cuda.synchronize`.
host: an ATen operation on host tensors. NumPy and Python are invisible.
"""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        kind: what it asks for.
        name: the ATen operation with its overload, such as `aten.ge.Scalar`.
        tensors: the tensor arguments in order, such as `cuda int32[16]`, `host bool[16]`, `pinned int64[3, 2]`.
        alloc_bytes: device memory it allocates, in bytes, before the allocator rounds.
        blocks: whether the host waits until the device has caught up.
    """

    kind: Kind
    name: str
    tensors: tuple[str, ...] = ()
    alloc_bytes: int = 0
    blocks: bool = False

    @property
    def signature(self) -> tuple[str, str, tuple[str, ...], bool]:
        """What must be equal in two traces of the same program."""
        return self.kind, self.name, self.tensors, self.blocks

    def __str__(self) -> str:
        return f"{self.kind:12} {self.name}({', '.join(self.tensors)}){'  blocks' * self.blocks}"


@dataclass(frozen=True, slots=True)
class Costs:
    """Exact counts of a trace: operations, and bytes of device memory for `alloc_bytes`."""

    device_ops: int = 0
    h2d_pinned: int = 0
    h2d_pageable: int = 0
    d2h: int = 0
    syncs: int = 0
    host_ops: int = 0
    alloc_bytes: int = 0

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> Costs:
        operations = tuple(operations)
        kinds = Counter(operation.kind for operation in operations)
        return cls(
            device_ops=kinds["device"],
            h2d_pinned=kinds["h2d_pinned"],
            h2d_pageable=kinds["h2d_pageable"],
            d2h=kinds["d2h"],
            syncs=sum(operation.blocks for operation in operations),
            host_ops=kinds["host"],
            alloc_bytes=sum(operation.alloc_bytes for operation in operations),
        )

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


ALLOCATIONS = frozenset(
    f"aten.{name}"
    for name in (
        "empty.memory_format",
        "empty_like.default",
        "empty_strided.default",
        "new_empty.default",
        "new_empty_strided.default",
    )
)

INDEXING = frozenset(
    f"aten.{name}" for name in ("index.Tensor", "index_put.default", "index_put_.default", "_index_put_impl_.default")
)
"""They take indices from the host and send them over: masks without waiting, positions with."""

SENDS_SCALARS = frozenset({"aten.where.self", "aten.where.self_out"})
"""They send host scalars over, and wait, where other operations hand them to the kernel."""

READS_SCALAR = "aten._local_scalar_dense.default"
"""`item`, `int`, `float`, `bool` and `if` of a tensor: one element copied to the host, which waits for it."""


def is_mask(index: Tensor | None) -> bool:
    """Whether an index selects by truth rather than by position."""
    return index is not None and index.dtype in (torch.bool, torch.uint8)


def _always(_: dict[str, Any]) -> bool:
    return True


def _reads_value(arguments: dict[str, Any]) -> bool:
    """A value held on the device is read back to become a kernel argument."""
    return bool(arguments["value"].is_cuda)


def _selects_by_mask(arguments: dict[str, Any]) -> bool:
    return any(is_mask(index) and index.is_cuda for index in arguments["indices"])


def fills_by_mask(arguments: dict[str, Any]) -> bool:
    """Whether `index_put_` is in truth `masked_fill_`: one device mask, one host value. That needs no sizes."""
    given = [index for index in arguments["indices"] if index is not None]
    value = arguments["values"]
    one_value = value.numel() == 1 and not value.is_cuda and not arguments.get("accumulate")
    return one_value and len(given) == 1 and is_mask(given[0]) and given[0].is_cuda


def _puts_by_mask(arguments: dict[str, Any]) -> bool:
    return _selects_by_mask(arguments) and not fills_by_mask(arguments)


BLOCKING: dict[str, Callable[[dict[str, Any]], bool]] = {
    READS_SCALAR: _always,
    "aten.nonzero.default": _always,
    "aten.nonzero.out": _always,
    "aten.masked_select.default": _always,
    "aten.masked_select.out": _always,
    "aten._unique.default": _always,
    "aten._unique2.default": _always,
    "aten.unique_dim.default": _always,
    "aten.unique_consecutive.default": _always,
    "aten.bincount.default": _always,
    "aten.equal.default": _always,
    "aten.allclose.default": _always,
    "aten.repeat_interleave.Tensor": lambda arguments: arguments.get("output_size") is None,
    "aten.index.Tensor": _selects_by_mask,
    "aten.index_put.default": _puts_by_mask,
    "aten.index_put_.default": _puts_by_mask,
    "aten._index_put_impl_.default": _puts_by_mask,
    "aten.masked_fill.Tensor": _reads_value,
    "aten.masked_fill_.Tensor": _reads_value,
    "aten.index_fill.int_Tensor": _reads_value,
    "aten.index_fill_.int_Tensor": _reads_value,
}
"""Device operations for which the host waits, each with the condition on its arguments (by schema name).

Copies between host and device are not in the table: see `gdnbench.devices.copies`.
"""
