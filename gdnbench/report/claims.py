"""What was stated of a change, held against what this evidence measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gdn_impl.catalog import Change, Claim
from gdnbench.ingest.claims import judge_claims
from gdnbench.report.evidence import ClaimFinding
from gdnbench.report.numbers import change as change_of
from gdnbench.values.accuracy import AccuracyResult
from gdnbench.values.claims import BUILD, JudgedClaim, StatedClaim, Support
from gdnbench.values.ingested import CheckedPair, CheckedRow, Side
from gdnbench.values.serving import ServeResult, ServeRow
from gdnbench.values.verdicts import Judgement

PUBLISHED_GROUPS, PUBLISHED_STEP_MS = 30, 17.0
"""KV groups that build in a step of the published setting, and what the step takes at concurrency 1."""
ROOM = 1.5
"""A claim may exceed what a profiled saving explains by so much: both are single measurements."""


def published(change: Change, server: ServeResult | None) -> tuple[ClaimFinding, ...]:
    """The catalogue's claims. They speak of a setting on a GPU: elsewhere they can be neither shown nor refuted."""
    stated = [(claim, _stated(claim)) for claim in change.claims]
    saving = next((one for _, one in stated if one is not None and one.metric == BUILD), None)
    return tuple(_published(claim, one, server, saving) for claim, one in stated)


def of_this_run(
    claims: Sequence[StatedClaim], server: ServeResult | None, accuracy: AccuracyResult | None
) -> tuple[ClaimFinding, ...]:
    """Claims that a user makes of this very measurement."""
    groups = None if server is None else server.identity.groups
    judged = judge_claims(claims, [*_served(server), *_answered(accuracy)], groups)
    return tuple(_finding(one) for one in judged)


def _published(
    claim: Claim, stated: StatedClaim | None, server: ServeResult | None, saving: StatedClaim | None
) -> ClaimFinding:
    note = f"{claim.setting}; measured elsewhere, so this report neither supports nor refutes it"
    if server is not None and stated is not None:
        asked = (stated.metric, stated.concurrency)
        for row in server.primary:
            if (row.metric.tag, row.concurrency) == asked:
                here = f"{change_of(row.judgement.ratio)} ({row.judgement.verdict.value})"
                note += f"; here, in another setting, {here} at concurrency {row.concurrency}"
    if stated is not None and saving is not None and stated is not saving and stated.concurrency == 1:
        note += f"; {_explained(claim, saving)}"
    return ClaimFinding(claim, Support.ELSEWHERE.value, note)


def _explained(claim: Claim, saving: StatedClaim) -> str:
    """Whether what a build saves, times the KV groups of the published setting, is enough for the claim."""
    saved_ms = abs(saving.difference or 0.0) / 1000 * PUBLISHED_GROUPS
    share = saved_ms / PUBLISHED_STEP_MS
    claimed = (claim.after or 0.0) / claim.before - 1 if claim.before else 0.0
    verb = "explains" if claimed <= share * ROOM else "does not explain"
    saved = f"{abs(saving.difference or 0.0):g} us x {PUBLISHED_GROUPS} KV groups"
    told = f"the profiled saving, {saved}, is {share:.0%} of a step of {PUBLISHED_STEP_MS:g} ms, which {verb} it"
    return told.replace("%", " %")


def _stated(claim: Claim) -> StatedClaim | None:
    """A claim of the catalogue in the grammar's terms; None where it has no figure."""
    if claim.metric == "step_time":
        size = float(claim.text.split()[0])
        return StatedClaim(claim.text, BUILD, None, -size, claim.unit)
    if claim.before is None or claim.after is None:
        return None
    return StatedClaim(claim.text, claim.metric, claim.after / claim.before, None, "", claim.concurrency)


def _finding(judged: JudgedClaim) -> ClaimFinding:
    stated = judged.claim
    claim = Claim(stated.text, stated.metric, stated.unit, concurrency=stated.concurrency)
    note = judged.note + (f"; {judged.boundary}" if judged.boundary else "")
    return ClaimFinding(claim, judged.finding.value, note)


def _served(server: ServeResult | None) -> Iterator[CheckedPair]:
    """The rows of a live server as those of published pairs are called."""
    if server is None:
        return
    launches = tuple(f"launch {number + 1}" for number in range(server.identity.launches))
    for concurrency in dict.fromkeys(row.concurrency for row in server.rows):
        rows = tuple(_checked(row) for row in server.rows if row.concurrency == concurrency)
        yield CheckedPair("serving", "", concurrency, {"before": launches, "after": launches}, server.invalid, rows)


def _checked(row: ServeRow) -> CheckedRow:
    name = row.metric.tag if row.statistic == "rate" else f"{row.statistic}_{row.metric.tag}_ms"
    return CheckedRow(name, row.metric, row.metric.unit, row.primary, row.before, row.after, row.judgement, row.note)


def _answered(accuracy: AccuracyResult | None) -> Iterator[CheckedPair]:
    if accuracy is None:
        return
    rows = tuple(
        CheckedRow(
            row.metric,
            None,
            "",
            row.primary,
            row.before.value,
            row.after.value,
            Judgement(row.verdict, launches=1, reason=row.reason, p_value=row.p_value),
        )
        for row in accuracy.rows
    )
    sources: dict[Side, tuple[str, ...]] = {"before": ("before",), "after": ("after",)}
    yield CheckedPair("accuracy", accuracy.task, None, sources, accuracy.invalid, rows, answers=accuracy)
