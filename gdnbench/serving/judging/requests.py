"""Did every request do what it was sent for, and do the figures of a block agree with each other?

missing_blocks      a side has not run all of its blocks
failed, incomplete  a request failed; fewer completed than were sent
empty               a request succeeded without a token
output_tokens       other than asked for, though the end of sequence is ignored
prompts, tokens     in one round the sides had other prompts, or other totals of tokens
no_samples          a latency has no sample, though there were tokens to take it from
impossible          a figure is negative, zero or not finite
at_once             many answers came all at once: no time between tokens was seen
inconsistent        figures of one block contradict each other
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from gdnbench.campaign.turns import BEFORE
from gdnbench.serving.judging.findings import Finding
from gdnbench.serving.judging.rounds import at_once, blocks_of, rounds, where
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import Block, LoadFacts, ServeLaunch
from gdnbench.values.metrics import E2EL, ITL, LATENCIES, THROUGHPUTS, TPOT, TTFT, Metric

ROUNDING = 0.01
"""Between figures of one block that must agree: printed ones are rounded."""
IN_FLIGHT = 1.05
MOST_AT_ONCE = 0.01
"""Share of blocks whose answers may come all at once; they say nothing of the time between tokens, and are left out."""


def request_findings(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Finding]:
    """Everything that is wrong with requests and figures."""
    yield from _missing_blocks(plan, launches)
    for code, check in _OF_A_BLOCK.items():
        for launch in launches:
            for block in launch.blocks:
                if what := check(block, launch.load):
                    yield Finding(code, where(launch.number, block), what, block.concurrency)
    yield from _unlike_rounds(launches)
    for launch in launches:
        for block in launch.blocks:
            for metric in LATENCIES:
                if metric in (TPOT, ITL) and at_once(block):
                    continue
                if found := _latency(block, metric):
                    code, what = found
                    yield Finding(code, where(launch.number, block), what, block.concurrency, (metric.tag,))
        yield from _unpooled(launch)
    yield from _all_at_once(plan, launches)


def _all_at_once(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Finding]:
    for load in plan.loads:
        blocks = [(one.number, block) for one in launches for block in blocks_of(one, load.concurrency)]
        found = [(number, block) for number, block in blocks if at_once(block)]
        if len(found) > MOST_AT_ONCE * len(blocks):
            number, block = found[0]
            what = f"answers came all at once, as in {len(found):,} of {len(blocks):,} blocks: the client stood still"
            yield Finding("at_once", where(number, block), what, load.concurrency, (TPOT.tag, ITL.tag))


def _missing_blocks(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Finding]:
    for launch in launches:
        for load in plan.loads:
            for role in plan.sides:
                count = len(blocks_of(launch, load.concurrency, role))
                if count != load.rounds:
                    what = f"{role} has {count} of {load.rounds} blocks"
                    at = f"launch {launch.number}, concurrency {load.concurrency}"
                    yield Finding("missing_blocks", at, what, load.concurrency)


def _failed(block: Block, load: LoadFacts) -> str | None:
    return f"{block.failed} of {block.sent} requests failed" if block.failed else None


def _incomplete(block: Block, load: LoadFacts) -> str | None:
    if block.completed + block.failed == block.sent and block.sent > 0:
        return None
    return f"{block.completed} of {block.sent} requests completed, and {block.failed} are known to have failed"


def _empty(block: Block, load: LoadFacts) -> str | None:
    return f"{block.empty} of {block.sent} requests succeeded without a token" if block.empty else None


def _output_tokens(block: Block, load: LoadFacts) -> str | None:
    asked = block.completed * load.output_len
    if not load.ignore_eos or block.output_tokens == asked:
        return None
    return f"{block.output_tokens:,} output tokens, not {block.completed} x {load.output_len} = {asked:,}"


def _impossible_rate(block: Block, load: LoadFacts) -> str | None:
    for metric in THROUGHPUTS:
        value = block.figures.get(metric.tag)
        if value is None or not (math.isfinite(value) and value > 0):
            return f"{metric.tag} is {'missing' if value is None else f'{value:g} {metric.unit}'}"
    if not (math.isfinite(block.duration_s) and block.duration_s > 0):
        return f"the block lasted {block.duration_s:g} s"
    return None


def _inconsistent(block: Block, load: LoadFacts) -> str | None:
    if _impossible_rate(block, load):
        return None
    amounts = (block.output_tokens, block.input_tokens + block.output_tokens, block.completed)
    for metric, amount in zip(THROUGHPUTS, amounts, strict=True):
        rate = block.figures[metric.tag] or 0.0
        if abs(rate * block.duration_s - amount) > ROUNDING * amount + 0.01 * block.duration_s:
            return f"{metric.tag} x duration is {rate * block.duration_s:,.1f}, not {amount:,}"
    latency = block.figures.get(f"mean_{E2EL.tag}_ms")
    in_flight = block.completed * (latency or 0.0) / 1000 / block.duration_s
    if in_flight > IN_FLIGHT * block.concurrency:
        return f"{in_flight:.1f} requests in flight by their mean duration, and {block.concurrency} is the limit"
    one = block.acceptance
    if one is not None and not (0 <= one.accepted <= one.draft_tokens and 0 <= one.drafts <= one.draft_tokens):
        return f"{one.accepted} of {one.draft_tokens} draft tokens accepted, in {one.drafts} steps with drafts"
    return None


_OF_A_BLOCK: dict[str, Callable[[Block, LoadFacts], str | None]] = {
    "failed": _failed,
    "incomplete": _incomplete,
    "empty": _empty,
    "output_tokens": _output_tokens,
    "impossible": _impossible_rate,
    "inconsistent": _inconsistent,
}


def _unlike_rounds(launches: Sequence[ServeLaunch]) -> Iterator[Finding]:
    for one in rounds(launches):
        before = one.blocks.get(BEFORE)
        for role, block in one.blocks.items():
            if before is None or role == BEFORE:
                continue
            if block.prompts != before.prompts:
                what = f"its prompts are not those of {BEFORE}"
                yield Finding("prompts", one.where(role), what, one.concurrency)
            own, theirs = ((each.input_tokens, each.output_tokens) for each in (block, before))
            if own != theirs:
                what = f"{own[0]:,} tokens in and {own[1]:,} out, and {BEFORE} had {theirs[0]:,} and {theirs[1]:,}"
                yield Finding("tokens", one.where(role), what, one.concurrency)


def _latency(block: Block, metric: Metric) -> tuple[str, str] | None:
    """Code and text of what is wrong with a latency of a block."""
    expected = metric in (TTFT, E2EL) or block.output_tokens > block.completed
    values = {name: block.figures.get(f"{name}_{metric.tag}_ms") for name in ("mean", "median", "p99")}
    for name, value in values.items():
        if value is not None and (not math.isfinite(value) or value < 0 or (value == 0 and expected)):
            tokens = f", of {block.output_tokens:,} tokens in {block.completed} requests"
            return "impossible", f"{name} {metric.tag} is {value:g} ms{tokens if value == 0 else ''}"
    if expected and (not block.samples.get(metric.tag) or values["mean"] is None or values["median"] is None):
        return "no_samples", f"{metric.tag} has no sample of {block.completed} requests"
    middle, high = values["median"], values["p99"]
    if middle is not None and high is not None and middle > high * (1 + ROUNDING):
        return "inconsistent", f"the median of {metric.tag}, {middle:g} ms, lies above its p99, {high:g} ms"
    return None


def _unpooled(launch: ServeLaunch) -> Iterator[Finding]:
    """Latencies that blocks have samples of, and the launch has no percentile of."""
    sampled = {
        (block.role, block.concurrency, tag) for block in launch.blocks for tag, count in block.samples.items() if count
    }
    pooled = {(one.role, one.concurrency, one.metric) for one in launch.pooled if one.samples}
    for role, concurrency, tag in sorted(sampled - pooled):
        at = f"launch {launch.number}, concurrency {concurrency}, {role}"
        yield Finding("no_samples", at, f"{tag} has samples in its blocks and no p99", concurrency, (tag,))
