"""Throughput split into what a builder change may claim, the step time, and what it may not.

    throughput ratio = acceptance ratio / step-time ratio * rest

Under speculation a streamed chunk is a step, so mean ITL is the step time and tokens per step are what acceptance
gives; without it a chunk is a token, and acceptance is one. `acceptance`, a fault: it drifted by more than 5 %, and
everything counted in tokens with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.serving.judging.budget import builds_alone
from gdnbench.serving.judging.figures import ACCEPTANCE, Figure, compared
from gdnbench.serving.judging.findings import Finding
from gdnbench.serving.judging.rounds import blocks_of, one_token
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import ServeLaunch
from gdnbench.stats.median import interval
from gdnbench.stats.paired import Comparison
from gdnbench.values.metrics import E2EL, ITL, OUTPUT_THROUGHPUT, THROUGHPUTS, TPOT
from gdnbench.values.serving import Coverage, Decomposition, Part
from gdnbench.values.verdicts import Caveat

DRIFT_WARNS, DRIFT_SPOILS = 0.01, 0.05
"""Of tokens per step, after against before: case 57 of a public thread was +26 %, and read as a gain of the builder."""
COUNTED_IN_TOKENS = tuple(metric.tag for metric in (*THROUGHPUTS, TPOT, E2EL))

CHUNKS_AGREE = 0.1
"""Between tokens per chunk and per step: answers end inside a step, and what it gave beyond is not sent."""

THROUGHPUT, STEP_TIME = Figure(OUTPUT_THROUGHPUT, "rate"), Figure(ITL, "mean")


def decompose(plan: ServePlan, launches: Sequence[ServeLaunch], coverage: Coverage) -> tuple[Decomposition, ...]:
    """For each concurrency with a throughput on both sides, its factors."""
    found = []
    for load in plan.loads:
        throughput = _part(compared(plan, launches, load.concurrency, THROUGHPUT))
        if throughput is None:
            continue
        timed = not one_token(launches, load.concurrency)
        step_time = _part(compared(plan, launches, load.concurrency, STEP_TIME)) if timed else None
        drift = _drift(plan, launches, load.concurrency)
        leads_otherwise = step_time is not None and drift is not None and abs(drift) > DRIFT_WARNS
        found.append(
            Decomposition(
                load.concurrency,
                throughput,
                step_time,
                _acceptance(plan, launches, load.concurrency),
                "step_time" if leads_otherwise else "throughput",
                builds_alone=builds_alone(launches, coverage, load.concurrency),
            )
        )
    return tuple(found)


def acceptance_findings(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Finding]:
    """Throughput that acceptance explains."""
    for load in plan.loads:
        drift = _drift(plan, launches, load.concurrency)
        if drift is not None and abs(drift) > DRIFT_SPOILS:
            what = (
                f"acceptance drifted: {_lengths(plan, launches, load.concurrency)}; beyond {DRIFT_SPOILS:.0%} "
                "nothing counted in tokens may be claimed"
            )
            yield Finding("acceptance", f"concurrency {load.concurrency}", what, load.concurrency, COUNTED_IN_TOKENS)


def acceptance_caveats(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Caveat]:
    """What a reader of the split must know."""
    for load in plan.loads:
        at, drift = f"at concurrency {load.concurrency}", _drift(plan, launches, load.concurrency)
        if drift is not None and DRIFT_WARNS < abs(drift) <= DRIFT_SPOILS:
            says = f"{at} acceptance drifted: {_lengths(plan, launches, load.concurrency)}"
            yield Caveat("acceptance", says, "read the step time first: it is all that a builder change may claim")
        if plan.server.speculative is not None and drift is None:
            advice = "read the step time: what acceptance did hides in the rest"
            yield Caveat(
                "acceptance", f"{at} acceptance is unknown: the server speculates and told of no draft", advice
            )
        yield from _chunks(plan, launches, load.concurrency)


def _chunks(plan: ServePlan, launches: Sequence[ServeLaunch], concurrency: int) -> Iterator[Caveat]:
    """Whether a streamed chunk is a step: tokens per chunk, the first of a request aside, against tokens per step."""
    blocks = [
        block for launch in launches for role in (BEFORE, AFTER) for block in blocks_of(launch, concurrency, role)
    ]
    chunks = sum(block.samples.get(ITL.tag, 0) for block in blocks)
    tokens = sum(block.output_tokens - block.completed for block in blocks)
    if chunks > tokens > 0:
        says = f"at concurrency {concurrency} there are more gaps between chunks ({chunks:,}) than tokens ({tokens:,})"
        yield Caveat("ttft_in_itl", f"{says}: the time to the first token leaked into ITL", "do not read ITL")
        return
    lengths = compared(plan, launches, concurrency, ACCEPTANCE)
    if plan.server.speculative is None:
        expected = 1.0
    elif lengths.launches:
        expected = (median(lengths.before) + median(lengths.after)) / 2
    else:
        return
    if chunks and abs(math.log(tokens / chunks / expected)) > CHUNKS_AGREE:
        says = f"at concurrency {concurrency} a chunk held {tokens / chunks:.2f} tokens, and a step gave {expected:.2f}"
        yield Caveat("chunks", f"{says}: ITL is not the time of one step", "read ITL as a ratio between the sides only")


def _acceptance(plan: ServePlan, launches: Sequence[ServeLaunch], concurrency: int) -> Part | None:
    if plan.server.speculative is None:
        return Part(1.0, (1.0, 1.0))
    return _part(compared(plan, launches, concurrency, ACCEPTANCE))


def _drift(plan: ServePlan, launches: Sequence[ServeLaunch], concurrency: int) -> float | None:
    """Tokens per step after / before - 1; None without drafts."""
    if plan.server.speculative is None:
        return None
    lengths = compared(plan, launches, concurrency, ACCEPTANCE)
    return math.expm1(median(lengths.log_ratios)) if lengths.launches else None


def _lengths(plan: ServePlan, launches: Sequence[ServeLaunch], concurrency: int) -> str:
    lengths = compared(plan, launches, concurrency, ACCEPTANCE)
    ratio = math.exp(median(lengths.log_ratios))
    return f"{median(lengths.before):.2f} -> {median(lengths.after):.2f} tokens per step ({ratio - 1:+.1%})"


def _part(comparison: Comparison) -> Part | None:
    if not comparison.launches:
        return None
    within = interval(comparison.log_ratios)
    ends = None if within is None else (math.exp(within[0]), math.exp(within[1]))
    return Part(math.exp(median(comparison.log_ratios)), ends)
