"""From the blocks of launches to one figure a side and launch, and the log ratios that are judged.

`switch`: all sides take turns on the same requests, so each round gives a ratio, freed of what the processor's pace did
(`judging.pace`), and a launch's is their centre. The before side runs twice in a round, once as the control, and the
after side is held against the mean of both. Where a figure needs many samples (p99, tokens per step), the samples of a
side's blocks are taken together.

`apart`: a side's blocks in its server are one pass, and a launch's ratio is that of its two passes. The control is a
server against the next one, where both run the same side: from one launch to the following.

What a side's blocks give together, as one long run would have printed it: rates are totals, all tokens by all seconds.
A mean is that of all samples, from the blocks' means weighted by their samples. A median is the weighted median of the
blocks' medians: half of the samples lie in blocks below it; blocks are alike in size, and the same requests make them
on both sides. So the figures of a side agree with each other, and token totals are the same on both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from gdnbench.campaign.turns import AFTER, BEFORE, CONTROL
from gdnbench.serving.judging.pace import identical_pairs, log_pace, slope, steadiness
from gdnbench.serving.judging.rounds import NO_TIME_MS, Round, blocks_of, rounds
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import Block, ServeLaunch
from gdnbench.stats.median import centre
from gdnbench.stats.paired import Comparison
from gdnbench.values.metrics import ACCEPTANCE_LENGTH, LATENCIES, OUTPUT_THROUGHPUT, THROUGHPUTS, Metric
from gdnbench.values.serving import Statistic


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric and its statistic."""

    metric: Metric
    statistic: Statistic

    @property
    def key(self) -> str:
        """vLLM's name for it in a block's figures."""
        return self.metric.tag if self.statistic == "rate" else f"{self.statistic}_{self.metric.tag}_ms"

    @property
    def primary(self) -> bool:
        return self.metric is OUTPUT_THROUGHPUT

    def of(self, block: Block) -> float | None:
        """A block's own figure; None where there is none that could be divided by."""
        value = block.figures.get(self.key)
        least = NO_TIME_MS if self.metric in LATENCIES else 0.0
        return value if value is not None and math.isfinite(value) and value > least else None


ACCEPTANCE = Figure(ACCEPTANCE_LENGTH, "mean")
STATISTICS: tuple[Statistic, ...] = ("mean", "median", "p99")
FIGURES = (
    *(Figure(metric, "rate") for metric in THROUGHPUTS),
    *(Figure(metric, statistic) for metric in LATENCIES for statistic in STATISTICS),
)


@dataclass(frozen=True, slots=True)
class Replicate:
    """One launch of one row: both sides' figures, and the log ratio, freed of the processor's pace and raw."""

    before: float
    after: float
    log_ratio: float
    raw_log_ratio: float
    before_first: bool | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What launches say of one figure.

    Attributes:
        compared: before against after.
        control: the same code against itself; None where nothing was measured twice.
        raw_ratio: after / before with the processor's pace left in, median over launches; None where it was not taken
            out.
    """

    compared: Comparison
    control: Comparison | None
    raw_ratio: float | None


def measured(plan: ServePlan, launches: Sequence[ServeLaunch], concurrency: int, figure: Figure) -> Measured:
    """Both comparisons of one figure."""
    follows = _pace_slope(plan, launches, concurrency, figure)
    found = _replicates(plan, launches, concurrency, figure, AFTER, follows)
    raw = [one.raw_log_ratio for one in found if one is not None] if follows else []
    return Measured(
        _comparison(figure, found),
        _control(plan, launches, concurrency, figure, follows),
        math.exp(median(raw)) if raw else None,
    )


def compared(plan: ServePlan, launches: Sequence[ServeLaunch], concurrency: int, figure: Figure) -> Comparison:
    """Before against after alone."""
    follows = _pace_slope(plan, launches, concurrency, figure)
    return _comparison(figure, _replicates(plan, launches, concurrency, figure, AFTER, follows))


def _by_rounds(plan: ServePlan, figure: Figure) -> bool:
    """Whether each round gives a ratio of its own."""
    return plan.method == "switch" and figure.statistic != "p99" and figure != ACCEPTANCE


def _pace_slope(plan: ServePlan, launches: Sequence[ServeLaunch], concurrency: int, figure: Figure) -> float:
    """How far a figure follows the processor's pace; 0 where that is not known, or not taken out."""
    if not _by_rounds(plan, figure):
        return 0.0
    pairs = []
    for one in identical_pairs(launches, concurrency):
        before, control = one.blocks[BEFORE], one.blocks[CONTROL]
        pace, a, b = log_pace(before, control), figure.of(before), figure.of(control)
        if pace is not None and a and b:
            pairs.append((pace, math.log(b / a)))
    return slope(pairs)


def _control(
    plan: ServePlan, launches: Sequence[ServeLaunch], concurrency: int, figure: Figure, follows: float
) -> Comparison | None:
    if CONTROL in plan.sides:
        found = _replicates(plan, launches, concurrency, figure, CONTROL, follows)
    else:
        found = [_neighbours(*pair, concurrency, figure) for pair in pairwise(launches)]
    comparison = _comparison(figure, found)
    return comparison if comparison.launches else None


def of_side(launches: Sequence[ServeLaunch], concurrency: int, figure: Figure, role: str) -> float | None:
    """One side's figure of the blocks of all these launches; of a p99 the median over launches. None: it has none."""
    if figure.statistic == "p99":
        found = [p99 for one in launches if (p99 := _pooled_p99(one, concurrency, figure, role)) is not None]
        return median(found) if found else None
    blocks = [block for one in launches for block in blocks_of(one, concurrency, role)]
    if figure == ACCEPTANCE:
        return _tokens_per_step(blocks)
    if figure.statistic == "rate":
        seconds = sum(block.duration_s for block in blocks)
        amount = sum(_AMOUNTS[figure.metric.tag](block) for block in blocks)
        return amount / seconds if amount > 0 and seconds > 0 else None
    weighted = [(value, block.samples.get(figure.metric.tag, 0)) for block in blocks if (value := figure.of(block))]
    if not sum(weight for _, weight in weighted):
        return None
    return _weighted_mean(weighted) if figure.statistic == "mean" else _weighted_median(weighted)


def samples(launches: Sequence[ServeLaunch], concurrency: int, figure: Figure) -> int | None:
    """How many samples a figure has in a launch, on the side with the fewest; None for rates."""
    if figure.metric not in LATENCIES:
        return None
    counts = [
        sum(block.samples.get(figure.metric.tag, 0) for block in blocks_of(launch, concurrency, role))
        for launch in launches
        for role in (BEFORE, AFTER)
    ]
    return min(counts, default=0)


def _comparison(figure: Figure, replicates: Iterable[Replicate | None]) -> Comparison:
    found = [one for one in replicates if one is not None]
    orders = tuple(one.before_first for one in found if one.before_first is not None)
    return Comparison(
        metric=figure.metric,
        log_ratios=tuple(one.log_ratio for one in found),
        before=tuple(one.before for one in found),
        after=tuple(one.after for one in found),
        primary=figure.primary,
        before_first=orders if len(orders) == len(found) else None,
    )


def _replicates(
    plan: ServePlan, launches: Sequence[ServeLaunch], concurrency: int, figure: Figure, role: str, follows: float
) -> list[Replicate | None]:
    return [_replicate(plan, one, concurrency, figure, role, follows) for one in launches]


def _replicate(
    plan: ServePlan, launch: ServeLaunch, concurrency: int, figure: Figure, role: str, follows: float
) -> Replicate | None:
    before_first = None
    if BEFORE in launch.order and role in launch.order:
        before_first = launch.order.index(BEFORE) < launch.order.index(role)
    if _by_rounds(plan, figure):
        return _in_turns(launch, concurrency, figure, role, before_first, follows)
    before, own = (of_side([launch], concurrency, figure, side) for side in (BEFORE, role))
    return _ratio(before, own, before_first)


def _in_turns(
    launch: ServeLaunch, concurrency: int, figure: Figure, role: str, before_first: bool | None, follows: float
) -> Replicate | None:
    found = [
        (*_ratios(one, figure, role, own, follows), _weight(one, role))
        for one in rounds([launch], concurrency)
        if BEFORE in one.blocks and role in one.blocks
        if figure.of(one.blocks[BEFORE]) and (own := figure.of(one.blocks[role]))
    ]
    before, after = (of_side([launch], concurrency, figure, side) for side in (BEFORE, role))
    if not found or before is None or after is None:
        return None
    freed, raw, weights = zip(*found, strict=True)
    return Replicate(before, after, centre(freed, weights if follows else None), centre(raw), before_first)


def _ratios(one: Round, figure: Figure, role: str, own: float, follows: float) -> tuple[float, float]:
    """The log ratio of a round to the before side, and to its control as well where that is not what is judged.

    Args:
        own: the figure of the role in this round.

    Returns:
        freed of the processor's pace, and raw.
    """
    others = [one.blocks[name] for name in (BEFORE, CONTROL) if name != role and name in one.blocks]
    found = [
        (math.log(own / theirs), log_pace(other, one.blocks[role]) or 0.0)
        for other in others
        if (theirs := figure.of(other))
    ]
    return fmean(ratio - follows * pace for ratio, pace in found), fmean(ratio for ratio, _ in found)


def _weight(one: Round, role: str) -> float:
    """What a round weighs: see `judging.pace.steadiness`."""
    blocks = (one.blocks[name] for name in {BEFORE, CONTROL, role} if name in one.blocks)
    paces = [math.log(block.pace_ns) for block in blocks if block.pace_ns]
    return steadiness(paces) if paces else 1.0


def _neighbours(earlier: ServeLaunch, later: ServeLaunch, concurrency: int, figure: Figure) -> Replicate | None:
    """The last server of a launch against the first of the next, if they ran the same side."""
    role = earlier.order[-1]
    if later.number != earlier.number + 1 or later.order[0] != role:
        return None
    before, after = (of_side([launch], concurrency, figure, role) for launch in (earlier, later))
    return _ratio(before, after)


def _ratio(before: float | None, after: float | None, before_first: bool | None = None) -> Replicate | None:
    if before is None or after is None:
        return None
    ratio = math.log(after / before)
    return Replicate(before, after, ratio, ratio, before_first)


_AMOUNTS: dict[str, Callable[[Block], int]] = {
    "output_throughput": lambda block: block.output_tokens,
    "total_token_throughput": lambda block: block.input_tokens + block.output_tokens,
    "request_throughput": lambda block: block.completed,
}


def _tokens_per_step(blocks: Sequence[Block]) -> float | None:
    found = [block.acceptance for block in blocks if block.acceptance is not None]
    drafts = sum(one.drafts for one in found)
    return 1 + sum(one.accepted for one in found) / drafts if drafts > 0 else None


def _pooled_p99(launch: ServeLaunch, concurrency: int, figure: Figure, role: str) -> float | None:
    for one in launch.pooled:
        if (one.role, one.concurrency, one.metric) == (role, concurrency, figure.metric.tag):
            return one.p99_ms if math.isfinite(one.p99_ms) and one.p99_ms > 0 else None
    return None


def _weighted_mean(found: Sequence[tuple[float, int]]) -> float:
    return sum(value * weight for value, weight in found) / sum(weight for _, weight in found)


def _weighted_median(found: Sequence[tuple[float, int]]) -> float:
    """The value below and above which half of the weight lies; midway between two values that both do."""
    half, below = sum(weight for _, weight in found) / 2, 0.0
    in_order = sorted(found)
    for place, (value, weight) in enumerate(in_order):
        below += weight
        if below > half:
            return value
        if below == half:
            return (value + in_order[place + 1][0]) / 2
    return in_order[-1][0]
