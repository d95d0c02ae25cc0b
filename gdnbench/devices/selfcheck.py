"""Holds the traced accelerator against a real GPU: `python -m gdnbench.devices.selfcheck [--json]`.

Each of the small programs runs on both. torch's sync debug mode says where the host waits, torch.profiler what was
copied and how many kernels ran. Needs torch, NumPy and a CUDA device. Exit code 0 where all agree, 1 where something
does not, 4 where there is no CUDA device.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from gdnbench.devices.base import CudaDevice, Device
from gdnbench.devices.operations import Costs
from gdnbench.devices.programs import PROGRAMS, Operands, Program
from gdnbench.devices.traced import TracedDevice

NO_GPU = (
    "no CUDA device here, so there is nothing to hold the traced accelerator against; "
    "run this on a machine with a GPU and a CUDA build of torch"
)
_WAITED = "synchronizing CUDA operation"


@dataclass(frozen=True, slots=True)
class Observed:
    """What a GPU did for one program.

    Attributes:
        waits: times that sync debug mode saw the host wait; one operation may wait several times.
        kernels: kernels, fills and copies within the device.
        h2d_pinned, h2d_pageable, d2h: copies between host and device.
        values: the program's result.
    """

    waits: int
    kernels: int
    h2d_pinned: int
    h2d_pageable: int
    d2h: int
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """One program on both: the traced accelerator's costs and values, and what the GPU did."""

    program: Program
    costs: Costs
    waits_inside: bool
    values: tuple[Any, ...]
    gpu: Observed

    @property
    def disagreements(self) -> list[str]:
        """Empty where both agree. A GPU that waits for a kernel's result reads its size back, too: no copy of ours."""
        traced, gpu = self.costs, self.gpu
        found = []
        if not self.program.hides_sync and (traced.syncs > 0) != (gpu.waits > 0):
            found.append(f"syncs {traced.syncs}, the GPU waited {gpu.waits} times")
        for copy in ("h2d_pinned", "h2d_pageable", "d2h"):
            ours, theirs = getattr(traced, copy), getattr(gpu, copy)
            if ours != theirs and not (copy == "d2h" and self.waits_inside and theirs > ours):
                found.append(f"{copy} {ours}, on the GPU {theirs}")
        if (traced.device_ops > 0) != (gpu.kernels > 0):
            found.append(f"device_ops {traced.device_ops}, on the GPU {gpu.kernels} kernels")
        if self.values != gpu.values:
            found.append(f"result {self.values}, on the GPU {gpu.values}")
        return found

    def to_json(self) -> dict[str, Any]:
        gpu = {name: value for name, value in asdict(self.gpu).items() if name != "values"}
        operations = self.costs.device_ops
        return {
            "program": self.program.name,
            "agrees": not self.disagreements,
            "disagreements": self.disagreements,
            "traced": self.costs.as_dict(),
            "gpu": gpu,
            "kernels_per_operation": self.gpu.kernels / operations if operations else None,
        }


def check(program: Program, gpu: Device) -> Check:
    """Runs one program on the traced accelerator and on a CUDA device."""
    traced = TracedDevice()
    with traced.active(), torch.inference_mode():
        operands = Operands(traced)
        with traced.record() as trace:
            result = program.run(operands)
    waits_inside = any(operation.kind == "device" and operation.blocks for operation in trace.operations)
    return Check(program, trace.costs(), waits_inside, _values(traced, result), _observe(program, gpu))


def check_all() -> list[Check]:
    """Every program, against the first CUDA device."""
    gpu = CudaDevice()
    return [check(program, gpu) for program in PROGRAMS]


def _observe(program: Program, gpu: Device) -> Observed:
    with torch.inference_mode():
        program.run(Operands(gpu))  # loads kernels
        operands = Operands(gpu)
        torch.cuda.synchronize()
        with _sync_warnings() as caught:
            result = program.run(operands)
        values = _values(gpu, result)
        operands = Operands(gpu)
        torch.cuda.synchronize()
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profile:
            program.run(operands)
            torch.cuda.synchronize()
    on_gpu = [event.name for event in profile.events() if event.device_type.name == "CUDA"]
    waits = sum(_WAITED in str(warning.message) for warning in caught)
    return Observed(waits, **count_events(on_gpu), values=values)


def count_events(names: Iterable[str]) -> dict[str, int]:
    """Sorts the profiler's GPU events, by the names that CUPTI gives them, into the columns of `Observed`."""
    counts = dict.fromkeys(("kernels", "h2d_pinned", "h2d_pageable", "d2h"), 0)
    for name in names:
        if name.startswith("Memcpy HtoD"):
            counts["h2d_pageable" if "Pageable" in name else "h2d_pinned"] += 1
        else:
            counts["d2h" if name.startswith("Memcpy DtoH") else "kernels"] += 1
    return counts


@contextmanager
def _sync_warnings() -> Iterator[list[warnings.WarningMessage]]:
    mode = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield caught
        finally:
            torch.cuda.set_sync_debug_mode(mode)


def _values(device: Device, result: Any) -> tuple[Any, ...]:
    leaves = tree_leaves(result)
    return tuple(device.get(leaf).tolist() if isinstance(leaf, Tensor) else leaf for leaf in leaves)


def report(checks: list[Check]) -> str:
    """A line for each program, then what disagrees."""
    lines = [f"{'program':46} {'ops':>4} {'kernels':>8} {'syncs':>6} {'waits':>6}  agrees"]
    for one in checks:
        waits = "hidden" if one.program.hides_sync else str(one.gpu.waits)
        verdict = "; ".join(one.disagreements) or "yes"
        columns = f"{one.costs.device_ops:4} {one.gpu.kernels:8} {one.costs.syncs:6} {waits:>6}"
        lines.append(f"{one.program.name:46} {columns}  {verdict}")
    wrong = sum(bool(one.disagreements) for one in checks)
    lines.append(f"{len(checks) - wrong} of {len(checks)} programs agree")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m gdnbench.devices.selfcheck", description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        print(json.dumps({"agrees": None, "reason": NO_GPU}) if options.json else NO_GPU)
        return 4
    checks = check_all()
    agrees = not any(one.disagreements for one in checks)
    if options.json:
        about = {"device": torch.cuda.get_device_name(0), "torch": torch.__version__}
        print(json.dumps({**about, "agrees": agrees, "programs": [one.to_json() for one in checks]}))
    else:
        print(report(checks))
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
