"""One run held against another: a row for every place that either of them has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase

from gdnbench.stats.exact import judge_counts
from gdnbench.values.errors import UserError
from gdnbench.values.gate import EXACT, Cost, GateRow, GateRun, Place, Presence
from gdnbench.values.verdicts import Caveat, Judgement, Verdict


def compare_costs(before: GateRun, after: GateRun, may_be_gone: Sequence[str] = ()) -> tuple[GateRow, ...]:
    """The exact costs of two runs, row by row.

    What `before` holds and `after` was not asked for is no row. Whatever fails now and did not is `regressed`; whatever
    is gone is `invalid`, since nobody can say what it costs.

    Args:
        may_be_gone: patterns of rows that may be gone, such as `pr40654.after*`.

    Raises:
        UserError: nothing could be compared, and that is not the fault of what stands here.
    """
    places = [place for place in before.costs if after.selection.has(place)]
    places += [place for place in after.costs if place not in before.costs]
    torch = before.identity.torch, after.identity.torch
    rows = tuple(_row(place, before.costs.get(place), after.costs.get(place), torch, may_be_gone) for place in places)
    if not any(row.presence in (Presence.COMPARED, Presence.NEWLY_FAILING) for row in rows):
        raise UserError(f"nothing compared: {_why_nothing(rows)}")
    return rows


def _row(
    place: Place, before: Cost | None, after: Cost | None, torch: tuple[str, str], may_be_gone: Sequence[str]
) -> GateRow:
    presence, judgement = _judged(place, before, after, may_be_gone)
    if presence is Presence.COMPARED and torch[0] != torch[1]:
        reason = f"counted under torch {torch[0]}, now {torch[1]}: counts of two versions say nothing about the code"
        judgement = Judgement(Verdict.INVALID, launches=1, reason=reason)
    was, now = (None if side is None else side.counts for side in (before, after))
    return GateRow(place, EXACT, presence, was, now, judgement)


def _judged(
    place: Place, before: Cost | None, after: Cost | None, may_be_gone: Sequence[str]
) -> tuple[Presence, Judgement | None]:
    if before is None or after is None:
        if before is None:
            if after is not None and after.failure:
                return Presence.NEW, Judgement(Verdict.INVALID, reason=f"new, and it fails: {after.failure}")
            return Presence.NEW, None
        if any(fnmatchcase(str(place), pattern) for pattern in may_be_gone):
            return Presence.GONE, None
        reason = "the baseline has this row; if it may go, say so by --allow-gone"
        return Presence.GONE, Judgement(Verdict.INVALID, reason=reason)
    if before.counts is not None and after.counts is not None:
        return Presence.COMPARED, judge_counts(before.counts, after.counts)
    if before.counts is not None:
        return Presence.NEWLY_FAILING, Judgement(Verdict.REGRESSED, reason=after.failure)
    if after.counts is not None:
        return Presence.FIXED, Judgement(Verdict.IMPROVED, reason=f"it failed: {before.failure}")
    return Presence.FAILING, Judgement(Verdict.UNKNOWN, reason=after.failure)


def _why_nothing(rows: Sequence[GateRow]) -> str:
    if not rows:
        return "neither side has a row of what was asked for"
    failing = [row for row in rows if row.presence in (Presence.FIXED, Presence.FAILING)]
    if failing and failing[0].judgement is not None:
        return f"all {len(failing)} rows that both sides have fail in the baseline, {failing[0].place}: " + (
            failing[0].judgement.reason.removeprefix("it failed: ")
        )
    gone = [row for row in rows if row.presence is Presence.GONE]
    rest = len(rows) - len(gone)
    return f"of what was asked for the baseline has {len(gone)} rows and this checkout {rest}, and none in common"


def differing_harness(before: GateRun, after: GateRun, rows: Sequence[GateRow]) -> list[Caveat]:
    """A caveat where counts differ and the code that counts is not the same on both sides."""
    if before.identity.harness == after.identity.harness or not any(_differs(row) for row in rows):
        return []
    return [
        Caveat(
            "harness",
            "the code that counts differs between the baseline and now: a difference may be its doing",
            "gate against a commit, whose builders this version counts: --baseline REF",
        )
    ]


def _differs(row: GateRow) -> bool:
    return row.presence is Presence.COMPARED and row.before != row.after


def in_order(rows: Sequence[GateRow]) -> tuple[GateRow, ...]:
    """The rows that a reader has to see first, the worst before all; those of one verdict by the size of the change."""
    order = {verdict: i for i, verdict in enumerate((Verdict.REGRESSED, Verdict.INVALID, Verdict.UNKNOWN))}

    def key(row: GateRow) -> tuple[bool, int, float]:
        ratio = 1.0 if row.judgement is None else row.judgement.ratio
        effect = math.inf if ratio is None else abs(ratio - 1.0)  # none: from nothing, or to a failure
        return not row.differs, order.get(row.verdict or Verdict.SAME, len(order)), -effect

    return tuple(sorted(rows, key=key))
