"""Answers of others, before and after, judged by `gdnbench.accuracy`: paired where samples are, else by scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gdnbench.accuracy.judging import judge_accuracy
from gdnbench.accuracy.outputs import Output
from gdnbench.ingest.lm_eval import KNOWN_SIZES, AnswersRecord
from gdnbench.values.accuracy import AccuracyResult, AccuracyRow
from gdnbench.values.ingested import CheckedPair, CheckedRow, Record
from gdnbench.values.metrics import Metric
from gdnbench.values.serving import Fault
from gdnbench.values.verdicts import Caveat, Judgement, Verdict

ABOUT = 0.07
"""Within which two numbers of documents, told by standard errors, are the same."""


def judge_answers(task: str, before: Sequence[Record], after: Sequence[Record], floor: float) -> CheckedPair:
    """One task, before and after.

    Args:
        floor: the smallest difference that matters, as a fraction.
    """
    sides = [next((one for one in side if isinstance(one, AnswersRecord)), None) for side in (before, after)]
    sources = {"before": tuple(one.source for one in before), "after": tuple(one.source for one in after)}
    outputs, assumed = _with_documents(task, [None if one is None else one.output for one in sides])
    faults = [
        replace(fault, message=f"{record.source}: {fault.message}")
        for record in (*before[:1], *after[:1])
        for fault in record.faults
    ]
    warnings = [caveat for record in (*before[:1], *after[:1]) for caveat in record.warnings] + assumed
    if max(len(before), len(after)) > 1:
        says = f"{len(before)} runs before and {len(after)} after: the first of each is judged"
        warnings.append(Caveat("several-runs", says, "pool answers by document: give folders with samples"))
    if outputs is None:
        says = "how many documents were asked is not known on either side, so no difference can be judged"
        rows = _unjudged(before[0], after[0], says)
        return _pair(task, sources, faults, rows, [*warnings, Caveat("unknown-size", says, "give the standard error")])
    one, other = outputs
    if abs(other.documents / one.documents - 1) > ABOUT:
        says = f"{one.documents:,} documents before and {other.documents:,} after"
        faults.append(Fault("missing_documents", says))
    known = {fault.message for fault in faults}
    found = judge_accuracy(replace(one, faults=()), replace(other, faults=()), floor=floor, faults=faults)
    faults += [fault for fault in found.invalid if fault.message not in known]
    seen = {(caveat.code, caveat.message) for caveat in warnings}
    warnings += [caveat for caveat in found.warnings if (caveat.code, caveat.message) not in seen]
    return replace(_pair(task, sources, faults, _rows(found), warnings), answers=found)


def _with_documents(task: str, outputs: Sequence[Output | None]) -> tuple[tuple[Output, Output] | None, list[Caveat]]:
    """Both outputs, each with a number of documents, and what was taken for granted; None where nothing tells it.

    A side that does not tell it is taken to have the other's: lm-eval prints 0 +- 0 where nothing is right. Where
    neither tells it, the name of a test set may.
    """
    one, other = outputs
    if one is None or other is None:
        return None, []
    most = max(one.documents, other.documents)
    caveats: list[Caveat] = []
    if not most and (size := KNOWN_SIZES.get(task)):
        says = f"{size:,} documents are taken for granted: the whole test set of {task}"
        most, caveats = size, [Caveat("assumed-size", says, "state the limit, or the standard error")]
    if not most:
        return None, []
    whole = [replace(each, documents=each.documents or most) for each in (one, other)]
    return (whole[0], whole[1]), caveats


def _rows(found: AccuracyResult) -> list[CheckedRow]:
    rows = []
    for row in found.rows:
        paired = "paired" if row.paired is not None else "not paired"
        p_value = "" if row.p_value is None else ", p < 0.001" if row.p_value < 0.001 else f", p = {row.p_value:.3f}"
        flips = "" if row.paired is None else f"; {row.paired.lost} lost and {row.paired.gained} gained"
        metric = Metric(row.metric, row.metric, "", "sampled", "higher", floor=found.floor)
        judgement = Judgement(
            row.verdict,
            ratio=row.after.value / row.before.value if row.before.value > 0 else None,
            p_value=row.p_value,
            launches=1,
            reason=_reason(row),
        )
        name = f"{row.metric},{row.filter}".rstrip(",")
        note = f"{row.documents:,} documents, {paired}{p_value}{flips}"
        rows.append(CheckedRow(name, metric, "", row.primary, row.before.value, row.after.value, judgement, note))
    return rows


def _reason(row: AccuracyRow) -> str:
    if row.verdict is not Verdict.UNKNOWN or row.significant is None:
        return row.reason
    return f"no difference that this size could show: {row.reason}"


def _unjudged(before: Record, after: Record, why: str) -> list[CheckedRow]:
    names = [name for name in before.metrics if name in after.metrics and "stderr" not in name]
    return [
        CheckedRow(
            name.rstrip(","),
            None,
            "",
            number == 0,
            before.metrics[name],
            after.metrics[name],
            Judgement(Verdict.UNKNOWN, reason=why),
        )
        for number, name in enumerate(names)
    ]


def _pair(
    task: str,
    sources: dict[str, tuple[str, ...]],
    faults: Sequence[Fault],
    rows: Sequence[CheckedRow],
    warnings: Sequence[Caveat],
) -> CheckedPair:
    return CheckedPair(
        kind="accuracy",
        group=task,
        concurrency=None,
        sources={"before": sources["before"], "after": sources["after"]},
        reasons=tuple(faults),
        rows=tuple(rows),
        warnings=tuple(dict.fromkeys(warnings)),
    )
