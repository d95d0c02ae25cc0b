"""Throughput of others split into step time and acceptance, as far as they printed it.

A streamed chunk is a step, so mean ITL is the step time. Tokens per step are the acceptance length where it is printed;
else mean ITL / mean TPOT, tokens per chunk, stands for it: the two were 3.72 and 3.75 in one published block. Both
sides are always told by the same of the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from gdnbench.ingest.consistency import acceptance_length, tokens_per_chunk
from gdnbench.serving.judging.split import DRIFT_SPOILS, DRIFT_WARNS
from gdnbench.stats.median import interval
from gdnbench.values.ingested import Record
from gdnbench.values.serving import Decomposition, Fault, Part
from gdnbench.values.verdicts import Caveat

SPECULATES = 1.5
"""Tokens per chunk from which on a chunk holds several; below 1.1 it holds one."""
ONE = 1.1
MOVED, HALF = 0.02, 0.5
"""A mean that moved by more than the first, and its median by less than the second of that."""

Runs = Sequence[tuple[Record, Record]]


def log_ratios(runs: Runs, figure: Callable[[Mapping[str, float]], float | None]) -> list[float]:
    """ln(after / before) of a figure for each pair of runs; empty where it is missing anywhere."""
    found = []
    for pair in runs:
        before, after = (figure(record.metrics) for record in pair)
        if before is None or after is None or not (0 < before < math.inf and 0 < after < math.inf):
            return []
        found.append(math.log(after) - math.log(before))
    return found


def decompose(runs: Runs, concurrency: int | None) -> tuple[Decomposition | None, str]:
    """The factors of throughput, and how acceptance was told, in words; no factors without a throughput."""
    throughput = _part(log_ratios(runs, lambda found: found.get("output_throughput")))
    acceptance, words = _acceptance(runs)
    if throughput is None:
        return None, words
    step_time = _part(log_ratios(runs, lambda found: found.get("mean_itl_ms")))
    drifted = acceptance is not None and abs(acceptance.ratio - 1) > DRIFT_WARNS
    leads = "step_time" if step_time is not None and drifted else "throughput"
    return Decomposition(concurrency, throughput, step_time, acceptance, leads), words  # type: ignore[arg-type]


def drift(split: Decomposition | None, words: str) -> tuple[list[Fault], list[Caveat]]:
    """What a drift of acceptance spoils, and what a reader of the split must know."""
    if split is None or split.acceptance is None:
        if split is None:
            return [], []
        advice = "read the step time; print the block's Speculative Decoding section"
        return [], [Caveat("acceptance", "acceptance is unknown: it hides in the rest of the split", advice)]
    change = split.acceptance.ratio - 1
    if abs(change) > DRIFT_SPOILS:
        limit = f"beyond {DRIFT_SPOILS:.0%} no figure that counts tokens can be claimed"
        says = f"acceptance drifted by {change:+.1%} ({words}); {limit}"
        return [Fault("acceptance", says, split.concurrency)], []
    if abs(change) > DRIFT_WARNS:
        says = f"acceptance drifted by {change:+.1%} ({words})"
        return [], [Caveat("acceptance", says, "read the step time first: it is all that a builder change may claim")]
    return [], []


def mean_against_median(runs: Runs) -> Iterator[Caveat]:
    """Means that moved while their medians did not: the change lies in a few slow samples."""
    for tag, name in (("itl", "ITL"), ("tpot", "TPOT"), ("ttft", "TTFT")):
        mean, middle = (
            log_ratios(runs, lambda found, key=f"{statistic}_{tag}_ms": found.get(key))  # type: ignore[misc]
            for statistic in ("mean", "median")
        )
        if not mean or not middle:
            continue
        by_mean, by_median = median(mean), median(middle)
        if abs(by_mean) > MOVED and abs(by_median) < HALF * abs(by_mean):
            says = f"mean {name} changed by {math.expm1(by_mean):+.1%}, its median by {math.expm1(by_median):+.1%} only"
            advice = "the change lies in few slow samples, such as steps that also prefill, or in one outlier"
            yield Caveat("mean-and-median", says, advice)


def _acceptance(runs: Runs) -> tuple[Part | None, str]:
    if printed := log_ratios(runs, acceptance_length):
        return _part(printed), f"acceptance length {_lengths(runs, acceptance_length, printed)}"
    chunks = log_ratios(runs, tokens_per_chunk)
    sizes = [tokens_per_chunk(record.metrics) or 0.0 for pair in runs for record in pair]
    if chunks and min(sizes) > SPECULATES:
        told = _lengths(runs, tokens_per_chunk, chunks)
        return _part(chunks), f"acceptance is not printed; tokens per chunk (mean ITL / mean TPOT) {told}"
    if chunks and min(sizes) > 1 / ONE and max(sizes) < ONE:
        return Part(1.0), "a chunk is a token (mean ITL is mean TPOT): no speculation is to be seen"
    return None, "acceptance unknown"


def _lengths(runs: Runs, figure: Callable[[Mapping[str, float]], float | None], ratios: Sequence[float]) -> str:
    before, after = (median([figure(pair[side].metrics) or 0.0 for pair in runs]) for side in (0, 1))
    change = math.expm1(median(ratios))
    told = "unchanged" if abs(change) <= DRIFT_WARNS else f"{change:+.1%}"
    return f"{before:.2f} -> {after:.2f}: {told}"


def _part(ratios: Sequence[float]) -> Part | None:
    if not ratios:
        return None
    within = interval(ratios)
    return Part(math.exp(median(ratios)), None if within is None else (math.exp(within[0]), math.exp(within[1])))
