"""Verdicts, and the rows and results that carry them. `to_json` gives the objects that `--json` prints.

Nothing here is computed: `gdnbench.stats` makes judgements, reports and the command line show them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gdnbench.values.metrics import Metric

Json = dict[str, Any]


class Verdict(StrEnum):
    """What a comparison says."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    SAME = "same"
    UNKNOWN = "unknown"
    INVALID = "invalid"

    @property
    def inverse(self) -> Verdict:
        """The verdict with the sides swapped."""
        return _INVERSE.get(self, self)


_INVERSE = {Verdict.IMPROVED: Verdict.REGRESSED, Verdict.REGRESSED: Verdict.IMPROVED}


@dataclass(frozen=True, slots=True)
class Caveat:
    """A warning that travels with a result until a reader sees it.

    Attributes:
        code: one word for programs.
        message: what is the matter, one line.
        advice: what to do next, one line.
    """

    code: str
    message: str
    advice: str

    def to_json(self) -> Json:
        return {"code": self.code, "message": self.message, "advice": self.advice}


@dataclass(frozen=True, slots=True)
class Judgement:
    """One comparison judged.

    Attributes:
        verdict: the verdict.
        ratio: after / before; None where there is none (invalid, no launches, division by zero).
        interval: of the ratio, at least 95 %; None where the launches are too few to have one.
        p_value: of "no change", two-sided, this row alone; None for exact metrics, which have no chance in them.
        p_adjusted: the same, corrected for the other rows of its family (Holm); decides.
        launches: how many launches it rests on.
        smallest_detectable: the change, as a fraction, that this many launches here find in 80 % of campaigns.
        more_launches: for `unknown`: how many further launches would settle it; None if no number within reason would.
        reason: one line: why it is invalid or unknown, or what decided.
        warnings: caveats.
    """

    verdict: Verdict
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    launches: int = 0
    smallest_detectable: float | None = None
    more_launches: int | None = None
    reason: str = ""
    warnings: tuple[Caveat, ...] = ()

    def to_json(self) -> Json:
        return {
            "ratio": finite(self.ratio),
            "ci": None if self.interval is None else [finite(end) for end in self.interval],
            "launches": self.launches,
            "verdict": self.verdict.value,
            "smallest_detectable": finite(self.smallest_detectable),
            "p_value": finite(self.p_value),
            "p_adjusted": finite(self.p_adjusted),
            "more_launches": self.more_launches,
            "reason": self.reason,
            "warnings": [caveat.to_json() for caveat in self.warnings],
        }


def overall(judgements: Iterable[Judgement]) -> Verdict:
    """One verdict for several rows: see `worst`."""
    return worst(judgement.verdict for judgement in judgements)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict for several: the worst that there is, then `improved`, then what is not known.

    `improved` therefore means: something improved and nothing got worse. None at all are `invalid`.
    """
    found = set(verdicts)
    order = (Verdict.INVALID, Verdict.REGRESSED, Verdict.IMPROVED, Verdict.UNKNOWN, Verdict.SAME)
    return next((verdict for verdict in order if verdict in found), Verdict.INVALID)


@dataclass(frozen=True, slots=True)
class StepRow:
    """One scenario and metric of a step-time comparison.

    Attributes:
        before, after: geometric means over all blocks of all launches, in the metric's unit.
        of_limit: both as multiples of the limit's time in the same launches; None where it did not run beside.
    """

    scenario: str
    metric: Metric
    primary: bool
    before: float | None
    after: float | None
    judgement: Judgement
    of_limit: tuple[float, float] | None = None

    def to_json(self) -> Json:
        return {
            "scenario": self.scenario,
            "metric": self.metric.tag,
            "unit": self.metric.unit,
            "primary": self.primary,
            "before": finite(self.before),
            "after": finite(self.after),
            "of_limit": None if self.of_limit is None else [finite(one) for one in self.of_limit],
            **self.judgement.to_json(),
        }


@dataclass(frozen=True, slots=True)
class StepResult:
    """What `gdnbench step --json` prints: the rows, and the same code against itself in the same launches."""

    rows: tuple[StepRow, ...]
    control: StepRow | None

    @property
    def verdict(self) -> Verdict:
        """Of the primary rows."""
        return overall(row.judgement for row in self.rows if row.primary)

    def to_json(self) -> Json:
        return {
            "rows": [row.to_json() for row in self.rows],
            "control": None if self.control is None else self.control.to_json(),
            "verdict": self.verdict.value,
        }


@dataclass(frozen=True, slots=True)
class CostRow:
    """The exact costs of one variant on one scenario; `operations` in their order, where they were asked for."""

    scenario: str
    variant: str
    counts: Mapping[str, int]
    operations: tuple[str, ...] | None = None

    def to_json(self) -> Json:
        row: Json = {"scenario": self.scenario, "variant": self.variant, **{tag: self.counts[tag] for tag in _COSTS}}
        if self.operations is not None:
            row["operations"] = list(self.operations)
        return row


_COSTS = ("device_ops", "h2d_pinned", "h2d_pageable", "d2h", "syncs", "host_ops", "alloc_bytes")


@dataclass(frozen=True, slots=True)
class CostResult:
    """What `gdnbench cost --json` prints: one row per scenario and variant, and a judgement per scenario."""

    rows: tuple[CostRow, ...]
    judgements: Mapping[str, Judgement]

    @property
    def verdict(self) -> Verdict:
        return overall(self.judgements.values())

    def to_json(self) -> Json:
        return {
            "rows": [row.to_json() for row in self.rows],
            "verdict": self.verdict.value,
            "scenarios": [
                {
                    "scenario": scenario,
                    "verdict": judgement.verdict.value,
                    "reason": judgement.reason,
                    "warnings": [caveat.to_json() for caveat in judgement.warnings],
                }
                for scenario, judgement in self.judgements.items()
            ],
        }


def finite(value: float | None) -> float | None:
    """JSON has no infinity and no NaN: both become null."""
    return value if value is not None and math.isfinite(value) else None
