"""A small part, ours and a release's, with drivers that differ in one thing each; needs no vLLM."""

from collections.abc import Mapping
from dataclasses import replace

import torch

from gdnbench.devices.operations import Operation
from gdnbench.devices.traced import Trace
from gdnbench.drivers.base import Driver, Value
from gdnbench.drivers.step_arrays import step_arrays


class Ours(Driver):
    """Doubles the sequence lengths on the device, and counts the rows on the host."""

    part = "sample"

    def inputs(self) -> torch.Tensor:
        return self.device.put(torch.from_numpy(step_arrays(self.scenario).seq_lens))

    def run(self, inputs: torch.Tensor) -> dict[str, Value]:
        return {"doubled": inputs + inputs, "rows": len(inputs)}

    def fields(self, inputs: torch.Tensor, result: dict[str, Value]) -> Mapping[str, Value]:
        return result

    def watched(self, inputs: torch.Tensor) -> Mapping[str, torch.Tensor]:
        return {"lengths": inputs}


class Theirs(Ours):
    """The same."""


class OnlyWithoutCapture(Theirs):
    @classmethod
    def refuses(cls, scenario):
        return "a capture" if scenario.capture else None


class OnlyCaptures(Theirs):
    @classmethod
    def refuses(cls, scenario):
        return None if scenario.capture else "no capture"


class OnlyNothing(Theirs):
    @classmethod
    def refuses(cls, scenario):
        return "always"


class OtherValue(Theirs):
    def run(self, inputs):
        return super().run(inputs) | {"rows": len(inputs) + 1}


class OtherTensor(Theirs):
    def run(self, inputs):
        result = super().run(inputs)
        return result | {"doubled": (inputs + inputs).clone().fill_(7)}


class OtherOnSecondCall(Theirs):
    calls = 0

    def run(self, inputs):
        self.calls += 1
        return super().run(inputs) | {"rows": len(inputs) + self.calls - 1}


class LacksField(Theirs):
    def run(self, inputs):
        result = super().run(inputs)
        del result["rows"]
        return result


class OtherOperation(Theirs):
    """The same values by another operation."""

    def run(self, inputs):
        return {"doubled": inputs * 2, "rows": len(inputs)}


class HostOperation(Theirs):
    """One operation more, on a host tensor."""

    def run(self, inputs):
        torch.ones(3).sum()
        return super().run(inputs)


class ForeignOperation(HostOperation):
    """One operation more that is declared."""

    def own_operations(self, trace: Trace) -> list[Operation]:
        return [operation for operation in trace.operations if operation.kind not in ("host", "host_view")]


class RewrittenOperation(OtherOperation):
    """Another operation, declared to stand where ours has an addition."""

    def own_operations(self, trace: Trace) -> list[Operation]:
        def rewritten(operation: Operation) -> Operation:
            if operation.name != "aten.mul.Tensor":
                return operation
            return replace(operation, name="aten.add.Tensor", tensors=operation.tensors * 2)

        return [rewritten(operation) for operation in trace.operations]


class RewrittenArguments(Theirs):
    """Its addition is declared to be of other arguments."""

    def own_operations(self, trace: Trace) -> list[Operation]:
        return [replace(operation, tensors=("host int32[1]",)) for operation in trace.operations]


class ReversedOperations(OtherOperation):
    """Its two operations are declared to come the other way round."""

    def run(self, inputs):
        return {"doubled": (inputs + inputs) * 1, "rows": len(inputs)}

    def own_operations(self, trace: Trace) -> list[Operation]:
        return list(reversed(trace.operations))


class ForeignField(Theirs):
    foreign_fields = frozenset({"extra"})

    def run(self, inputs):
        return super().run(inputs) | {"extra": 1, "group1.extra": 2}


class UndeclaredField(Theirs):
    def run(self, inputs):
        return super().run(inputs) | {"extra": 1}


class ChangesInput(Theirs):
    def run(self, inputs):
        result = super().run(inputs)
        inputs.zero_()
        return result


class Raises(Theirs):
    def run(self, inputs):
        raise ValueError("what the release thinks of it")


class RaisesWhenMade(Theirs):
    def __init__(self, state, scenario, device):
        super().__init__(state, scenario, device)
        raise ValueError("not made")


class TracedAlone(Theirs):
    devices = ("traced",)


class EndsProcess(Theirs):
    def run(self, inputs):
        import os
        import sys

        print("the last words", file=sys.stderr, flush=True)
        os._exit(7)


class Prints(Theirs):
    def run(self, inputs):
        print("noise that a library makes")
        return super().run(inputs)
