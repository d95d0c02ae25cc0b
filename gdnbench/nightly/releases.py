"""The release history measured: what each release of vLLM asks of the device, and a chain of their step times."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from gdnbench.campaign import campaign
from gdnbench.campaign.chain import chain, check_memory, judge_chain
from gdnbench.campaign.costs import count_costs, count_side
from gdnbench.campaign.journal import Journal
from gdnbench.history.of_chain import chain_run
from gdnbench.history.of_cost import cost_run
from gdnbench.history.releases import in_order
from gdnbench.nightly.measuring import Say, Told
from gdnbench.nightly.parts import NightPlan, Part
from gdnbench.oracle.wheels import known_releases
from gdnbench.values.errors import UserError
from gdnbench.values.runs import Run
from gdnbench.values.variants import Variant, parse

FIRST = "0.20.0"

SCENARIOS = ("q1s1k", "16q1s1k", "q2k", "15q1s1k_q2k", "16q9s1kd8", "8q9s1kd8_6q1s1k_2q128")
"""A decode at concurrency 1 and 16, a prefill, a mixed step, uniform speculation, speculation beside both."""

LAUNCH_S = 5.0
"""That each release adds to a launch of a chain: importing vLLM on two cores, and its blocks."""

_WHOLE_DAY_S = 24 * 3600.0


def releases_between(first: str, last: str | None) -> tuple[str, ...]:
    """The releases in the project's table from `first` to `last`, both included; `last` may be newer than the table.

    Raises:
        UserError: there are not two.
    """
    for name in filter(None, (first, last)):
        parse(f"vllm@{name}")
    known = known_releases()
    order = in_order([*known, first, *([last] if last else [])])
    found = order[order.index(first) : order.index(last) + 1 if last else len(order)]
    if len(found) < 2:
        raise UserError(f"--from {first} --to {last}: two releases are needed; known: {', '.join(known)}")
    return found


def plan_of_releases(
    releases: Sequence[str], scenarios: Sequence[str] = SCENARIOS, launches: int | None = None
) -> NightPlan:
    """A plan that counts each release and times them as one chain.

    Args:
        releases: two at least, the oldest first.
        scenarios: names of scenarios.
        launches: of the chain; default, what its rows need.
    """
    variants = [f"vllm@{release}" for release in releases]
    asked = {"scenarios": list(scenarios)}
    plan = chain(variants, scenarios, launches)
    minutes = plan.launches * len(plan.sides) * LAUNCH_S / 60
    whole: dict[str, Any] = {**asked, "chain": variants, "launches": plan.launches}
    parts = [Part("cost", before, after, asked) for before, after in pairwise(variants)]
    parts.append(Part("step", variants[0], variants[-1], whole, minutes=minutes))
    return NightPlan("releases", _WHOLE_DAY_S, frozenset(), tuple(parts))


class ReleaseMeasure:
    """Measures the parts of such a plan; a release is counted once, though it stands in two pairs."""

    def __init__(self) -> None:
        self._counted: dict[str, Mapping[str, Any]] = {}

    def __call__(self, part: Part, journal: Path, told: Told, say: Say) -> Run:
        if part.kind == "cost":
            started, sides = datetime.now(UTC), (parse(part.before), parse(part.after))
            return cost_run(*sides, count_costs(*sides, part.options["scenarios"], count=self._count), started)
        asked = part.options
        plan = chain(asked["chain"], asked["scenarios"], asked["launches"])
        check_memory(plan)
        campaign.check_sides(plan, say)
        opened = Journal.going_on(journal, plan)
        launches = campaign.run(opened, lambda done: told("launches", done, plan.launches))
        return chain_run(judge_chain(plan, launches))

    def _count(
        self, side: Variant, parts: Sequence[str], change: int | None, scenarios: Sequence[str]
    ) -> Mapping[str, Any]:
        key = json.dumps([str(side), list(parts), change, list(scenarios)])
        if key not in self._counted:
            self._counted[key] = count_side(side, parts, change, scenarios)
        return self._counted[key]
