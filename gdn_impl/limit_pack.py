"""Many small host arrays to the device in one copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gdn_impl.batch import send

ALIGNED = 8
"""Bytes; no array has larger items."""


class Pack:
    """Arrays that travel together, each to be found again under its name."""

    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[Any]] = {}

    def add(self, name: str, array: npt.NDArray[Any]) -> None:
        """One more; it must not change until `send`."""
        self._arrays[name] = array

    def send(self, device: torch.device) -> dict[str, Tensor]:
        """All of them on the device, as views of what one pinned copy brought there; on the host as they are."""
        if device.type == "cpu":
            return {name: torch.from_numpy(array) for name, array in self._arrays.items()}
        places, size = {}, 0
        for name, array in self._arrays.items():
            places[name] = size
            size += -(array.nbytes // -ALIGNED) * ALIGNED
        packed = np.empty(size, np.uint8)
        for name, array in self._arrays.items():
            packed[places[name] : places[name] + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        sent = send(torch.from_numpy(packed), device)
        return {name: self._view(sent, places[name], array) for name, array in self._arrays.items()}

    @staticmethod
    def _view(sent: Tensor, place: int, array: npt.NDArray[Any]) -> Tensor:
        flat = sent[place : place + array.nbytes].view(torch.from_numpy(array).dtype)
        return flat.view(array.shape)
