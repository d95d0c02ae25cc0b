"""What the processor's own pace did to a figure, taken out by what identical code showed.

On a shared machine a core runs at two thirds of its pace while a neighbour uses its other half, for seconds at a time
and for reasons that no side has. The plugin times one short fixed loop at the begin of each step, so each block knows
its pace. How far a figure follows the pace is fitted on pairs of identical code alone (the before side and its control,
all launches together); what it explains is then taken from every log ratio, that of the control as well. Since the fit
never sees the after side, nothing of its effect can leak into it. And a round in which the pace changed weighs less
than one in which it stood still. Where a figure does not follow the pace, nothing is done.

Source: regression on a covariate that the treatment cannot touch (control variates; "CUPED" in online experiments,
Deng et al. 2013).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from gdnbench.campaign.turns import BEFORE, CONTROL
from gdnbench.serving.judging.rounds import Round, rounds
from gdnbench.serving.records import Block, ServeLaunch

FEWEST_PAIRS = 20
LEAST_SHARE = 0.1
"""Of the control's variance that the pace must explain, or nothing is taken out."""

UNSTEADY = 0.1
"""Standard deviation of the log pace among a round's blocks at which the round weighs half."""

Pair = tuple[float, float]
"""Log ratio of the pace, and of the figure."""


def log_pace(one: Block, other: Block) -> float | None:
    """By how much slower the processor was in the other block, as a log ratio; None if it is not known."""
    if not one.pace_ns or not other.pace_ns:
        return None
    return math.log(other.pace_ns / one.pace_ns)


def slope(pairs: Iterable[Pair]) -> float:
    """How far a figure follows the pace, from pairs of identical code: 0 not at all, 1 or -1 wholly."""
    found = list(pairs)
    if len(found) < FEWEST_PAIRS:
        return 0.0
    spread = sum(pace * pace for pace, _ in found)
    both = sum(pace * figure for pace, figure in found)
    total = sum(figure * figure for _, figure in found)
    if spread == 0 or total == 0 or both * both < LEAST_SHARE * spread * total:
        return 0.0
    return max(-1.0, min(1.0, both / spread))


def steadiness(paces: Sequence[float]) -> float:
    """What a round weighs, 0 to 1, by how alike the processor's pace was in its blocks.

    What the pace leaves unexplained grows with its changes: on the machine where figures are made the rest of a round
    scattered by 6 % where paces differed by less than 7 %, and by 15 to 18 % where they differed by more than 25 %.

    Args:
        paces: logarithms, one for each block.
    """
    middle = fmean(paces)
    return 1 / (1 + fmean((pace - middle) ** 2 for pace in paces) / UNSTEADY**2)


def identical_pairs(launches: Sequence[ServeLaunch], concurrency: int) -> list[Round]:
    """The rounds in which the before side and its control both ran."""
    return [one for one in rounds(launches, concurrency) if BEFORE in one.blocks and CONTROL in one.blocks]
