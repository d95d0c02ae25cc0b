"""One launch: a fresh process in which all sides take turns, block by block. `python -m gdnbench.campaign.launch`.

It reads `{"plan": ..., "number": n, "waits": ...}` from standard input and writes one JSON object to standard output.
Number 0 is the first measurement of a campaign, which finds how long the busy waits of handicapped sides must be.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from statistics import median

from gdnbench.campaign.pipes import failure, leave, private_stdout
from gdnbench.campaign.plan import Plan
from gdnbench.campaign.processes import die_with_parent
from gdnbench.campaign.records import LaunchRecord, Measured
from gdnbench.campaign.sides import Sides
from gdnbench.campaign.turns import BEFORE, creation, turns

Waits = Mapping[str, Mapping[str, int]]


def find_waits(plan: Plan) -> Waits:
    """For each handicapped role, and each scenario, its busy wait in idle loops."""
    with Sides(plan, plan.handicapped) as sides:
        sides.settle()
        return {
            role: {name: sides.hosts[role].wait_loops(role, plan.sides[role], name) for name in sides.scenarios}
            for role in plan.handicapped
        }


def run_launch(plan: Plan, number: int, waits: Waits) -> LaunchRecord:
    """One launch of a campaign: for each scenario and metric the blocks and the log ratio to `before`."""
    started, clock = datetime.now(UTC), time.monotonic()
    order = creation(tuple(plan.sides), number)
    with Sides(plan, order) as sides:
        for role, loops in waits.items():
            for name in sides.scenarios:
                sides.hosts[role].slow_down(role, name, loops[name])
        sides.settle()
        unequal = {name: fields for name in sides.scenarios if (fields := sides.unequal_fields(name))}
        cases = sides.cases()
        blocks: dict[tuple[str, str], dict[str, list[float]]] = {
            case: {role: [] for role in plan.sides} for case in cases
        }
        for turn in turns(tuple(plan.sides), number, plan.rounds):
            for (name, metric), steps in cases.items():
                for role in turn:
                    us = sides.hosts[role].block(role, name, metric, steps, plan.warmup)
                    blocks[name, metric][role].append(us)
        return LaunchRecord(
            number=number,
            started=started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - clock, 3),
            created=order,
            environment=sides.environment(),
            refused=sides.refused,
            unequal=unequal,
            measured=tuple(summarise(*case, cases[case], us, plan.base) for case, us in blocks.items()),
        )


def summarise(
    scenario: str,
    metric: str,
    steps: int,
    blocks: Mapping[str, list[float]],
    base: Callable[[str], str] = lambda role: BEFORE,
) -> Measured:
    """What a launch says of one scenario and metric.

    Args:
        scenario, metric, steps: as in `Measured`.
        blocks: for each role the medians of its blocks in microseconds, round by round.
        base: the role that a role's ratio is taken to.
    """
    ratios = {
        role: median([math.log(a / b) for a, b in zip(us, blocks[base(role)], strict=True)])
        for role, us in blocks.items()
        if role != BEFORE
    }
    medians = {role: round(median(us), 4) for role, us in blocks.items()}
    rounded = {role: tuple([round(one, 3) for one in us]) for role, us in blocks.items()}
    return Measured(scenario, metric, steps, medians, ratios, rounded)


def main() -> int:
    die_with_parent()
    answers = private_stdout()
    request = json.load(sys.stdin)
    try:
        plan, number = Plan.from_json(request["plan"]), int(request["number"])
        answer = run_launch(plan, number, request["waits"]).to_json() if number else {"waits": find_waits(plan)}
    except Exception as error:
        answer = failure(error)
    json.dump(answer, answers)
    answers.flush()
    return 1 if "error" in answer else 0


if __name__ == "__main__":
    leave(main())
