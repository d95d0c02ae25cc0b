"""One ATen operation, run on host data, and what it would have asked of the device."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from gdnbench.devices.copies import COPY, TO_COPY, copy_operations, describe
from gdnbench.devices.operations import (
    ALLOCATIONS,
    BLOCKING,
    INDEXING,
    READS_SCALAR,
    SENDS_SCALARS,
    Operation,
    fills_by_mask,
    is_mask,
)
from gdnbench.devices.pinned import is_pinned, mark_pinned
from gdnbench.devices.tensor import Dispatcher, TracedTensor

Executed = tuple[Any, list[Operation]]
"""The result, traced where it lies on the device, and what was asked for."""

_IS_PINNED = "aten.is_pinned.default"
_PIN = "aten._pin_memory.default"
_NOTHING = frozenset({"aten.lift_fresh.default", "aten.detach_.default"})


def execute(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], owner: Dispatcher) -> Executed:
    """Runs `func`, which is not composite, on the data of its arguments; new device tensors belong to `owner`.

    Raises:
        RuntimeError: where CUDA refuses, too: tensors on two devices, pinning what is not on the host.
        NotImplementedError: where the shape of a device tensor would change in place.
    """
    name = str(func)
    if name == _IS_PINNED:
        return not args[0].is_cuda and is_pinned(args[0]), []
    if name == _PIN:
        return _pin(args[0])
    if name == COPY:
        return _copy(*args, **kwargs)
    if name == TO_COPY:
        return _to_copy(args[0], owner, **kwargs)
    return _run(func, name, args, kwargs, owner)


def _pin(host: Tensor) -> Executed:
    if host.is_cuda:
        raise RuntimeError("only host tensors can be pinned, and this one is on cuda:0")
    return mark_pinned(host.clone()), [Operation("host", _PIN, (describe(host),))]


def _copy(target: Tensor, source: Tensor, non_blocking: bool = False) -> Executed:
    _host(target).copy_(_host(source))
    return target, copy_operations(COPY, target, source, non_blocking)


def _to_copy(source: Tensor, owner: Dispatcher, **options: Any) -> Executed:
    device = options.get("device") or source.device
    non_blocking = options.get("non_blocking", False)
    kept = {key: options[key] for key in ("dtype", "memory_format") if options.get(key) is not None}
    host = torch.ops.aten._to_copy.default(_host(source), **kept)
    target = TracedTensor(host, owner) if device.type == "cuda" else host
    if source.is_cuda and non_blocking and target is host:
        mark_pinned(host)  # so that such a copy need not wait (`_to_copy` in ATen's TensorConversions.cpp)
    return target, copy_operations(TO_COPY, target, source, non_blocking, host.nbytes if target.is_cuda else 0)


def _run(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], owner: Dispatcher) -> Executed:
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    traced = [tensor for tensor in tensors if isinstance(tensor, TracedTensor)]
    device = kwargs.get("device")
    on_device = bool(traced) if device is None else device.type == "cuda"
    arguments = dict(zip((argument.name for argument in func._schema.arguments), args, strict=False)) | kwargs
    if traced:
        _refuse_two_devices(name, arguments, tensors)
    described = tuple(describe(tensor) for tensor in tensors)
    operations = _sent_arguments(name, arguments, owner) if on_device else []

    result = func(*_hosts(args), **_host_options(kwargs))
    if any(tensor.shape != tensor.host.shape for tensor in traced):
        raise NotImplementedError(f"the traced accelerator cannot change a tensor's shape in place: {name}")
    known = {id(tensor.host): tensor for tensor in traced}
    made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor) and id(leaf) not in known]
    if kwargs.get("pin_memory"):
        made = [mark_pinned(host) for host in made]
    if name not in _NOTHING:
        operations.append(_operation(func, name, arguments, described, on_device, result, made))
    if on_device:

        def on_owner(host: Tensor) -> Tensor:
            return known[id(host)] if id(host) in known else TracedTensor(host, owner)

        result = tree_map_only(Tensor, on_owner, result)
    return result, operations


def _operation(
    func: Any,
    name: str,
    arguments: dict[str, Any],
    described: tuple[str, ...],
    on_device: bool,
    result: Any,
    made: list[Tensor],
) -> Operation:
    if _is_view(func):
        return Operation("view" if on_device else "host_view", name, described)
    if not on_device:
        return Operation("host", name, described)
    if name == READS_SCALAR:
        return Operation("d2h", name, described, blocks=True)
    alloc_bytes = sum(tensor.nbytes for tensor in made)
    if name in ALLOCATIONS:
        return Operation("alloc", name, described, alloc_bytes)
    blocks = name in BLOCKING and BLOCKING[name](arguments)
    outputs = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
    if outputs and not blocks and all(output.numel() == 0 for output in outputs):
        return Operation("idle", name, described, alloc_bytes)
    return Operation("device", name, described, alloc_bytes, blocks)


def _sent_arguments(name: str, arguments: dict[str, Any], owner: Dispatcher) -> list[Operation]:
    """The copies to the device that an operation makes of its host arguments."""

    def sent(host: Tensor, non_blocking: bool = False) -> list[Operation]:
        return copy_operations(TO_COPY, TracedTensor(host, owner), host, non_blocking, host.nbytes)

    operations: list[Operation] = []
    if name in SENDS_SCALARS:
        for value in arguments.values():
            if isinstance(value, Tensor) and not value.is_cuda:
                operations += sent(value)
    if name in INDEXING:
        for index in arguments["indices"]:
            if index is None or index.is_cuda:
                continue
            # A mask is first turned into positions, in pinned memory; positions are sent as they lie.
            operations += sent(mark_pinned(index.nonzero()), non_blocking=True) if is_mask(index) else sent(index)
        value = arguments.get("values")
        if value is not None and not value.is_cuda and not fills_by_mask(arguments):
            operations += sent(value)
    return operations


def _refuse_two_devices(name: str, arguments: dict[str, Any], tensors: list[Tensor]) -> None:
    """Beside device tensors, CUDA takes from the host scalars only, and indices."""
    if name in INDEXING:
        if not arguments["self"].is_cuda:
            raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
        tensors = [arguments["values"]] if "values" in arguments else []
    if any(tensor.dim() > 0 and not tensor.is_cuda for tensor in tensors):
        raise RuntimeError(f"Expected all tensors to be on the same device, but found cuda:0 and cpu in {name}")


def _host(tensor: Tensor) -> Tensor:
    return tensor.host if isinstance(tensor, TracedTensor) else tensor


def _hosts(tree: Any) -> Any:
    return tree_map_only(TracedTensor, _host, tree)


def _host_options(kwargs: dict[str, Any]) -> dict[str, Any]:
    options = {key: value for key, value in kwargs.items() if key != "pin_memory"}
    if options.get("device") is not None:
        options["device"] = torch.device("cpu")
    return _hosts(options)  # type: ignore[no-any-return]


@cache
def is_composite(func: Any) -> bool:
    """Whether an operation is made of others, on every device alike."""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"))


@cache
def _is_view(func: Any) -> bool:
    aliases = [result.alias_info for result in func._schema.returns]
    return str(func) == "aten._unsafe_view.default" or any(
        alias is not None and not alias.is_write for alias in aliases
    )
