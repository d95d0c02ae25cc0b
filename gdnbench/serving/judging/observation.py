"""What observing builds costs, from step to step.

Builds are observed in every third step. Neighbouring steps run at the same pace of the processor, on the same requests,
so a launch compares the geometric mean of its observed steps with that of the others, which between them are the
control. Steps with a prefill are left out: they are few and their lengths differ by orders, and of a longer step what
observing adds is a smaller part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from gdnbench.campaign.turns import BEFORE
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import ServeLaunch
from gdnbench.stats.paired import Comparison, judge_rows
from gdnbench.values.errors import UserError
from gdnbench.values.metrics import ENGINE_STEP
from gdnbench.values.observation import ObservationCost

Phases = list[tuple[int, float]]
"""Of a launch, at each place among three: steps, and the sum of the logarithms of their nanoseconds."""


def judge_observation(plan: ServePlan, launches: Sequence[ServeLaunch]) -> ObservationCost:
    """Judge the launches of an observation campaign.

    Raises:
        UserError: none of them has steps of every place.
    """
    found = [phases for launch in launches if (phases := _phases(launch)) and all(steps for steps, _ in phases)]
    if not found:
        raise UserError("no launch in which observation took turns: this is no campaign of --observation")
    observed = [_mean(phases[:1]) for phases in found]
    others = [_mean(phases[1:]) for phases in found]
    control = [(_mean(phases[1:2]), _mean(phases[2:3])) for phases in found]
    comparisons = _comparison(others, observed), _comparison(*zip(*control, strict=True))
    judgement, own = judge_rows(comparisons[:1], comparisons[1])[0], judge_rows(comparisons[1:])[0]
    return ObservationCost(
        variant=plan.sides[BEFORE],
        steps=sum(steps for phases in found for steps, _ in phases),
        unobserved_us=median(map(_us, others)),
        observed_us=median(map(_us, observed)),
        judgement=judgement,
        control=own,
    )


def _phases(launch: ServeLaunch) -> Phases:
    kept = [block.phases for block in launch.blocks if block.phases]
    return [(sum(steps for steps, _ in place), sum(log_ns for _, log_ns in place)) for place in zip(*kept, strict=True)]


def _mean(phases: Sequence[tuple[int, float]]) -> float:
    """Of the logarithm of a step's nanoseconds."""
    return sum(log_ns for _, log_ns in phases) / sum(steps for steps, _ in phases)


def _us(log_ns: float) -> float:
    return math.exp(log_ns) / 1000


def _comparison(before: Sequence[float], after: Sequence[float]) -> Comparison:
    return Comparison(
        metric=ENGINE_STEP,
        log_ratios=tuple(b - a for a, b in zip(before, after, strict=True)),
        before=tuple(map(_us, before)),
        after=tuple(map(_us, after)),
    )
