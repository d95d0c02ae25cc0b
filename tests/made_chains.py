"""Launches of a chain as a machine that never was would give them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gdnbench.campaign.launch import summarise
from gdnbench.campaign.plan import Plan
from gdnbench.campaign.records import LaunchRecord
from gdnbench.campaign.turns import creation

LEVEL_US, ROUNDS = 30.0, 20


def launches(
    plan: Plan,
    factors: Mapping[str, Mapping[str, float]],
    spread: float = 0.002,
    unequal: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
) -> tuple[LaunchRecord, ...]:
    """All launches of a plan, the same every time.

    Args:
        factors: by role and scenario, how much slower it is than the role that it is held against; else 1.
        spread: by which the sides of a launch differ for no reason, as a fraction.
    """
    rng = np.random.default_rng(1)
    found = []
    for number in range(1, plan.launches + 1):
        level = LEVEL_US * np.exp(rng.normal(0, 0.08))
        measured = []
        for name in plan.scenarios:
            typical, blocks = {"before": level}, {}
            for role in plan.sides:
                if role != "before":
                    typical[role] = typical[plan.base(role)] * factors.get(role, {}).get(name, 1.0)
                own = typical[role] * np.exp(rng.normal(0, spread))
                blocks[role] = (own * np.exp(rng.normal(0, 0.01, ROUNDS))).tolist()
            measured.append(summarise(name, "host_time", 8, blocks, plan.base))
        environment = {"cpu": "A Processor", "cores": 2, "torch": "2.13.0", "python": "3.12", "system": "Linux"}
        found.append(
            LaunchRecord(
                number,
                "2026-11-01T02:00:00+00:00",
                90.0 + number,
                creation(tuple(plan.sides), number),
                {
                    role: {**environment, "load_average": [0.5], "vllm": side.removeprefix("vllm@")}
                    for role, side in plan.sides.items()
                },
                {},
                unequal or {},
                tuple(measured),
            )
        )
    return tuple(found)
