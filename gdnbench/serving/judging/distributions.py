"""How inter-token latencies lie on each side: what a mean hides and a p99 only hints at."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import ServeLaunch
from gdnbench.values.metrics import ITL
from gdnbench.values.serving import Distribution


def distributions(plan: ServePlan, launches: Sequence[ServeLaunch]) -> tuple[Distribution, ...]:
    """One for each concurrency and role whose launches have their percentiles."""
    found = []
    for load in plan.loads:
        for role in plan.sides:
            kept = [
                one.quantiles_ms
                for launch in launches
                for one in launch.pooled
                if (one.role, one.concurrency, one.metric) == (role, load.concurrency, ITL.tag) and one.quantiles_ms
            ]
            if kept:
                middle = tuple(median(each) for each in zip(*kept, strict=True))
                found.append(Distribution(load.concurrency, role, ITL.tag, middle))
    return tuple(found)
