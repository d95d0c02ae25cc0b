"""May two results be compared? What must be the same on both sides, and what a reader must know where it is not.

prompts, tokens   other numbers of requests or tokens
load              another concurrency, rate, or number of requests
setting           another model, tokenizer, dataset, seed, sampling
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from gdnbench.ingest.consistency import output_len
from gdnbench.values.ingested import Record
from gdnbench.values.serving import Fault
from gdnbench.values.verdicts import Caveat

LENGTHS_VARY = 0.01
"""Of output tokens in all, where nothing fixes the length of an answer."""
CACHE_TTFT, CACHE_TPOT = 0.7, 0.05
"""TTFT after / before below which, with TPOT within the second, prompts look as if they were found in a cache."""

_SAME = {
    "completed": ("prompts", "requests completed"),
    "num_prompts": ("prompts", "prompts"),
    "total_input_tokens": ("tokens", "tokens in"),
    "max_concurrency": ("load", "requests in flight at most"),
}
_SETTING = re.compile(
    r"dataset|tokenizer|seed|prompt|temperature|top_[pk]|ignore_eos|burstiness|request_rate|model|output_len|input_len|"
    r"range_ratio|min_|max_num|tensor_parallel|num_speculative|speculative|kept|filter|sampling"
)
_OF_THE_RUN = re.compile(r"date|label|commit|version|port|host|url|result|command|served_model_name|save|path$|name$")
_SAME_FOR_ALL = frozenset({"dataset_name", "dataset_path"})


def unlike(before: Sequence[Record], after: Sequence[Record]) -> Iterator[Fault]:
    """Everything in which the runs differ, within a side or between them, that must be the same."""
    first, *others = [*before, *after]
    told: set[str] = set()
    for other in others:
        for key, (code, what) in _SAME.items():
            own, theirs = first.metrics.get(key), other.metrics.get(key)
            if own is not None and theirs is not None and own != theirs and key not in told:
                told.add(key)
                yield Fault(code, f"{what}: {own:,.0f} and {theirs:,.0f}")
        if "out" not in told and (lengths := _other_lengths(first, other)):
            told.add("out")
            yield Fault("tokens", lengths)
        for key in first.facts.keys() & other.facts.keys() - told:
            if _must_agree(key) and first.facts[key] != other.facts[key]:
                told.add(key)
                yield Fault("setting", f"{key}: {first.facts[key] or 'set'} and {other.facts[key] or 'set'}")


def _other_lengths(first: Record, other: Record) -> str:
    """Output tokens in all, where they differ by more than chance allows."""
    own, theirs = (one.metrics.get("total_output_tokens") for one in (first, other))
    if own is None or theirs is None or own == theirs:
        return ""
    fixed = output_len(first.metrics) or output_len(other.metrics)
    if not fixed and own > 0 and abs(theirs / own - 1) <= LENGTHS_VARY:
        return ""
    return f"tokens out: {own:,.0f} and {theirs:,.0f}"


def listed(before: Record, after: Record) -> Iterator[Caveat]:
    """What differs, and may."""
    for key in before.facts:
        if key not in after.facts or before.facts[key] == after.facts[key]:
            continue
        if not _must_agree(key) and not _OF_THE_RUN.search(key):
            says = f"{key}: {before.facts[key] or 'set'} before, {after.facts[key] or 'set'} after"
            yield Caveat("unlike", says, "make it the same, or say that it is the change")
    one_sided = sorted({key for key in _SAME if (key in before.metrics) != (key in after.metrics)})
    if one_sided:
        says = f"known on one side only: {', '.join(one_sided)}"
        yield Caveat("one-sided", says, "paste both blocks whole, so that they can be held against each other")


def prefix_cache(before: Sequence[Record], after: Sequence[Record]) -> Iterator[Caveat]:
    """Was a later run served from the prefix cache of an earlier one?"""
    servers = [record.facts for record in (*before, *after)]
    off = [_cache_is_off(facts) for facts in servers]
    if all(off):
        return
    advice = "start the server with --no-enable-prefix-caching, or reset the cache between runs"
    if all("server command" in facts for facts in servers):
        says = "prefix caching is on by default, and the server's command does not switch it off"
        yield Caveat("prefix-caching", f"{says}: every run after the first is partly served from the cache", advice)
        return
    for one, other in product(before, after):
        first = [side.metrics.get("mean_ttft_ms") for side in (one, other)]
        each = [side.metrics.get("mean_tpot_ms") for side in (one, other)]
        if None in first or None in each or not all(first) or not all(each):
            continue
        ttft, tpot = ((found[1] or 1.0) / (found[0] or 1.0) for found in (first, each))
        if ttft < CACHE_TTFT and abs(tpot - 1) < CACHE_TPOT:
            says = f"TTFT fell by {1 - ttft:.0%} and TPOT by {1 - tpot:.1%}: it looks like a cache hit"
            yield Caveat("cache-hit", says, advice)
            return


def _cache_is_off(facts: Mapping[str, str]) -> bool:
    return "server no_enable_prefix_caching" in facts or "server disable_radix_cache" in facts


def order(before: Sequence[Record], after: Sequence[Record]) -> Iterator[Caveat]:
    """Whether one side always ran after the other, by the dates in the files."""
    dates = [[record.facts.get("date", "") for record in side] for side in (before, after)]
    if len(before) < 2 or not all(dates[0]) or not all(dates[1]):
        return
    for side, first, second in (("after", dates[0], dates[1]), ("before", dates[1], dates[0])):
        if max(first) < min(second):
            says = f"order not balanced: all runs of the {side} side came last"
            yield Caveat("unbalanced", says, "run the sides in turns: ABBA")


def _must_agree(key: str) -> bool:
    if key in _SAME_FOR_ALL:
        return True
    return _SETTING.search(key) is not None and _OF_THE_RUN.search(key) is None
