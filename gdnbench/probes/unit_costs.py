"""What one operation of each kind costs the host: the units that a bound on a build is made of.

`python -m gdnbench.probes.unit_costs [cuda]` prints them. On a GPU they are what the host spends; what the device
spends on so few bytes is less.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter_ns

import numpy as np
import torch

TIMES = 2000
ROWS = 16
COLUMNS = 8

Operation = Callable[[], object]


def operations(device: torch.device) -> Mapping[str, Operation]:
    """One of each kind, on as many values as a step of sixteen rows has."""
    table = torch.ones((ROWS, COLUMNS), dtype=torch.int32, device=device)
    first, out = torch.zeros(1, dtype=torch.int64, device=device), torch.empty_like(table[:, :1])
    mask = torch.ones(ROWS, dtype=torch.bool, device=device)
    host, array = torch.arange(ROWS, dtype=torch.int32), np.arange(ROWS, dtype=np.int32)
    found: dict[str, Operation] = {
        "one NumPy operation": lambda: array - 1,
        "a host tensor as a NumPy array": host.numpy,
        "a host tensor as a list": host.tolist,
        "one view of a tensor": lambda: table.select(1, 0),
        "one launch into a buffer": lambda: torch.index_select(table, 1, first, out=out),
        "one launch and new memory": lambda: table + 1,
        "one boolean index": lambda: table[mask],
    }
    if device.type == "cuda":
        pinned = host.pin_memory()
        found |= {
            "pinning memory": host.pin_memory,
            "one copy from pinned memory": lambda: pinned.to(device, non_blocking=True),
            "one copy from pageable memory": lambda: host.to(device),
            "one value back": lambda: table[0, 0].item(),
        }
    return found


def measure(device: torch.device, times: int = TIMES) -> dict[str, float]:
    """Microseconds of each operation: medians, without those of a call that does nothing."""
    gc.collect()
    gc.freeze()
    with torch.inference_mode():
        empty = _median_us(lambda: None, device, times)
        return {
            name: round(max(0.0, _median_us(operation, device, times) - empty), 3)
            for name, operation in operations(device).items()
        }


def _median_us(operation: Operation, device: torch.device, times: int) -> float:
    found = []
    for _ in range(times):
        start = perf_counter_ns()
        operation()
        found.append(perf_counter_ns() - start)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return median(found) / 1000


def main() -> None:
    for name, us in measure(torch.device(*sys.argv[1:2] or ["cpu"])).items():
        print(f"{name:<32} {us:6.2f} us")


if __name__ == "__main__":
    main()
