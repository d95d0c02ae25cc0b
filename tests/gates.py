"""Runs and results of a gate, made by hand, for tests that measure nothing."""

from __future__ import annotations

from dataclasses import replace

from gdnbench.values.gate import Cost, GateRun, Identity, Place, Selection, StepTimes
from gdnbench.values.metrics import COST_METRICS, HOST_TIME
from gdnbench.values.scenarios import NAMED

VARIANT = "pr51913.after"
IDENTITY = Identity(
    torch="2.13.0+cpu",
    source="a" * 64,
    harness="b" * 64,
    commit="0123456789abcdef0123456789abcdef01234567",
    changed=False,
    cpu="A Processor",
    cores=2,
    gpu=None,
    python="3.11.7",
    system="Linux",
    made="2026-11-01T12:00:00+00:00",
)


def counts(**given: int) -> dict[str, int]:
    """Of a step with eight device operations, but for those that are given."""
    return {metric.tag: given.get(metric.tag, 8 if metric.tag == "device_ops" else 0) for metric in COST_METRICS}


def place(scenario: str, variant: str = VARIANT) -> Place:
    return Place(variant, "build", scenario)


def run(rows: dict[str, dict[str, int] | str], *, steps: dict[str, list[float]] | None = None, **changes) -> GateRun:
    """A run of one variant.

    Args:
        rows: by scenario its counts, or how it failed.
        steps: by scenario the step time of each launch.
        changes: of its identity.
    """
    costs = {
        place(name): Cost(None, found) if isinstance(found, str) else Cost(counts(**found))
        for name, found in rows.items()
    }
    times = {place(name): StepTimes(HOST_TIME.tag, "cpu", 320, tuple(us)) for name, us in (steps or {}).items()}
    return GateRun(replace(IDENTITY, **changes), Selection(None, None, tuple(NAMED)), costs, times)
