"""Exact costs as a run. They are the same on every machine, so their series have none."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from gdnbench.campaign.costs import Counted
from gdnbench.campaign.surroundings import surroundings
from gdnbench.drivers.choice import change_of
from gdnbench.history.pointing import RATIO, once, one_line, why_invalid
from gdnbench.history.surroundings import machine_of, source
from gdnbench.values.gate import EXACT
from gdnbench.values.metrics import COST_METRICS
from gdnbench.values.runs import Run, RunIdentity
from gdnbench.values.series import ANYWHERE, Point, Series
from gdnbench.values.variants import Variant
from gdnbench.values.verdicts import Caveat, Judgement, worst


def cost_run(before: Variant, after: Variant, counted: Mapping[str, Counted], started: datetime | None = None) -> Run:
    """The run of costs that were counted just now: every count of both sides, and what each scenario's say together.

    Args:
        counted: by part.
        started: when counting began; default, now.
    """
    scenarios = [row.scenario for one in counted.values() for row in one.result.rows]
    refused = [
        Caveat("refused", f"{part}: {scenario} was left out: {reason}", "nothing to do, unless it was asked for")
        for part, one in counted.items()
        for scenario, reason in one.refused.items()
    ]
    return Run(
        identity=RunIdentity(
            kind="cost",
            started=(started or datetime.now(UTC)).isoformat(),
            machine=machine_of(surroundings(), "traced"),
            source=source(),
            change=change_of((before, after)),
            variants={"before": str(before), "after": str(after)},
            loads=tuple(dict.fromkeys(scenarios)),
            part=next(iter(counted)) if len(counted) == 1 else "",
        ),
        points=once(_points(str(before), str(after), counted)),
        token=f"cost {uuid.uuid4()}",
        verdict=worst(one.result.verdict for one in counted.values()),
        warnings=tuple(refused),
    )


def _points(before: str, after: str, counted: Mapping[str, Counted]) -> Iterator[Point]:
    for part, one in counted.items():
        for row in one.result.rows:
            yield from counts(
                row.variant, part, row.scenario, row.counts, why_invalid(one.result.judgements[row.scenario])
            )
        for scenario, judgement in one.result.judgements.items():
            yield cost_comparison(after, before, part, scenario, judgement)


def counts(variant: str, part: str, scenario: str, found: Mapping[str, int], invalid: str = "") -> Iterator[Point]:
    """A point for each count of one step."""
    for metric in COST_METRICS:
        value = float(found[metric.tag])
        yield Point(
            series=_series(variant, "", part, scenario, metric.tag),
            value=value,
            unit=metric.unit,
            direction=metric.direction,
            assumption="exact",
            interval=(value, value),
            invalid=invalid,
        )


def cost_comparison(variant: str, against: str, part: str, scenario: str, judgement: Judgement) -> Point:
    """What all counts of one step say together: the ratio is that of the count that decides."""
    return Point(
        series=_series(variant, against, part, scenario, EXACT),
        value=math.nan if judgement.ratio is None else judgement.ratio,
        unit=RATIO,
        direction="lower",
        assumption="exact",
        interval=judgement.interval,
        primary=variant != against,
        verdict=None if variant == against else judgement.verdict,
        invalid=why_invalid(judgement),
        reason=one_line(judgement.reason),
    )


def _series(variant: str, against: str, part: str, scenario: str, metric: str) -> Series:
    return Series(variant, against, part, scenario, metric, "count", "", "traced", "", ANYWHERE)
