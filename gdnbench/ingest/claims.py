"""Claims held against checked pairs: supported or not, where they hold, and whether the saving explains them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gdnbench.values.claims import BUILD, JudgedClaim, StatedClaim, Support
from gdnbench.values.ingested import CheckedPair, CheckedRow
from gdnbench.values.metrics import Metric
from gdnbench.values.verdicts import Verdict

TIMES = 3.0
"""A claim beyond so many times what the saving explains has another cause."""
PUBLISHED_GROUPS = 30
"""KV groups of the published setting; the number that is meant where two readings are shown."""

_DECIDED = (Verdict.IMPROVED, Verdict.REGRESSED)


def judge_claims(
    claims: Sequence[StatedClaim], pairs: Sequence[CheckedPair], groups: int | None = None
) -> list[JudgedClaim]:
    """Each claim with its finding.

    Args:
        groups: KV groups, each of which builds in every step; None where that is not known.
    """
    saving = next((claim for claim in claims if claim.metric == BUILD), None)
    return [_judged(claim, pairs, saving if claim is not saving else None, groups) for claim in claims]


def _judged(
    claim: StatedClaim, pairs: Sequence[CheckedPair], saving: StatedClaim | None, groups: int | None
) -> JudgedClaim:
    places = [(pair, row) for pair in pairs if (row := _row_of(pair, claim.metric)) is not None]
    here = [one for one in places if claim.concurrency in (None, one[0].concurrency)]
    if claim.metric == BUILD:
        return JudgedClaim(claim, Support.ELSEWHERE, "what a build takes is not in these figures: gdnbench step")
    if not here:
        where = "" if claim.concurrency is None else f" at concurrency {claim.concurrency}"
        return JudgedClaim(
            claim, Support.ELSEWHERE, f"these figures have no {claim.metric}{where}", _boundary(claim, places)
        )
    pair, row = here[0]
    finding, note = _against(claim, pair, row)
    if saving is not None and (told := _budget(claim, pair, row, saving, groups)):
        note = f"{note}; {told}"
    others = [one for one in places if one[0] is not pair]
    return JudgedClaim(claim, finding, note, _boundary(claim, [(pair, row), *others]) if others else "")


def _row_of(pair: CheckedPair, metric: str) -> CheckedRow | None:
    """The row that a claim speaks of: by its name, or of answers by its task."""
    found = next((row for row in pair.rows if row.name == metric), None)
    if found is None and pair.group.lower() == metric.lower():
        found = next((row for row in pair.rows if row.primary), None)
    return found if found is not None and found.before is not None and found.after is not None else None


def _against(claim: StatedClaim, pair: CheckedPair, row: CheckedRow) -> tuple[Support, str]:
    own = row.judgement
    shown = _shown(row)
    if own.verdict is Verdict.INVALID:
        return Support.NOT_SUPPORTED, f"the figures are invalid: {own.reason}"
    if pair.kind == "accuracy":
        return _against_answers(claim, row, shown)
    ratio = claim.ratio_from(row.before)
    if ratio is None or row.metric is None or own.ratio is None:
        return Support.NOT_SUPPORTED, f"{shown}, and the claim cannot be held against that"
    floor = row.metric.log_floor(_level(row))
    if own.verdict is Verdict.UNKNOWN:
        return _against_unknown(claim, pair, row, ratio, floor, shown)
    if abs(math.log(ratio)) <= floor:
        if own.verdict is Verdict.SAME:
            return Support.SUPPORTED, f"{shown}: no change beyond the floor of {row.metric.floor_percent:g} %"
        return Support.CONTRADICTED, f"{shown}: {own.verdict.value}"
    if own.verdict is Verdict.SAME or _opposite(row.metric, ratio, own.verdict):
        return Support.CONTRADICTED, f"{shown}: {own.verdict.value}"
    low, high = own.interval or (own.ratio, own.ratio)
    if low * math.exp(-floor) <= ratio <= high * math.exp(floor):
        return Support.SUPPORTED, f"{shown}, 95 % interval {low - 1:+.1%} to {high - 1:+.1%}"
    return Support.NOT_SUPPORTED, f"the direction holds, the size does not: {low - 1:+.1%} to {high - 1:+.1%}"


def _against_unknown(
    claim: StatedClaim, pair: CheckedPair, row: CheckedRow, ratio: float, floor: float, shown: str
) -> tuple[Support, str]:
    own = row.judgement
    if own.interval is not None and not own.interval[0] * math.exp(-floor) <= ratio <= own.interval[1] * math.exp(
        floor
    ):
        low, high = own.interval
        return Support.CONTRADICTED, f"{shown}, 95 % interval {low - 1:+.1%} to {high - 1:+.1%} excludes it"
    if 0 < abs(math.log(ratio)) <= floor and row.metric is not None:
        return Support.BEYOND, f"{shown}; the claim lies within the floor of {row.metric.floor_percent:g} %"
    if own.smallest_detectable is not None and abs(ratio - 1) < own.smallest_detectable:
        return Support.BEYOND, f"{shown}; only changes from {own.smallest_detectable:.1%} on are found here"
    more = f": about {own.more_launches} more runs a side would settle it" if own.more_launches else ""
    runs = f"{pair.runs} run{'' if pair.runs == 1 else 's'} a side"
    return Support.NOT_SUPPORTED, f"{shown}, but {runs} cannot tell that from chance{more}"


def _against_answers(claim: StatedClaim, row: CheckedRow, shown: str) -> tuple[Support, str]:
    verdict, unchanged = row.judgement.verdict, claim.ratio == 1.0
    if unchanged and verdict in _DECIDED:
        return Support.CONTRADICTED, f"{shown}: {verdict.value}"
    if unchanged and verdict is Verdict.SAME:
        return Support.SUPPORTED, shown
    if verdict is Verdict.UNKNOWN:
        return Support.BEYOND, f"{shown}; {row.judgement.reason}"
    change = claim.difference if claim.difference is not None else (claim.ratio or 1.0) - 1
    agrees = (verdict is Verdict.IMPROVED) == (change > 0) and verdict in _DECIDED
    return (Support.SUPPORTED if agrees else Support.CONTRADICTED), f"{shown}: {verdict.value}"


def _opposite(metric: Metric, ratio: float, verdict: Verdict) -> bool:
    return metric.is_better(math.log(ratio)) != (verdict is Verdict.IMPROVED)


def _level(row: CheckedRow) -> float:
    return math.sqrt((row.before or 1.0) * (row.after or 1.0))


def _shown(row: CheckedRow) -> str:
    change = "" if row.ratio is None else f" ({row.ratio - 1:+.2%})"
    return f"{row.name} {row.before or 0.0:g} -> {row.after or 0.0:g}{change}"


def _boundary(claim: StatedClaim, places: Sequence[tuple[CheckedPair, CheckedRow]]) -> str:
    """Where it holds, and where not."""
    told = []
    for pair, row in places:
        if pair.concurrency is None:
            continue
        finding, _ = _against(claim, pair, row)
        ratio = (row.after or 0.0) / row.before if row.before else 1.0
        at = f"at concurrency {pair.concurrency}"
        within = row.metric is not None and abs(math.log(max(ratio, 1e-9))) <= row.metric.log_floor(_level(row))
        if finding is Support.SUPPORTED:
            told.append(f"holds {at}")
        elif within:
            told.append(f"within noise {at} ({ratio - 1:+.2%})")
        else:
            told.append(f"{finding.value} {at} ({ratio - 1:+.2%})")
    return "; ".join(told)


def _budget(claim: StatedClaim, pair: CheckedPair, row: CheckedRow, saving: StatedClaim, groups: int | None) -> str:
    """Whether the time that a build saves, times groups and steps, can explain the claim; both readings if unknown."""
    step = next((one.before for one in pair.rows if one.name == "mean_itl_ms"), None)
    ratio = claim.ratio_from(row.before)
    if not step or ratio is None or saving.difference is None or saving.unit not in ("us", "ms") or ratio == 1:
        return ""
    saved = abs(saving.difference) * (1e-3 if saving.unit == "us" else 1.0)
    told = []
    for count in (groups,) if groups is not None else (1, PUBLISHED_GROUPS):
        part = saved * count / step
        explained = math.inf if part >= 1 else -math.log1p(-part)
        verb = "explains" if abs(math.log(ratio)) <= TIMES * explained else "does not explain"
        of = f"{count} KV group{'' if count == 1 else 's'}"
        told.append(f"a saving of {saved * 1000:g} us x {of} is {part:.1%} of a step of {step:g} ms, which {verb} it")
    return "; ".join(told)
