"""A tensor that says it is on the accelerator and holds its data on the host."""

from __future__ import annotations

import operator
from typing import Any, Protocol, cast

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only


class Dispatcher(Protocol):
    """The device that traced tensors belong to."""

    torch_device: torch.device

    def dispatch(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs one ATen operation on host data and records it."""


class _Wrapper(Tensor):
    """Host data behind a tensor that has none of its own; every operation on it goes to its owner."""

    host: Tensor
    owner: Dispatcher

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        owner = next(leaf.owner for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, _Wrapper))
        return owner.dispatch(func, args, kwargs or {})

    @classmethod
    def _around(cls, host: Tensor, owner: Dispatcher, device: torch.device) -> Any:
        wrapper = Tensor._make_wrapper_subclass(
            cls,
            host.size(),
            strides=host.stride(),
            storage_offset=host.storage_offset(),
            dtype=host.dtype,
            device=device,
        )
        wrapper.host, wrapper.owner = host, owner
        return wrapper


class TracedTensor(_Wrapper):
    """A tensor of the traced accelerator; `host` has its shape, strides and values."""

    @staticmethod
    def __new__(cls, host: Tensor, owner: Dispatcher) -> TracedTensor:
        return cast(TracedTensor, cls._around(host, owner, owner.torch_device))

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"traced({self.host})"

    # torch's own bindings of the following enter a guard for CUDA, which a build without CUDA lacks.

    def __getitem__(self, index: Any) -> Tensor:
        return cast(_IndexFace, Tensor.__getitem__(_IndexFace(self), index)).traced

    def __setitem__(self, index: Any, value: Any) -> None:
        Tensor.__setitem__(_IndexFace(self), index, value)

    def copy_(self, src: Tensor, non_blocking: bool = False) -> Tensor:
        return cast(Tensor, torch.ops.aten.copy_.default(self, src, non_blocking))

    def contiguous(self, memory_format: torch.memory_format = torch.contiguous_format) -> Tensor:
        return self if self.is_contiguous(memory_format=memory_format) else self.clone(memory_format=memory_format)

    def nonzero(self, *, as_tuple: bool = False) -> Any:
        positions: Tensor = torch.ops.aten.nonzero.default(self)
        return positions.unbind(1) if as_tuple else positions

    def __invert__(self) -> Tensor:
        return self.bitwise_not()

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return operator.index(cast(int, self.item()))

    def __float__(self) -> float:
        return float(self.item())

    # And these ask for data that a wrapper does not have.

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        if not force:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. "
                "Use Tensor.cpu() to copy the tensor to host memory first."
            )
        return self.cpu().numpy()

    def data_ptr(self) -> int:
        return self.host.data_ptr()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.clone()


class _IndexFace(_Wrapper):
    """A traced tensor that claims to be on the host, for the length of one subscript.

    torch's own parser of subscripts then does the work; what it asks for goes to the traced tensor.
    """

    traced: TracedTensor

    @staticmethod
    def __new__(cls, traced: TracedTensor) -> _IndexFace:
        face = cast(_IndexFace, cls._around(traced.host, traced.owner, torch.device("cpu")))
        face.traced = traced
        return face


def has_face(tree: Any) -> bool:
    return any(isinstance(leaf, _IndexFace) for leaf in tree_leaves(tree))


def without_faces(tree: Any) -> Any:
    return tree_map_only(_IndexFace, lambda face: face.traced, tree)


def with_faces(tree: Any) -> Any:
    return tree_map_only(TracedTensor, _IndexFace, tree)
