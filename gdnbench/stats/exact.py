"""The rule for exact metrics: any difference is a verdict, and a trade-off is named.

Counts come in kinds, by what a unit of them costs. The first kind in which the sides differ decides:

    wait     syncs, d2h, h2d_pageable    the host stands still until the device has worked off its queue
    work     h2d_pinned, device_ops      a launch: some microseconds, whatever the queue holds
    memory   alloc_bytes                 no time by itself
    none     host_ops                    shown, never deciding: Python and NumPy on the host are not counted at all

If metrics of the deciding kind disagree (one sync fewer, one pageable copy more), nothing is decided: `unknown`, since
no count says which weighs more; step time does. A lesser kind that goes the other way leaves the verdict (a wait
outlasts launches, and a sync bought with fewer operations must not slip past a gate), but it is a caveat that travels
with it. If host operations alone differ the verdict is `unknown`, not `same`: they can make a step slower, and the
counts do not say by how much. The rule is symmetric: swapped sides give the inverse verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from gdnbench.values.metrics import COST_METRICS, Metric
from gdnbench.values.verdicts import Caveat, Judgement, Verdict

_MEASURE_TIME = "let step time decide: gdnbench step"


def judge_counts(
    before: Mapping[str, int], after: Mapping[str, int], metrics: Sequence[Metric] = COST_METRICS
) -> Judgement:
    """The counts of both sides, by metric tag, judged.

    Args:
        before, after: one count for each of `metrics`; others are ignored.
        metrics: in order of importance, the kinds (`Metric.burden`) together.

    Returns:
        A judgement whose ratio is that of the most important metric that differs (1 if none does).
    """
    if fault := _fault(before, after, metrics):
        return Judgement(Verdict.INVALID, launches=1, reason=fault)
    changed = [metric for metric in metrics if before[metric.tag] != after[metric.tag]]
    if not changed:
        return Judgement(Verdict.SAME, ratio=1.0, interval=(1.0, 1.0), launches=1, reason="all counts are equal")

    def story(of: Sequence[Metric]) -> str:
        return ", ".join(f"{metric.tag} {before[metric.tag]} -> {after[metric.tag]}" for metric in of)

    def better(metric: Metric) -> bool:
        return metric.is_better(after[metric.tag] - before[metric.tag])

    burden, group = next(groupby(changed, key=lambda metric: metric.burden))
    deciding = list(group)
    others = [metric for metric in changed if metric not in deciding]
    ratio = after[deciding[0].tag] / before[deciding[0].tag] if before[deciding[0].tag] else None
    interval = None if ratio is None else (ratio, ratio)
    warnings: tuple[Caveat, ...] = ()
    if burden == "none":
        verdict, reason = Verdict.UNKNOWN, f"only {story(deciding)}, which never decides alone; {_MEASURE_TIME}"
    elif len({better(metric) for metric in deciding}) > 1:
        verdict, reason = Verdict.UNKNOWN, f"a trade-off: {story(deciding)}; {_MEASURE_TIME}"
    else:
        good = better(deciding[0])
        verdict, reason = Verdict.IMPROVED if good else Verdict.REGRESSED, story(deciding)
        against = [metric for metric in others if better(metric) is not good]
        if against:
            price = f"{reason} {'at the price of' if good else 'in exchange for'} {story(against)}"
            warnings = (Caveat("trade-off", price, _MEASURE_TIME),)
    return Judgement(verdict, ratio=ratio, interval=interval, launches=1, reason=reason, warnings=warnings)


def _fault(before: Mapping[str, int], after: Mapping[str, int], metrics: Sequence[Metric]) -> str | None:
    for side, counts in (("before", before), ("after", after)):
        for metric in metrics:
            count = counts.get(metric.tag)
            if count is None:
                return f"{metric.tag} of the {side} side was not counted"
            if not isinstance(count, int) or isinstance(count, bool) or count < 0:
                return f"{metric.tag} of the {side} side is {count!r}, which is no count"
    return None
