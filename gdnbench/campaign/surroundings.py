"""Where a process runs: what may explain a difference between two machines, two launches or two days."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter_ns
from typing import Any

import numpy as np
import torch

from gdnbench.campaign.machine import accelerators, cpu_model, host
from gdnbench.values.verdicts import Caveat


def surroundings() -> dict[str, Any]:
    """The machine, the libraries and the settings of this process, as JSON."""
    found: dict[str, Any] = {
        "machine": host(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "accelerators": list(accelerators()),
        "affinity": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "clock_read_ns": _clock_read_ns(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "nice": os.getpriority(os.PRIO_PROCESS, 0) if hasattr(os, "getpriority") else None,
        "threads": torch.get_num_threads(),
        "vllm": getattr(sys.modules.get("vllm"), "__version__", None),
    }
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        found["gpu"] = {"name": properties.name, "memory_bytes": properties.total_memory, "cuda": torch.version.cuda}
    return found


def priority_caveats(environments: Iterable[Mapping[str, Any]]) -> Iterator[Caveat]:
    """What a reader must know where launches had to wait for whatever else ran, as the workers of Ray do by default."""
    nicest = max((int(own.get("nice") or 0) for own in environments), default=0)
    if nicest > 0:
        yield Caveat(
            "priority",
            f"launches ran with a lower priority than other processes of their machine (nice {nicest})",
            "run without nice, and start the nodes of a Ray cluster with RAY_worker_niceness=0",
        )


def available_bytes() -> int | None:
    """Memory that processes can still have, in bytes; None where the system does not tell."""
    lines = (_read("/proc/meminfo") or "").splitlines()
    kilobytes = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), None)
    return None if kilobytes is None else int(kilobytes) << 10


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _clock_read_ns() -> int:
    """What one reading of the clock costs; each figure of the host's contains about one."""
    reads = [perf_counter_ns() for _ in range(1001)]
    return round(median(b - a for a, b in pairwise(reads)))
