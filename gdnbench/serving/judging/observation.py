"""What observing builds costs, from step to step.

Builds are observed in every third step. Neighbouring steps run at the same pace of the processor, on the same requests,
so a block compares the geometric mean of its observed steps with that of the others, which between them are the
control; a launch's ratio is the centre of its blocks'. Steps with a prefill are left out: they are few, their lengths
differ by orders, and of a longer step what observing adds is a smaller part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from gdnbench.campaign.turns import BEFORE
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import ServeLaunch
from gdnbench.stats.median import centre
from gdnbench.stats.paired import Comparison, judge_rows
from gdnbench.values.errors import UserError
from gdnbench.values.metrics import ENGINE_STEP
from gdnbench.values.observation import ObservationCost

Phases = Sequence[tuple[int, float]]
"""Of a block, at each place among three: steps, and the sum of the logarithms of their nanoseconds."""


def judge_observation(plan: ServePlan, launches: Sequence[ServeLaunch]) -> ObservationCost:
    """Judge the launches of an observation campaign.

    Raises:
        UserError: none of them has steps of every place.
    """
    found = [blocks for launch in launches if (blocks := _blocks(launch))]
    if not found:
        raise UserError("no launch in which observation took turns: this is no campaign of --observation")
    compared = _comparison([[(_mean(one[1:]), _mean(one[:1])) for one in blocks] for blocks in found])
    control = _comparison([[(_mean(one[1:2]), _mean(one[2:])) for one in blocks] for blocks in found])
    judgement, own = judge_rows([compared], [control])[0], judge_rows([control])[0]
    return ObservationCost(
        variant=plan.sides[BEFORE],
        steps=sum(steps for blocks in found for one in blocks for steps, _ in one),
        unobserved_us=median(compared.before),
        observed_us=median(compared.after),
        judgement=judgement,
        control=own,
    )


def _blocks(launch: ServeLaunch) -> list[Phases]:
    """Those of its blocks that have steps of every place."""
    return [block.phases for block in launch.blocks if block.phases and all(steps for steps, _ in block.phases)]


def _mean(phases: Phases) -> float:
    """Of the logarithm of a step's nanoseconds."""
    return sum(log_ns for _, log_ns in phases) / sum(steps for steps, _ in phases)


def _us(log_ns: float) -> float:
    return math.exp(log_ns) / 1000


def _comparison(launches: Sequence[Sequence[tuple[float, float]]]) -> Comparison:
    """From the means of both, block by block."""
    return Comparison(
        metric=ENGINE_STEP,
        log_ratios=tuple(centre([after - before for before, after in blocks]) for blocks in launches),
        before=tuple(_us(fmean(before for before, _ in blocks)) for blocks in launches),
        after=tuple(_us(fmean(after for _, after in blocks)) for blocks in launches),
    )
