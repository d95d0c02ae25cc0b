"""What a driver needs of a device: a place for its inputs, and the modes that must be active while code runs there."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import torch


class Device(Protocol):
    """A device that builders run on. Placing and reading back are never counted as the builder's work."""

    @property
    def name(self) -> str:
        """`cpu`, `cuda` or `traced`."""

    @property
    def torch_device(self) -> torch.device:
        """What builders get as their device."""

    def put(self, host: torch.Tensor) -> torch.Tensor:
        """A copy of `host` on the device."""

    def get(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor's values as a plain host tensor; host tensors come back as they are."""

    def active(self) -> AbstractContextManager[None]:
        """The modes under which builders are made and called on this device."""


class CpuDevice:
    """The host itself: no accelerator, nothing pinned, as under vLLM's CPU builds."""

    name = "cpu"
    torch_device = torch.device("cpu")

    def put(self, host: torch.Tensor) -> torch.Tensor:
        return host.clone()

    def get(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor

    def active(self) -> AbstractContextManager[None]:
        return nullcontext()


class CudaDevice:
    """A CUDA device."""

    name = "cuda"

    def __init__(self, index: int = 0) -> None:
        self.torch_device = torch.device("cuda", index)

    def put(self, host: torch.Tensor) -> torch.Tensor:
        return host.to(self.torch_device)

    def get(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.cpu()

    def active(self) -> AbstractContextManager[None]:
        return nullcontext()
