"""What a copy between host and device really does, after ATen's `copy_kernel_cuda` (PyTorch 2.13).

A copy is direct where both sides have one dtype and lie alike in memory. Otherwise temporaries stand between them, and
dtypes are converted on the device for a non-blocking copy, on the host for a blocking one.

A copy to the device blocks from pageable memory whatever it was told, and from pinned memory unless told not to; a
copy to the host blocks, but for a non-blocking one into pinned memory.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gdnbench.devices.operations import Kind, Operation
from gdnbench.devices.pinned import is_pinned

COPY = "aten.copy_.default"
TO_COPY = "aten._to_copy.default"


def describe(tensor: Tensor) -> str:
    """A tensor as an operation's argument: where it is, dtype, shape."""
    place = "cuda" if tensor.is_cuda else "pinned" if is_pinned(tensor) else "host"
    return f"{place} {str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def copy_operations(
    name: str, target: Tensor, source: Tensor, non_blocking: bool, alloc_bytes: int = 0
) -> list[Operation]:
    """What copying `source` into `target` asks for, in order.

    Args:
        name: the operation that copies.
        target, source: both of the target's shape, or the source broadcasts to it.
        non_blocking: as the caller of the copy said.
        alloc_bytes: of the target, where it was made for this copy on the device.
    """
    arguments = (describe(target), describe(source))
    if target.numel() == 0:
        kind: Kind = "idle" if target.is_cuda or source.is_cuda else "host"
        return [Operation(kind, name, arguments, alloc_bytes)]
    if target.is_cuda == source.is_cuda:
        return [Operation("device" if target.is_cuda else "host", name, arguments, alloc_bytes)]
    sends = target.is_cuda
    source_converts, target_converts, dtype = _temporaries(target, source, on_device=non_blocking)
    temporary = target.numel() * dtype.itemsize
    before = [_conversion(source, temporary)] if source_converts else []
    after = [_conversion(target, temporary)] if target_converts else []
    pinned = is_pinned(source) and not source_converts if sends else is_pinned(target) and not target_converts
    blocks = not (pinned and non_blocking)
    kind = "d2h" if not sends else "h2d_pinned" if pinned else "h2d_pageable"
    return [*before, Operation(kind, name, arguments, alloc_bytes, blocks), *after]


def _temporaries(target: Tensor, source: Tensor, on_device: bool) -> tuple[bool, bool, torch.dtype]:
    """Whether the source goes through a temporary, whether the target does, and the dtype that crosses over."""
    if _direct(target, source):
        return False, False, source.dtype
    dtype = target.dtype if source.is_cuda == on_device else source.dtype
    return (
        dtype != source.dtype or not _fills(source, target),
        dtype != target.dtype or not target.is_contiguous(),
        dtype,
    )


def _conversion(tensor: Tensor, temporary: int) -> Operation:
    if tensor.is_cuda:
        return Operation("device", COPY, (describe(tensor),), temporary)
    return Operation("host", COPY, (describe(tensor),))


def _direct(target: Tensor, source: Tensor) -> bool:
    if target.dtype != source.dtype:
        return False
    if target.shape == source.shape and target.stride() == source.stride():
        return _dense(target)
    return target.is_contiguous() and _fills(source, target)


def _dense(tensor: Tensor) -> bool:
    """Whether the elements fill one stretch of memory, in whatever order of dimensions."""
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def _fills(source: Tensor, target: Tensor) -> bool:
    return source.numel() == target.numel() and source.is_contiguous()
