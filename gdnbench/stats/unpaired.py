"""The rule for figures of two days: launches of both sides that never ran side by side, so that no ratio can be paired.

Each side's median has an interval by order statistics (`stats.median`), at half of the error; together they bound the
ratio, whatever the distributions. A verdict needs the whole interval beyond the metric's floor, `same` the whole
interval inside it; the rest is `unknown`. That is far less sharp than pairs: the spread between launches stays in, and
what the machine did otherwise that day is not in the interval at all. So the judgement always carries a caveat.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from gdnbench.stats.median import ALPHA, fewest, interval
from gdnbench.values.metrics import Metric
from gdnbench.values.verdicts import Caveat, Judgement, Verdict

NOT_BALANCED = Caveat(
    "unbalanced",
    "order not balanced: the baseline was measured on another occasion, so drift of the machine is in the ratio",
    "gate against a commit, which is measured now, in turns with this state: --baseline REF",
)


def judge_unpaired(
    metric: Metric, before: Sequence[float], after: Sequence[float], family: int = 1, alpha: float = ALPHA
) -> Judgement:
    """Two samples of launches, judged.

    Args:
        metric: a sampled one.
        before, after: each launch's median, in the metric's unit.
        family: rows that are judged together; each gets an equal share of the error.
        alpha: the error of all rows together.
    """
    launches = min(len(before), len(after))
    for name, values in (("before", before), ("after", after)):
        for launch, value in enumerate(values, start=1):
            if not (math.isfinite(value) and value > 0):
                reason = f"launch {launch}: {metric.tag} {name} is {value:g} {metric.unit}"
                return Judgement(Verdict.INVALID, launches=launches, reason=reason)
    if launches == 0:
        return Judgement(Verdict.INVALID, reason="a side has no launches")
    share = alpha / family / 2
    levels = median(before), median(after)
    floor = metric.log_floor(math.sqrt(levels[0] * levels[1]))
    ends = [interval([math.log(value) for value in values], share) for values in (before, after)]
    if ends[0] is None or ends[1] is None:
        more = fewest(share) - launches
        reason = f"too few launches: {launches}, and {fewest(share)} a side are the fewest that can say"
        return Judgement(
            Verdict.UNKNOWN,
            levels[1] / levels[0],
            launches=launches,
            more_launches=more,
            reason=reason,
            warnings=(NOT_BALANCED,),
        )
    low, high = ends[1][0] - ends[0][1], ends[1][1] - ends[0][0]
    if low > floor or high < -floor:
        verdict = Verdict.IMPROVED if metric.is_better(low + high) else Verdict.REGRESSED
    else:
        verdict = Verdict.SAME if -floor <= low and high <= floor else Verdict.UNKNOWN
    reason = "" if verdict is not Verdict.UNKNOWN else "launches of two occasions scatter too much to tell"
    return Judgement(
        verdict,
        levels[1] / levels[0],
        (math.exp(low), math.exp(high)),
        launches=launches,
        reason=reason,
        warnings=(NOT_BALANCED,),
    )
