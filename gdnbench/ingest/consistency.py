"""Does a result agree with itself? Figures of one run hang together, and those of two runs mixed do not.

impossible      a figure is negative, not finite, or zero where there was something to measure
inconsistent    two figures of the run contradict each other
failed          requests failed; incomplete: fewer completed than were asked for
compilation     the server compiled while it was measured

What is no fault, and trips nothing: peak tokens per second below the mean (under speculation it counts chunks), more
requests at peak than the limit, ITL below or above TPOT.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from gdnbench.ingest.context import COMPILED
from gdnbench.ingest.names import metric_of
from gdnbench.values.ingested import NOT_MEASURED, Record
from gdnbench.values.serving import Fault
from gdnbench.values.verdicts import Caveat

PRINTED = 0.005
"""Half of the last printed digit: figures are printed with two decimals."""
RELATIVE = 0.001
IN_FLIGHT = 1.05
BUSY = 0.85
MANY_ROUNDS, ROUNDS = 10, 2
"""Requests for each that may be in flight, from which on the beginning and the end of a run do not count, or little."""
HALF = 0.5
CHUNKS_AGREE = 0.1
"""Between tokens per chunk and the acceptance length: answers end inside a step."""

SPECULATED = (0.98, 1.1)
"""Tokens of steps with drafts by those that were sent: a little more, since a last step may give too many."""

_DRAFTED = re.compile(r'"num_speculative_tokens"\s*:\s*([0-9]{1,3})\b')

TOKEN_LATENCIES = ("tpot", "itl")
_ORDER = ("min", "median", "p75", "p90", "p95", "p99", "p99.9", "max")


def checked(record: Record) -> Record:
    """The record with everything that is wrong with it; a latency that was not measured is taken out."""
    if record.kind != "serving":
        bad = tuple(name for name, value in record.metrics.items() if not math.isfinite(value))
        faults = (Fault("impossible", f"{bad[0]} is not finite", None, bad),) if bad else ()
        return replace(record, faults=(*record.faults, *faults))
    record = _without_unmeasured(record)
    found = record.metrics
    return replace(
        record,
        faults=(
            *record.faults,
            *_impossible(found),
            *_requests(record),
            *_amounts(found),
            *_latencies(found),
            *_drafts(record),
        ),
        warnings=(*record.warnings, *_warnings(record)),
    )


def output_len(metrics: Mapping[str, float]) -> float | None:
    """Tokens of each answer, where all have the same number of them; None where that is not so, or not known."""
    completed, tokens = metrics.get("completed"), metrics.get("total_output_tokens")
    if not completed or not tokens or completed < 0 or tokens % completed:
        return None
    return tokens / completed


def _without_unmeasured(record: Record) -> Record:
    """TPOT and ITL of answers of one token are printed as 0.00, and are no measurement."""
    found = record.metrics
    if not found.get("completed") or found.get("total_output_tokens") != found.get("completed"):
        return record
    zeros = [name for name, value in found.items() if value == 0 and _latency_of(name) in TOKEN_LATENCIES]
    if not zeros:
        return record
    kept = {name: value for name, value in found.items() if name not in zeros}
    says = "TPOT and ITL were not measured: every answer has one token (output_len <= 1)"
    advice = "compare TTFT and total throughput; a goodput with a limit on TPOT counts such requests as met"
    absent = {**record.absent, **dict.fromkeys(zeros, NOT_MEASURED)}
    told = (*record.warnings, Caveat("not-measured", says, advice))
    return replace(record, metrics=kept, absent=absent, warnings=told)


def _latency_of(name: str) -> str:
    return name.removesuffix("_ms").rpartition("_")[2] if name.endswith("_ms") else ""


def _impossible(found: Mapping[str, float]) -> Iterator[Fault]:
    several = found.get("total_output_tokens", math.inf) > found.get("completed", 0)
    for name, value in found.items():
        zero_is_wrong = metric_of(name) is not None and (_latency_of(name) not in TOKEN_LATENCIES or several)
        if (
            not math.isfinite(value)
            or value < 0
            or (value == 0 and zero_is_wrong)
            or (value == 0 and name == "duration")
        ):
            yield Fault("impossible", f"{name} is {value:g}", None, (name,))


def _requests(record: Record) -> Iterator[Fault]:
    found = record.metrics
    failed, completed = found.get("failed"), found.get("completed")
    if failed:
        yield Fault("failed", f"{failed:,.0f} requests failed")
        return
    asked = found.get("num_prompts") or _count(record.facts.get("num_prompts"))
    if completed is not None and asked and completed + (failed or 0) != asked:
        yield Fault("incomplete", f"{completed:,.0f} of {asked:,.0f} requests completed")
    if completed == 0:
        yield Fault("incomplete", "no request completed")
    if compiled := record.facts.get(COMPILED):
        yield Fault("compilation", f"the server compiled while it was measured: {compiled}")


def _amounts(found: Mapping[str, float]) -> Iterator[Fault]:
    """Rates times duration are amounts."""
    duration = found.get("duration")
    if not duration or duration < 0:
        return
    into, out = found.get("total_input_tokens"), found.get("total_output_tokens")
    both = None if into is None or out is None else into + out
    amounts = {
        "output_throughput": ("total_output_tokens", out),
        "total_token_throughput": ("total_input_tokens + total_output_tokens", both),
        "request_throughput": ("completed", found.get("completed")),
        "input_throughput": ("total_input_tokens", into),
    }
    for name, (what, amount) in amounts.items():
        rate = found.get(name)
        if rate is None or amount is None:
            continue
        off = abs(rate * duration - amount)
        if not off <= RELATIVE * amount + PRINTED * (duration + abs(rate)) + 1:
            says = f"{name} x duration is {rate * duration:,.1f}, and {what} is {amount:,.0f}"
            yield Fault("inconsistent", says, None, (name,))


def _latencies(found: Mapping[str, float]) -> Iterator[Fault]:
    for tag in ("ttft", "tpot", "itl", "e2el"):
        ordered = [(name, found[name]) for one in _ORDER if (name := f"{one}_{tag}_ms") in found]
        for (low, below), (high, above) in pairwise(ordered):
            if below > above + 2 * PRINTED:
                yield Fault("inconsistent", f"{low} {below:g} lies above {high} {above:g}", None, (low, high))
        mean = found.get(f"mean_{tag}_ms")
        for name, outside in ((f"min_{tag}_ms", 1), (f"max_{tag}_ms", -1)):
            if mean is not None and name in found and (found[name] - mean) * outside > 2 * PRINTED:
                says = f"mean_{tag}_ms {mean:g} lies beyond {name} {found[name]:g}"
                yield Fault("inconsistent", says, None, (f"mean_{tag}_ms", name))
    length, whole = output_len(found), found.get("mean_e2el_ms")
    first, each = found.get("mean_ttft_ms"), found.get("mean_tpot_ms")
    if length and whole and first is not None and each is not None:
        told = first + each * (length - 1)
        if abs(told / whole - 1) > 0.01 + PRINTED * length / whole:
            says = f"mean_e2el_ms is {whole:,.1f}, and TTFT + {length - 1:g} x TPOT is {told:,.1f}"
            yield Fault("inconsistent", says, None, ("mean_e2el_ms", "mean_tpot_ms"))
    if (most := in_flight(found)) is not None and most > IN_FLIGHT * found.get("max_concurrency", math.inf):
        says = f"{most:.1f} requests in flight by their mean duration, and {found['max_concurrency']:.0f} is the limit"
        yield Fault("inconsistent", says, None, ("mean_ttft_ms", "mean_tpot_ms", "mean_e2el_ms"))


def in_flight(found: Mapping[str, float]) -> float | None:
    """Requests in flight on average: their number times their mean duration, by the time of all (Little's law)."""
    completed, duration = found.get("completed"), found.get("duration")
    whole = found.get("mean_e2el_ms")
    if whole is None and (length := output_len(found)) is not None:
        first, each = found.get("mean_ttft_ms"), found.get("mean_tpot_ms")
        whole = None if first is None or each is None else first + each * (length - 1)
    if not completed or not duration or whole is None:
        return None
    return completed * whole / 1000 / duration


def _drafts(record: Record) -> Iterator[Fault]:
    found = record.metrics
    drafts, tokens = found.get("spec_decode_num_drafts"), found.get("spec_decode_draft_tokens")
    stated = _DRAFTED.search(record.facts.get("server speculative_config", ""))
    if drafts and tokens and stated and tokens / drafts > int(stated[1]) + PRINTED:
        says = f"{tokens / drafts:.2f} draft tokens a draft, and the server's command says {stated[1]}"
        yield Fault("inconsistent", says, None, ("spec_decode_acceptance_length",))
    accepted = found.get("spec_decode_accepted_tokens")
    length, rate = found.get("spec_decode_acceptance_length"), found.get("spec_decode_acceptance_rate")
    if drafts and accepted is not None and length is not None and abs(1 + accepted / drafts - length) > 2 * PRINTED:
        says = f"acceptance length {length:g}, and 1 + accepted / drafts is {1 + accepted / drafts:.3f}"
        yield Fault("inconsistent", says, None, ("spec_decode_acceptance_length",))
    if tokens and accepted is not None:
        if accepted > tokens:
            says = f"{accepted:,.0f} of {tokens:,.0f} draft tokens accepted"
            yield Fault("inconsistent", says, None, ("spec_decode_acceptance_length",))
        elif rate is not None and abs(100 * accepted / tokens - rate) > 2 * PRINTED + RELATIVE * rate:
            says = f"acceptance rate {rate:g} %, and accepted / draft tokens is {100 * accepted / tokens:.2f} %"
            yield Fault("inconsistent", says, None, ("spec_decode_acceptance_rate",))


def _warnings(record: Record) -> Iterator[Caveat]:
    found = record.metrics
    sent = "num_prompts" in found or _count(record.facts.get("num_prompts")) is not None
    if "completed" in found and "failed" not in found and not sent:
        says = "whether requests failed is not known: the client of that time did not print it"
        yield Caveat("failures-unknown", says, "give the command, or the result file: they say how many were sent")
    fixed, completed, tokens = _fixed_length(record.facts), found.get("completed"), found.get("total_output_tokens")
    if fixed and completed and tokens is not None and tokens != completed * fixed:
        says = f"{tokens:,.0f} output tokens, not {completed:,.0f} x {fixed:,.0f} = {completed * fixed:,.0f}"
        advice = "see whether requests ended early, or empty: --save-detailed keeps the length of each"
        yield Caveat("output_tokens", f"{says}: {completed * fixed - tokens:+,.0f} are missing", advice)
    most, limit = in_flight(found), found.get("max_concurrency")
    rate = record.facts.get("request_rate", "inf")
    rounds = found.get("completed", 0) / limit if limit else 0
    least = BUSY if rounds >= MANY_ROUNDS else HALF if rounds >= ROUNDS else 0.0
    if most is not None and limit and rate == "inf" and most < least * limit:
        says = f"{most:.1f} requests in flight on average, and {limit:.0f} were allowed"
        yield Caveat("idle", says, "see whether figures of several runs were mixed, or the client was the bottleneck")
    length = acceptance_length(found)
    chunk = tokens_per_chunk(found)
    if length is not None and chunk is not None and abs(math.log(chunk / length)) > CHUNKS_AGREE:
        says = f"a chunk held {chunk:.2f} tokens (mean ITL / mean TPOT), and a step gave {length:.2f}"
        yield Caveat("chunks", says, "ITL is not the time of one step here: parsers may hold output back")
    drafts, accepted = found.get("spec_decode_num_drafts"), found.get("spec_decode_accepted_tokens")
    if drafts is not None and accepted is not None and tokens:
        says = f"{drafts + accepted:,.0f} tokens came of steps with drafts, and {tokens:,.0f} were sent"
        if drafts + accepted < SPECULATED[0] * tokens:
            yield Caveat("drafts", says, "part of the run did not speculate")
        elif drafts + accepted > SPECULATED[1] * tokens:
            yield Caveat("drafts", says, "others used the server meanwhile, or figures of two runs were mixed")


def acceptance_length(found: Mapping[str, float]) -> float | None:
    """Tokens per step as printed, or as drafts and accepted tokens give it; None where nothing was printed."""
    length = found.get("spec_decode_acceptance_length")
    if length is not None:
        return length if length >= 1 and math.isfinite(length) else None
    drafts, accepted = found.get("spec_decode_num_drafts"), found.get("spec_decode_accepted_tokens")
    return 1 + accepted / drafts if drafts and accepted is not None else None


def tokens_per_chunk(found: Mapping[str, float]) -> float | None:
    """Mean ITL / mean TPOT: how many tokens a streamed chunk holds; None where either is missing."""
    gap, each = found.get("mean_itl_ms"), found.get("mean_tpot_ms")
    if gap is None or each is None or not (1e-9 < gap < 1e12 and 1e-9 < each < 1e12):
        return None
    return gap / each


def _fixed_length(facts: Mapping[str, str]) -> int | None:
    """Tokens of each answer, where the command says so and the end of sequence is ignored."""
    if "ignore_eos" not in facts:
        return None
    lengths = (
        facts.get(name) for name in ("sharegpt_output_len", "random_output_len", "output_len", "custom_output_len")
    )
    return next((count for text in lengths if (count := _count(text))), None)


def _count(text: str | None) -> int | None:
    return int(text) if text and len(text) < 9 and text.isascii() and text.isdigit() else None
