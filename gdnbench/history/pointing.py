"""What converters of all kinds share: points from launches, one for each series, and tokens."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from gdnbench.stats.median import interval
from gdnbench.values.metrics import Metric
from gdnbench.values.series import Point, Series
from gdnbench.values.text import printable
from gdnbench.values.verdicts import Judgement, Verdict

RATIO, DIFFERENCE = "ratio", "difference"
"""Units of comparisons."""


def own_figure(series: Series, metric: Metric, samples: Sequence[float], judgement: Judgement, primary: bool) -> Point:
    """A variant's own figure: the median of its launches, at least one, and an interval where they are enough.

    Args:
        series: whose `metric` is set.
        judgement: of the comparison that it was measured for: an invalid one spoils it too.
    """
    return Point(
        series=series,
        value=median(samples),
        unit=metric.unit,
        direction=metric.direction,
        assumption=metric.assumption,
        interval=interval(samples),
        launches=len(samples),
        primary=primary,
        invalid=why_invalid(judgement),
        samples=tuple(samples),
    )


def comparison(
    series: Series, metric: Metric, judgement: Judgement, log_ratios: Sequence[float], primary: bool
) -> Point:
    """A ratio as it was judged; one against identical code, the control, has no verdict.

    Args:
        series: whose `against` is set.
        log_ratios: one for each launch; none where that is not known.
    """
    control = series.variant == series.against
    return Point(
        series=series,
        value=math.nan if judgement.ratio is None else judgement.ratio,
        unit=RATIO,
        direction=metric.direction,
        assumption=metric.assumption,
        interval=judgement.interval,
        launches=judgement.launches,
        primary=primary and not control,
        verdict=None if control else judgement.verdict,
        invalid=why_invalid(judgement),
        reason=one_line(judgement.reason),
        smallest_detectable=judgement.smallest_detectable,
        samples=tuple(math.exp(ratio) for ratio in log_ratios),
    )


def why_invalid(judgement: Judgement) -> str:
    """Why figures must not be held against others; empty where they may."""
    return one_line(judgement.reason) or "invalid" if judgement.verdict is Verdict.INVALID else ""


def once(points: Iterable[Point]) -> tuple[Point, ...]:
    """The first point of each series: where both sides are one variant, its figures are there twice."""
    found: dict[Series, Point] = {}
    for point in points:
        found.setdefault(point.series, point)
    return tuple(found.values())


def for_metric(series: Series, metric: Metric, **key: str) -> Series:
    """A key completed."""
    return replace(series, metric=metric.tag, **key)


def token_of(kind: str, facts: Any) -> str:
    """The token of a measurement, from what no other one has.

    Args:
        facts: of JSON's types, such as when its launches began and how many seconds each took.
    """
    return f"{kind} {hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()}"


def one_line(text: str) -> str:
    """A text that is printable, and at most 1,000 characters long."""
    return printable(text[:1000])
