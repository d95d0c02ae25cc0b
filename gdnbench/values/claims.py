"""What an author states of a change, as a value, and what figures say of it.

    METRIC CHANGE [@ concurrency=N]

    output_tps +7% @ concurrency=1        tpot -0.3ms @ c=16        tok/s 184.07 -> 197.50 @ c=1
    itl x0.9                              output_tps unchanged      build -54us

METRIC is a name of `vllm bench serve`'s JSON or one of the short names in `METRIC_NAMES`; `build` is the time of one
build of one KV group, as a profiler shows it. CHANGE is in percent, in the metric's unit, a factor, two figures, or
`unchanged`. `about`, `up to` and `~` before it are read over.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum

from gdnbench.values.errors import UserError
from gdnbench.values.verdicts import Json, finite

BUILD = "build"
"""Of a claim of what a profiler shows for one build."""

METRIC_NAMES = {
    "output_tps": "output_throughput",
    "output": "output_throughput",
    "throughput": "output_throughput",
    "tok/s": "output_throughput",
    "tps": "output_throughput",
    "total_tps": "total_token_throughput",
    "req/s": "request_throughput",
    "rps": "request_throughput",
    "ttft": "mean_ttft_ms",
    "tpot": "mean_tpot_ms",
    "itl": "mean_itl_ms",
    "step_time": "mean_itl_ms",
    "e2el": "mean_e2el_ms",
    "e2e": "mean_e2el_ms",
    "acceptance_length": "spec_decode_acceptance_length",
}
"""Short names for those of `vllm bench serve`'s JSON; a mean where a latency names no statistic."""

_KNOWN = re.compile(r"(?:mean|median|p[0-9]{1,2}(?:\.[0-9]+)?)_(?:ttft|tpot|itl|e2el)_ms")
_SHORT = re.compile(r"(mean|median|p[0-9]{1,2}(?:\.[0-9]+)?)_(ttft|tpot|itl|e2el)")
_AT = re.compile(r"(?:concurrency|c|bs|batch|batch_size)\s*[=:]?\s*([0-9]{1,6})", re.IGNORECASE)
_CHANGE = re.compile(
    r"(?P<factor>[x\u00d7]\s*[0-9]*\.?[0-9]+|[0-9]*\.?[0-9]+\s*[x\u00d7])"
    r"|(?P<before>[0-9]+(?:\.[0-9]+)?)\s*(?:->|→|to)\s*(?P<after>[0-9]+(?:\.[0-9]+)?)\s*(?:tok/s|req/s|ms|us)?"
    r"|(?P<size>[+-]?[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>%|ms|us|µs|tok/s|req/s|points?)?"
    r"|(?P<same>unchanged|same|no\s+change|neutral)",
    re.IGNORECASE,
)
_HEDGES = re.compile(r"^(?:about|around|approximately|approx\.?|up\s+to|~|≈)\s*", re.IGNORECASE)
_EXAMPLE = "for example: output_tps +7% @ concurrency=1"


class Support(StrEnum):
    """What figures say of a claim."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    CONTRADICTED = "contradicted"
    BEYOND = "beyond what this machine can see"
    ELSEWHERE = "measured elsewhere"


@dataclass(frozen=True, slots=True)
class StatedClaim:
    """What an author stated.

    Attributes:
        text: as it was written.
        metric: by the names of `vllm bench serve`'s JSON, or `build`, or the name of a task.
        ratio: after / before; 1 for `unchanged`; None where a difference was stated.
        difference: after - before, in `unit`; None where a ratio was stated.
        unit: of the difference: ms, us, tok/s, req/s or points; empty where there is none.
        concurrency: at which it is to hold; None where the claim does not say.
    """

    text: str
    metric: str
    ratio: float | None
    difference: float | None = None
    unit: str = ""
    concurrency: int | None = None

    def ratio_from(self, before: float | None) -> float | None:
        """After / before, if before is this figure (latencies in ms); None where that cannot be said."""
        if self.ratio is not None:
            return self.ratio
        if before is None or before <= 0 or self.difference is None or self.unit == "points":
            return None
        ratio = 1 + self.difference * (1e-3 if self.unit == "us" else 1.0) / before
        return ratio if ratio > 0 else None

    def to_json(self) -> Json:
        return {
            "text": self.text,
            "metric": self.metric,
            "ratio": finite(self.ratio),
            "difference": finite(self.difference),
            "unit": self.unit,
            "concurrency": self.concurrency,
        }


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim and what was found.

    Attributes:
        note: why, one sentence.
        boundary: where it holds and where not, one sentence; empty where there is one place only.
    """

    claim: StatedClaim
    finding: Support
    note: str
    boundary: str = ""

    def to_json(self) -> Json:
        return {**self.claim.to_json(), "finding": self.finding.value, "note": self.note, "boundary": self.boundary}


def parse_claim(text: str) -> StatedClaim:
    """One claim in the grammar above.

    Raises:
        UserError: it is none; the line shows how one looks.
    """
    stated, _, where = text.partition("@")
    head = stated.split(None, 1)
    if len(head) != 2:
        raise UserError(f"--claim {text!r}: a metric and a change are needed, {_EXAMPLE}")
    metric = _metric(head[0])
    change = _CHANGE.fullmatch(_HEDGES.sub("", head[1].strip()))
    if change is None:
        raise UserError(f"--claim {text!r}: {head[1].strip()!r} is no change, {_EXAMPLE}")
    concurrency = None
    if where.strip():
        at = _AT.fullmatch(where.strip())
        if at is None:
            raise UserError(f"--claim {text!r}: {where.strip()!r} is no place, {_EXAMPLE}")
        concurrency = int(at[1])
    ratio, difference, unit = _size(change, metric, text)
    return StatedClaim(text.strip(), metric, ratio, difference, unit, concurrency)


def _metric(name: str) -> str:
    name = name.strip().rstrip(":").lower()
    if short := _SHORT.fullmatch(name):
        return f"{short[1]}_{short[2]}_ms"
    if _KNOWN.fullmatch(name) or name == BUILD:
        return name
    return METRIC_NAMES.get(name, name)


def _size(change: re.Match[str], metric: str, text: str) -> tuple[float | None, float | None, str]:
    """Ratio, difference and unit; the first two exclude each other."""
    if change["same"]:
        return 1.0, None, ""
    if change["factor"]:
        ratio = float(change["factor"].strip("x\u00d7X \t"))
    elif change["before"]:
        ratio = float(change["after"]) / float(change["before"]) if float(change["before"]) else 0.0
    else:
        unit = (change["unit"] or "").replace("µ", "u").lower().replace("points", "point").replace("point", "points")
        if unit != "%":
            if not unit:
                raise UserError(f"--claim {text!r}: {change['size']} of what? Percent or a unit is needed, {_EXAMPLE}")
            return None, float(change["size"]), unit
        if metric == BUILD:
            raise UserError(f"--claim {text!r}: what a build saves is stated in us, for example: build -54us")
        ratio = 1 + float(change["size"]) / 100
    if not (math.isfinite(ratio) and ratio > 0):
        raise UserError(f"--claim {text!r}: such a change is impossible, {_EXAMPLE}")
    return ratio, None, ""
