"""Pinned host memory, emulated: a build of torch without CUDA refuses to pin, so a mark on the storage stands for it.

The mark lies on the storage object, which torch keeps as long as the memory lives: views, slices and NumPy arrays
made of a pinned tensor share it, and memory that is freed and used again does not.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

_MARK = "_gdnbench_pinned"


def is_pinned(host: Tensor) -> bool:
    return getattr(host.untyped_storage(), _MARK, False)


def mark_pinned(host: Tensor) -> Tensor:
    """`host` itself, its memory counted as pinned from now on."""
    setattr(host.untyped_storage(), _MARK, True)
    return host


def comes_from_pinned(array: object) -> bool:
    """Whether a NumPy array looks at the memory of a pinned tensor."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, Tensor) and is_pinned(array)
