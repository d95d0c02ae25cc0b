"""The traced accelerator: code for CUDA runs without a GPU, and what it asks of the device is recorded.

    device = TracedDevice()
    with device.active(), torch.inference_mode():
        lengths = device.put(torch.arange(5))
        with device.record() as trace:
            lengths.sum().item()
    trace.costs().syncs  # 1

Unmodified code sees tensors on `cuda:0`. Their data lie on the host, so values are right and runs repeat exactly; no
clock is involved. Counts are the same on every machine for one version of torch. What it cannot see: NumPy, Python,
streams and events, and how many kernels an ATen operation becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from gdnbench.devices.execution import execute, is_composite
from gdnbench.devices.operations import Costs, Operation
from gdnbench.devices.pinned import comes_from_pinned, mark_pinned
from gdnbench.devices.tensor import TracedTensor, has_face, with_faces, without_faces


class Trace:
    """What was asked of the device, in order."""

    def __init__(self) -> None:
        self._operations: list[Operation] = []

    @property
    def operations(self) -> tuple[Operation, ...]:
        return tuple(self._operations)

    def costs(self) -> Costs:
        return Costs.of(self._operations)

    def extend(self, operations: Iterable[Operation]) -> None:
        self._operations.extend(operations)


class TracedDevice:
    """A device that counts. Implements `gdnbench.devices.base.Device`."""

    name = "traced"

    def __init__(self) -> None:
        self.torch_device = torch.device("cuda", 0)
        self._trace: Trace | None = None
        self._active = False
        self._mode = _OperationMode(self)

    def put(self, host: Tensor) -> Tensor:
        with self._recording(None):
            return TracedTensor(host.clone(), self)

    def get(self, tensor: Tensor) -> Tensor:
        if not isinstance(tensor, TracedTensor):
            return tensor
        with self._recording(None):
            return tensor.host.clone()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside, code may name `cuda`, pin memory and copy as it would with a GPU. Nested, it changes nothing."""
        if self._active:
            yield
            return
        with ExitStack() as stack:
            if not torch.cuda.is_available():
                stack.enter_context(_replaced(torch.cuda, "_lazy_init", lambda: None))
            stack.enter_context(_replaced(torch.cuda, "synchronize", self._synchronize))
            stack.enter_context(_replaced(torch, "from_numpy", _pin_aware(torch.from_numpy)))
            stack.enter_context(self._mode)
            stack.enter_context(_FunctionMode())
            self._active = True
            try:
                yield
            finally:
                self._active = False

    @contextmanager
    def record(self) -> Iterator[Trace]:
        """Records what runs inside, `put` and `get` apart.

        Raises:
            RuntimeError: where a recording is under way.
        """
        if self._trace is not None:
            raise RuntimeError("a recording is under way; end it before the next")
        trace = Trace()
        with self.active(), self._recording(trace):
            yield trace

    @contextmanager
    def _recording(self, trace: Trace | None) -> Iterator[None]:
        outer, self._trace = self._trace, trace
        try:
            yield
        finally:
            self._trace = outer

    def dispatch(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs one ATen operation on host data and records it; composite ones are taken apart first."""
        if has_face((args, kwargs)):
            return with_faces(self.dispatch(func, without_faces(args), without_faces(kwargs)))
        if is_composite(func):
            with self._mode:
                return func.decompose(*args, **kwargs)
        result, operations = execute(func, args, kwargs, self)
        self._note(operations)
        return result

    def _synchronize(self, device: Any = None) -> None:
        self._note([Operation("wait", "torch.cuda.synchronize", blocks=True)])

    def _note(self, operations: Iterable[Operation]) -> None:
        if self._trace is not None:
            self._trace.extend(operations)


class _OperationMode(TorchDispatchMode):
    """Shows the device every ATen operation: on host tensors, and those that make tensors out of nothing, too."""

    def __init__(self, device: TracedDevice) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._device = device

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing here is compiled; True would import the compiler at the first operation, for seconds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._device.dispatch(func, args, kwargs or {})


_FROM_DATA = frozenset({torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor})


class _FunctionMode(TorchFunctionMode):
    """Rephrases the few calls that ask for a CUDA driver before any operation is dispatched."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.device:
            return func(*args, **kwargs)
        args = tuple(_numbered(value) for value in args)
        kwargs = {key: _numbered(value) for key, value in kwargs.items()}
        if func is Tensor.cuda:
            return _to_cuda(*args, **kwargs)
        if func is torch.nonzero and isinstance(args[0], TracedTensor):
            return _nonzero(*args, **kwargs)
        if func in _FROM_DATA:
            return _from_data(func, *args, **kwargs)
        return func(*args, **kwargs)


def _numbered(value: Any) -> Any:
    """A device `cuda` with its number, for which torch would ask the driver."""
    if isinstance(value, str | torch.device) and str(value) == "cuda":
        return torch.device("cuda", 0)
    return value


def _to_cuda(tensor: Tensor, device: Any = None, non_blocking: bool = False, **options: Any) -> Tensor:
    return tensor.to(device=torch.device("cuda", 0), non_blocking=non_blocking, **options)


def _nonzero(tensor: TracedTensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    return tensor.nonzero(as_tuple=as_tuple) if out is None else torch.ops.aten.nonzero.out(tensor, out=out)


def _from_data(
    func: Callable[..., Tensor], *args: Any, device: Any = None, pin_memory: bool = False, **options: Any
) -> Tensor:
    """A tensor of Python or NumPy data: made on the host, then sent, as torch does it inside."""
    if func is Tensor.new_tensor:
        model, *args = args  # type: ignore[assignment]
        device = model.device if device is None else device
        options.setdefault("dtype", model.dtype)
        func = torch.tensor
    data, *rest = args
    if isinstance(data, list | tuple):
        data = tree_map_only(TracedTensor, TracedTensor.item, data)
    result = func(data, *rest, **options)
    if pin_memory or comes_from_pinned(data):
        mark_pinned(result)
    return result if device is None else result.to(device)


@contextmanager
def _replaced(module: ModuleType, name: str, value: Any) -> Iterator[None]:
    original = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, original)


def _pin_aware(from_numpy: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
    """`torch.from_numpy`, which no mode sees, for arrays that look at pinned memory."""

    def of_array(array: Any) -> Tensor:
        host = from_numpy(array)
        return mark_pinned(host) if comes_from_pinned(array) else host

    return of_array
