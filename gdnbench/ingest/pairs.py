"""Runs of a server before and after, held against each other: validity, rows, the split, and a verdict.

Runs are the replicates. From one a side the rule can only say `unknown`, with how many would settle it; several are
taken in the order in which they stand, the first with the first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from gdnbench.ingest.names import UNITS, metric_of
from gdnbench.ingest.split import Runs, decompose, drift, log_ratios, mean_against_median
from gdnbench.ingest.validity import listed, order, prefix_cache, unlike
from gdnbench.serving.judged import NOT_CLAIMABLE, PER_CHUNK, SKEWED
from gdnbench.serving.judging.split import COUNTED_IN_TOKENS
from gdnbench.stats.paired import Comparison, judge_rows
from gdnbench.values.ingested import CheckedPair, CheckedRow, Record
from gdnbench.values.metrics import ACCEPTANCE_LENGTH, ITL, OUTPUT_THROUGHPUT, Metric
from gdnbench.values.serving import Decomposition, Fault
from gdnbench.values.verdicts import Caveat, Judgement, Verdict

PRIMARY = ("output_throughput", "total_token_throughput", "request_throughput", "mean_tpot_ms", "mean_itl_ms")
"""What the verdict of a pair is about: the first of these that both sides have."""
STEP_TIME = "mean_itl_ms"
_STATISTICS = ("mean", "median", "p75", "p90", "p95", "p99", "p99.9")
ORDER = (
    *PRIMARY[:3],
    *(f"{statistic}_{tag}_ms" for tag in ("ttft", "tpot", "itl", "e2el") for statistic in _STATISTICS),
    "spec_decode_acceptance_length",
)
"""In which rows stand; any other percentile after these."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A row before it is judged."""

    name: str
    metric: Metric
    primary: bool
    before: float | None
    after: float | None
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class ServerPair:
    """The runs of both sides at one concurrency."""

    concurrency: int | None
    before: tuple[Record, ...]
    after: tuple[Record, ...]

    @property
    def runs(self) -> Runs:
        return list(zip(self.before, self.after, strict=False))

    @property
    def records(self) -> tuple[Record, ...]:
        return *self.before, *self.after


def judge_servers(pairs: Sequence[ServerPair]) -> list[CheckedPair]:
    """All pairs, judged together: their primary rows are one family, the step times another, the rest a third."""
    cells = [(number, cell) for number, pair in enumerate(pairs) for cell in _cells(pair)]
    judged: dict[int, Judgement] = {}
    for explains in (True, False):
        family = [n for n, (_, cell) in enumerate(cells) if (cell.name == STEP_TIME and not cell.primary) is explains]
        judged |= zip(family, judge_rows([cells[n][1].comparison for n in family]), strict=True)
    return [
        _pair(pair, [(cell, judged[n]) for n, (own, cell) in enumerate(cells) if own == number])
        for number, pair in enumerate(pairs)
    ]


def _cells(pair: ServerPair) -> Iterator[_Cell]:
    names = {name for record in pair.records for name in record.metrics if metric_of(name) is not None}
    both = [name for name in PRIMARY if log_ratios(pair.runs, lambda found, key=name: found.get(key))]  # type: ignore[misc]
    for name in sorted(names, key=lambda one: (ORDER.index(one) if one in ORDER else len(ORDER), one)):
        metric = metric_of(name)
        assert metric is not None
        ratios = log_ratios(pair.runs, lambda found, key=name: found.get(key))  # type: ignore[misc]
        runs = pair.runs if ratios else []
        yield _Cell(
            name,
            metric,
            primary=name == next(iter(both), None),
            before=_median(record.metrics.get(name) for record in pair.before),
            after=_median(record.metrics.get(name) for record in pair.after),
            comparison=Comparison(
                metric,
                tuple(ratios),
                tuple(one.metrics[name] for one, _ in runs),
                tuple(other.metrics[name] for _, other in runs),
                primary=name == next(iter(both), None) or name == STEP_TIME,
            ),
        )


def _median(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return median(found) if found else None


def _pair(pair: ServerPair, cells: Sequence[tuple[_Cell, Judgement]]) -> CheckedPair:
    split, words = decompose(pair.runs, pair.concurrency)
    drifted, told = drift(split, words)
    spoiled = tuple(cell.name for cell, _ in cells if cell.metric.tag in COUNTED_IN_TOKENS)
    faults = [*_own(pair), *unlike(pair.before, pair.after), *(replace(one, metrics=spoiled) for one in drifted)]
    rows = [_row(pair, cell, judgement, faults) for cell, judgement in cells]
    rows += _unmeasured(pair, {row.name for row in rows})
    if not any(row.primary for row in rows):
        faults.append(Fault("nothing", "the sides have no throughput, TPOT or ITL in common", pair.concurrency))
    warnings = [*told, *_caveats(pair), *listed(pair.before[0], pair.after[0]), *prefix_cache(pair.before, pair.after)]
    return CheckedPair(
        kind="serving",
        group="",
        concurrency=pair.concurrency,
        sources={
            "before": tuple(record.source for record in pair.before),
            "after": tuple(record.source for record in pair.after),
        },
        reasons=tuple(replace(fault, concurrency=pair.concurrency) for fault in faults),
        rows=tuple(rows),
        decomposition=_with_verdict(split, rows),
        acceptance=words,
        warnings=(*warnings, *mean_against_median(pair.runs), *order(pair.before, pair.after)),
    )


def _own(pair: ServerPair) -> Iterator[Fault]:
    for record in pair.records:
        for fault in record.faults:
            yield replace(fault, message=f"{record.source}: {fault.message}")


def _row(pair: ServerPair, cell: _Cell, judgement: Judgement, faults: Sequence[Fault]) -> CheckedRow:
    judgement = replace(judgement, reason=judgement.reason.replace("launches", "runs"))
    if not cell.comparison.launches:
        side = "before" if cell.before is not None and cell.after is None else "after"
        why = f"known {side} only: no ratio" if None in (cell.before, cell.after) else "a figure is zero: no ratio"
        judgement = Judgement(Verdict.UNKNOWN, reason=why)
    elif (few := _few(pair, cell)) is not None:
        judgement = replace(judgement, verdict=Verdict.UNKNOWN, reason=few, more_launches=None)
    elif judgement.verdict is Verdict.UNKNOWN and _both_ways(cell.comparison.log_ratios):
        why = "the pairs of runs point both ways: no change is seen"
        judgement = replace(judgement, reason=f"{why}; {judgement.reason}".removesuffix("; "))
    if caveat := _skewed(pair, cell):
        judgement = replace(judgement, warnings=(*judgement.warnings, caveat))
    own = next((fault for fault in faults if not fault.metrics or cell.name in fault.metrics), None)
    if own is not None:
        why = f"{own.code}: {own.message}"
        judgement = replace(judgement, verdict=Verdict.INVALID, reason=why, more_launches=None)
    unit = UNITS.get(cell.name, cell.metric.unit)
    return CheckedRow(cell.name, cell.metric, unit, cell.primary, cell.before, cell.after, judgement, _note(pair, cell))


def _unmeasured(pair: ServerPair, others: Collection[str]) -> Iterator[CheckedRow]:
    """Figures that neither side has, and why: a reader looks for them."""
    reasons = {name: why for record in pair.records for name, why in record.absent.items() if name not in others}
    for name, why in reasons.items():
        if (metric := metric_of(name)) is not None:
            judgement = Judgement(Verdict.UNKNOWN, reason=why)
            yield CheckedRow(name, metric, metric.unit, False, None, None, judgement, why)


def _note(pair: ServerPair, cell: _Cell) -> str:
    if cell.metric is ACCEPTANCE_LENGTH:
        return NOT_CLAIMABLE
    if cell.metric is not ITL:
        return ""
    several = any(
        any(name.startswith("spec_decode") for name in record.metrics)
        or record.metrics.get("mean_itl_ms", 0.0) > 1.5 * record.metrics.get("mean_tpot_ms", math.inf)
        for record in pair.records
    )
    return PER_CHUNK if several else ""


def _both_ways(ratios: Sequence[float]) -> bool:
    """Whether as many pairs of runs say more as say less, as nearly as their number allows."""
    more, less = sum(ratio > 0 for ratio in ratios), sum(ratio < 0 for ratio in ratios)
    return min(more, less) > 0 and abs(more - less) <= 1


def _few(pair: ServerPair, cell: _Cell) -> str | None:
    """Why a percentile is none: too few requests lie beyond it. ITL has many samples a request."""
    statistic = cell.name.partition("_")[0]
    if not statistic.startswith("p") or cell.metric is ITL or not cell.name.endswith("_ms"):
        return None
    counts = [count for record in pair.records if (count := record.metrics.get("completed")) is not None]
    fewest = math.ceil(100 / max(100 - float(statistic[1:]), 1e-9) - 1e-6)
    if not counts or min(counts) >= fewest:
        return None
    return f"{statistic} = max of {min(counts):.0f} samples, no verdict: {fewest} are the fewest"


def _skewed(pair: ServerPair, cell: _Cell) -> Caveat | None:
    """A caveat where mean and median of a latency lie apart."""
    statistic, _, rest = cell.name.partition("_")
    if statistic != "mean":
        return None
    apart = [
        f"{record.side} {mean:g} and {middle:g}"
        for record in pair.records
        if (mean := record.metrics.get(cell.name, 0.0)) > 0
        and (middle := record.metrics.get(f"median_{rest}", 0.0)) > 0
        if abs(mean / middle - 1) > SKEWED
    ]
    if not apart:
        return None
    says = f"mean and median of {cell.metric.tag.upper()} lie more than 5 % apart ({'; '.join(apart[:2])})"
    return Caveat("skewed", f"{says}: a few slow samples move the mean alone", "read both, and the p99")


def _caveats(pair: ServerPair) -> Iterator[Caveat]:
    runs = len(pair.runs)
    if runs == 1:
        advice = "repeat the runs, in turns: before, after, after, before"
        yield Caveat("one-run", "one run a side: no interval, and chance cannot be told from change", advice)
    if len(pair.before) != len(pair.after):
        says = f"{len(pair.before)} runs before and {len(pair.after)} after: the first {runs} of each are compared"
        yield Caveat("unequal-runs", says, "give as many runs of either side")
    if runs > 1:
        says = f"{runs} runs a side are paired in the order in which they stand"
        yield Caveat("paired-by-order", says, "list the files in the order in which they ran, in turns")


def _with_verdict(split: Decomposition | None, rows: Sequence[CheckedRow]) -> Decomposition | None:
    """The split with the verdict of its step time's row."""
    by_name: Mapping[str, CheckedRow] = {row.name: row for row in rows}
    if split is None or split.step_time is None or STEP_TIME not in by_name:
        return split
    return replace(split, verdict=by_name[STEP_TIME].judgement.verdict)


assert PRIMARY[0] == OUTPUT_THROUGHPUT.tag
