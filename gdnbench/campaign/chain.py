"""A chain: releases one after another, each held against the one before it, all in the same launches.

Every release has a process of its own, and all take turns, block by block, on one core. What dominates such a launch
is importing vLLM: pairs apart would import each release three times, as before, after and control, where a chain
imports it once, and the first twice, as the control of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from gdnbench.campaign.judged import comparison_of, default_launches, few, row_of, warnings_of
from gdnbench.campaign.plan import Plan, last_core
from gdnbench.campaign.records import LaunchRecord
from gdnbench.campaign.surroundings import available_bytes
from gdnbench.campaign.turns import BEFORE, CONTROL
from gdnbench.drivers.choice import choose_part
from gdnbench.stats.paired import Comparison, judge_rows
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.metrics import HOST_TIME, METRICS
from gdnbench.values.variants import parse
from gdnbench.values.verdicts import Caveat, StepRow

ROUNDS = 40
"""Of each scenario in a launch: what differs between processes is not had by more rounds."""

BYTES_A_SIDE = 500 << 20
"""What a process holds once vLLM is imported, its share of what all of them share: 466 MB where it was looked at."""


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Two sides of a chain.

    Attributes:
        before, after: their variants.
        rows: one for each scenario and metric.
        warnings: what a reader must know of this pair.
    """

    before: str
    after: str
    rows: tuple[StepRow, ...]
    warnings: tuple[Caveat, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedChain:
    """What a chain says.

    Attributes:
        plan: what was compared.
        launches: all of its launches.
        pairs: of neighbours; all their rows of the metric that decides are one family.
        whole: from the first to each later side but the second, from the same launches; secondary.
        controls: for each scenario and metric the first side against its twin.
        warnings: what a reader must know of all of it.
    """

    plan: Plan
    launches: tuple[LaunchRecord, ...]
    pairs: tuple[JudgedPair, ...]
    whole: tuple[JudgedPair, ...]
    controls: tuple[StepRow, ...]
    warnings: tuple[Caveat, ...]


def chain(variants: Sequence[str], scenarios: Sequence[str], launches: int | None = None, rounds: int = ROUNDS) -> Plan:
    """The plan of a chain.

    Args:
        variants: two at least, all different, the oldest first.
        scenarios: names of scenarios.
        launches: default, enough for each row of each pair to say something among all.
        rounds: blocks of each side in a launch.

    Raises:
        UserError: they make no chain.
    """
    sides = [parse(text) for text in variants]
    names = [str(side) for side in sides]
    if len(set(names)) < max(2, len(names)):
        raise UserError("a chain needs two different variants or more, the oldest first")
    return Plan(
        sides={BEFORE: names[0], CONTROL: names[0], **{name: name for name in names[1:]}},
        scenarios=tuple(scenarios),
        part=choose_part(sides),
        launches=launches or default_launches(len(scenarios) * (len(names) - 1)),
        rounds=rounds,
        core=last_core(),
        apart=True,
        against={after: before for before, after in pairwise(names[1:])},
    )


def check_memory(plan: Plan) -> None:
    """Make sure that all sides of a chain fit into memory together, where the system tells how much is free.

    Raises:
        EnvironmentMissing: they do not.
    """
    needed, available = len(plan.sides) * BYTES_A_SIDE, available_bytes()
    if available is not None and available < needed:
        raise EnvironmentMissing(
            f"{len(plan.sides)} releases side by side need {needed / 1e9:.0f} GB of memory, and {available / 1e9:.0f} "
            "are free: measure fewer at a time, with the last of one part as the first of the next"
        )


def judge_chain(plan: Plan, launches: Sequence[LaunchRecord]) -> JudgedChain:
    """Judge the launches of a chain, at least one, by the rule for sampled metrics."""
    roles = [role for role in plan.sides if role not in (BEFORE, CONTROL)]
    cases = range(len(launches[0].measured))
    controls = [_comparison(launches, case, BEFORE, CONTROL, primary=False) for case in cases]
    alone = [judge_rows([control])[0] for control in controls]
    return JudgedChain(
        plan=plan,
        launches=tuple(launches),
        pairs=_judged(plan, launches, [(plan.base(role), role) for role in roles], controls, primary=True),
        whole=_judged(plan, launches, [(BEFORE, role) for role in roles[1:]], controls, primary=False),
        controls=tuple(row_of(launches, case, (BEFORE, CONTROL), controls[case], alone[case]) for case in cases),
        warnings=tuple(warnings_of(plan, launches)),
    )


def log_ratios(launches: Sequence[LaunchRecord], case: int, base: str, role: str) -> tuple[float, ...]:
    """For each launch the median over rounds of ln(a block of `role` / the one of `base`)."""
    return tuple(
        median([math.log(a / b) for a, b in zip(one.blocks_us[role], one.blocks_us[base], strict=True)])
        for one in (launch.measured[case] for launch in launches)
    )


def _judged(
    plan: Plan,
    launches: Sequence[LaunchRecord],
    pairs: Sequence[tuple[str, str]],
    controls: Sequence[Comparison],
    primary: bool,
) -> tuple[JudgedPair, ...]:
    """Pairs of roles, all their rows judged as one family."""
    cases = range(len(controls))
    places = [(case, pair) for pair in pairs for case in cases]
    comparisons = [_comparison(launches, case, *pair, primary) for case, pair in places]
    judgements = judge_rows(comparisons, list(controls) * len(pairs))
    rows = [
        row_of(launches, case, pair, comparison, judgement)
        for (case, pair), comparison, judgement in zip(places, comparisons, judgements, strict=True)
    ]
    return tuple(
        JudgedPair(
            plan.sides[base],
            plan.sides[role],
            tuple(rows[number * len(cases) : (number + 1) * len(cases)]),
            tuple(_unequal(launches, role)) if base == plan.base(role) else (),
        )
        for number, (base, role) in enumerate(pairs)
    )


def _comparison(launches: Sequence[LaunchRecord], case: int, base: str, role: str, primary: bool) -> Comparison:
    decides = METRICS[launches[0].measured[case].metric] is HOST_TIME
    ratios = log_ratios(launches, case, base, role)
    return comparison_of(launches, case, (base, role), ratios, primary=primary and decides)


def _unequal(launches: Sequence[LaunchRecord], role: str) -> list[Caveat]:
    return [
        Caveat(
            "unequal",
            f"{scenario}: both give different metadata, as they may: {few(unequal[role])}",
            "read the ratio as the cost of different work",
        )
        for scenario, unequal in launches[0].unequal.items()
        if role in unequal
    ]
