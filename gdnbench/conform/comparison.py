"""One driver of ours and one over a release, on the same scenario and device: fields, and operations in their order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from gdnbench.conform.jobs import SEEN, Job, Row
from gdnbench.devices.base import CpuDevice, Device
from gdnbench.devices.operations import Operation
from gdnbench.devices.traced import Trace, TracedDevice
from gdnbench.drivers.base import Driver, Value
from gdnbench.probes.equality import difference
from gdnbench.values.scenarios import Scenario

DEVICES: dict[str, Callable[[], Device]] = {CpuDevice.name: CpuDevice, TracedDevice.name: TracedDevice}

CALLS = 2
"""Steps of each driver: from the second on, buffers hold what an earlier step left."""

CONTEXT = 3
"""Operations shown before and after the first that differs."""

VALUES_SHOWN = 64
"""Elements of a tensor shown in a mismatch."""

_GROUP = re.compile(r"group\d+\.")


def is_foreign(field_name: str, theirs: type[Driver]) -> bool:
    """Whether a field of a release's result, in whichever KV group, is one that ours need not have."""
    return _GROUP.sub("", field_name) in theirs.foreign_fields


@dataclass
class Comparison:
    """Compares the two drivers of a job, scenario by scenario, and keeps count in `row`."""

    job: Job
    ours: type[Driver]
    theirs: type[Driver]
    row: Row = field(init=False)
    foreign: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.row = Row.of(self.job)

    def compare(self, scenario: Scenario) -> None:
        """One scenario, on every device that both drivers run on."""
        self.row.scenarios += 1
        for name, make in DEVICES.items():
            if name in self.ours.devices and name in self.theirs.devices:
                self._compare_on(make(), scenario)

    def finish(self) -> Row:
        """The row, with what was seen of the foreign."""
        self.row.foreign += [f"{SEEN}{what} ({times})" for what, times in sorted(self.foreign.items())]
        if self.foreign and not self.job.foreign:
            self._field_mismatch("every scenario", f"foreign, but not listed: {', '.join(sorted(self.foreign))}")
        return self.row

    def _compare_on(self, device: Device, scenario: Scenario) -> None:
        where = f"{scenario.name} on {device.name}"
        try:
            with device.active(), torch.inference_mode():
                ours = self.ours(self.job.side, scenario, device)
                theirs = self.theirs(self.job.release, scenario, device)
        except Exception as error:
            self._field_mismatch(where, f"making the drivers: {_raised(error)}")
            return
        for call in range(1, CALLS + 1):
            mine, others = Step(ours), Step(theirs)
            self._compare_steps(f"{where}, call {call}", mine, others)
            if mine.error or others.error:
                return

    def _compare_steps(self, where: str, ours: Step, theirs: Step) -> None:
        if ours.error or theirs.error:
            self._field_mismatch(where, f"ours {ours.error or 'ran'}, the release's {theirs.error or 'ran'}")
            return
        self._compare_values(where, ours.fields, theirs.fields, ours.driver.device)
        inputs = [name for name in ours.watched if name in theirs.watched]
        left, right = ({f"input {name}": step.watched[name] for name in inputs} for step in (ours, theirs))
        self._compare_values(f"{where}, afterwards", left, right, ours.driver.device)
        if ours.trace and theirs.trace and self.job.compares_operations:
            self._compare_operations(where, list(ours.trace.operations), self._own(theirs.driver, theirs.trace))

    def _compare_values(
        self, where: str, ours: Mapping[str, Value], theirs: Mapping[str, Value], device: Device
    ) -> None:
        for name in [*ours, *(name for name in theirs if name not in ours)]:
            if name not in ours and is_foreign(name, self.theirs):
                self.foreign[f"field {_GROUP.sub('', name)}"] += 1
            elif name not in ours or name not in theirs:
                self._field_mismatch(where, f"only {'ours' if name in ours else 'the release'} has field {name}")
            elif (differs := difference(ours[name], theirs[name], device)) is not None:
                shown = f"  ours: {_shown(ours[name], device)}\n  the release's: {_shown(theirs[name], device)}"
                self._field_mismatch(where, f"field {name}: ours {differs}\n{shown}")

    def _own(self, driver: Driver, trace: Trace) -> list[Operation]:
        own = driver.own_operations(trace)
        found, kept = (Counter(operation.signature for operation in each) for each in (trace.operations, own))
        for change, operations in (("left out", found - kept), ("put in", kept - found)):
            for (kind, name, *_), times in operations.items():
                self.foreign[f"{kind} {name} {change}"] += times
        if found == kept and first_difference(own, trace.operations) is not None:
            self.foreign["operations in another order"] += 1
        return own

    def _compare_operations(self, where: str, ours: Sequence[Operation], theirs: Sequence[Operation]) -> None:
        place = first_difference(ours, theirs)
        if place is None:
            return
        self.row.operation_mismatches += 1
        self._first(
            f"{where}: operation {place} differs (ours {len(ours)}, the release's {len(theirs)})\n"
            f"  ours:\n{_excerpt(ours, place)}\n  the release's:\n{_excerpt(theirs, place)}"
        )

    def _field_mismatch(self, where: str, what: str) -> None:
        self.row.field_mismatches += 1
        self._first(f"{where}: {what}")

    def _first(self, text: str) -> None:
        self.row.first_mismatch = self.row.first_mismatch or text


class Step:
    """One step of a driver on fresh inputs: what it gave, what it asked of the device, or how it failed."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.error = ""
        self.fields: Mapping[str, Value] = {}
        self.watched: Mapping[str, torch.Tensor] = {}
        self.trace: Trace | None = None
        try:
            with driver.device.active(), torch.inference_mode():
                inputs = driver.inputs()
                with self._traced(driver.device):
                    result = driver.run(inputs)
                self.fields = driver.fields(inputs, result)
                self.watched = driver.watched(inputs)
        except Exception as error:
            self.error = _raised(error)

    @contextmanager
    def _traced(self, device: Device) -> Iterator[None]:
        if not isinstance(device, TracedDevice):
            yield
            return
        with device.record() as self.trace:
            yield


def first_difference(ours: Sequence[Operation], theirs: Sequence[Operation]) -> int | None:
    """The index of the first operation that differs or that one side lacks, None where there is none."""
    for place, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        if mine.signature != other.signature:
            return place
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))


def _excerpt(operations: Sequence[Operation], place: int) -> str:
    first = max(0, place - CONTEXT)
    lines = [
        f"  {'>' if number == place else ' '} {number:4} {operation}"
        for number, operation in enumerate(operations[first : place + CONTEXT + 1], start=first)
    ]
    if place >= len(operations):
        lines.append(f"  > {len(operations):4} (ends)")
    return "\n".join(lines)


def _shown(value: Value, device: Device) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    values = device.get(value).flatten().tolist()
    return f"{values[:VALUES_SHOWN]}{' ...' if len(values) > VALUES_SHOWN else ''}"


def _raised(error: Exception) -> str:
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    place = f" at {frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}" if frame else ""
    return f"raised {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}{place}"
