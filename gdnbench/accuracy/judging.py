"""Two finished runs of one task judged: validity first, then the same documents, filter by filter."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

from gdnbench.accuracy.outputs import Answer, Output
from gdnbench.stats.binary import Detectable, Flips, detectable, detectable_unpaired
from gdnbench.stats.median import ALPHA, fewest
from gdnbench.values.accuracy import AccuracyResult, AccuracyRow, Flip, Paired, Score
from gdnbench.values.serving import Coverage, Fault
from gdnbench.values.verdicts import Caveat, Verdict

FLOOR = 0.01
"""One point: the smallest difference that matters, unless somebody says otherwise."""

SETTINGS = {
    "task": "the tasks",
    "version": "the versions of the task",
    "n_shot": "the numbers of examples",
    "fewshot_seed": "the seeds of the examples",
    "limit": "the limits",
    "chat_template": "the chat templates",
    "system_prompt": "the system prompts",
    "multiturn": "the ways to give examples, in turns or at once,",
    "generation": "the settings of generation",
    "template": "the prompt templates",
    "filters": "the filters",
}
"""What must be the same, in words; by the names of `Output.setting`, which are the codes of faults."""


def judge_accuracy(
    before: Output,
    after: Output,
    control: Output | None = None,
    *,
    sides: Mapping[str, str] | None = None,
    floor: float = FLOOR,
    coverage: Coverage | None = None,
    faults: Sequence[Fault] = (),
    warnings: Sequence[Caveat] = (),
    identity: Mapping[str, Any] | None = None,
) -> AccuracyResult:
    """Judge two runs of lm-eval, and what a second run of the first one says of answers that flip by themselves.

    Args:
        control: the before side again; None where nobody ran it.
        sides: how each side is spelled; default, its folder.
        floor: the smallest difference that matters, as a fraction; 0 < floor < 1.
        coverage: of a run whose server we watched.
        faults, warnings: what is wrong with it otherwise, and what a reader must know.
        identity: what else was the same on both sides.
    """
    runs = [before, after, *([control] if control is not None else [])]
    found = [*faults, *_own_faults(runs), *_unlike(before, after, "before and after")]
    if control is not None:
        found += _unlike(before, control, "the two runs of before")
    filters = [name for name in before.scores if name in after.scores]
    if not filters and before.metric == after.metric:
        found.append(Fault("filters", "the sides have no filter in common"))
    rows = [_row(before, after, control, name, floor, primary=name == filters[0]) for name in filters]
    if found:
        rows = [replace(row, verdict=Verdict.INVALID, reason=found[0].message) for row in rows]
    return AccuracyResult(
        task=before.task,
        sides=dict(sides or {"before": before.folder, "after": after.folder}),
        rows=tuple(rows),
        flips=tuple(flip for name in filters for flip in _flips(before, after, name)),
        floor=floor,
        coverage=coverage,
        invalid=tuple(found),
        warnings=(*warnings, *_warnings(before, after, control, rows)),
        identity={**before.setting, **before.listed, **(identity or {})},
    )


def _own_faults(runs: Sequence[Output]) -> Iterator[Fault]:
    for run in runs:
        for fault in run.faults:
            yield replace(fault, message=f"{run.folder}: {fault.message}")


def _unlike(one: Output, other: Output, which: str) -> Iterator[Fault]:
    """In what two runs differ that must be the same."""
    for name, words in SETTINGS.items():
        left, right = one.setting.get(name), other.setting.get(name)
        if left != right:
            yield Fault(name, f"{words} of {which} differ: {_shown(left)} and {_shown(right)}")
    if one.metric != other.metric:
        yield Fault("metric", f"the metrics of {which} differ: {one.metric} and {other.metric}")
        return
    for name in one.answers:
        if name in other.answers:
            yield from _other_documents(one.answers[name], other.answers[name], which)
            return  # every filter sees the same documents


def _other_documents(one: Mapping[str, Answer], other: Mapping[str, Answer], which: str) -> Iterator[Fault]:
    missing, extra = one.keys() - other.keys(), other.keys() - one.keys()
    if missing or extra:
        yield Fault(
            "missing_documents",
            f"the documents of {which} differ: {len(missing):,} are in the first alone, {len(extra):,} in the second",
        )
    both = one.keys() & other.keys()
    prompts = sum(one[key].prompt != other[key].prompt for key in both)
    if prompts:
        yield Fault("prompts", f"the prompts of {which} differ in {prompts:,} of {len(both):,} documents")
    targets = sum(one[key].target != other[key].target for key in both)
    if targets:
        yield Fault("targets", f"the right answers of {which} differ in {targets:,} of {len(both):,} documents")


def _row(
    before: Output, after: Output, control: Output | None, name: str, floor: float, *, primary: bool
) -> AccuracyRow:
    scores = before.scores[name], after.scores[name]
    pair = paired(before.answers.get(name), after.answers.get(name))
    again = None if control is None else paired(before.answers.get(name), control.answers.get(name))
    row = AccuracyRow(
        metric=before.metric,
        filter=name,
        primary=primary,
        documents=before.documents,
        before=scores[0],
        after=scores[1],
        paired=pair,
        interval=None,
        p_value=None,
        unpaired_p=_unpaired_p(scores[0], scores[1], before.documents, after.documents),
        significant=None,
        with_power=None,
        control=again,
        verdict=Verdict.UNKNOWN,
    )
    return _judge_unpaired(row, floor) if pair is None else _judge_paired(row, pair, again, floor)


def _judge_paired(row: AccuracyRow, pair: Paired, again: Paired | None, floor: float) -> AccuracyRow:
    flips = Flips(pair.lost, pair.gained, pair.documents)
    by_themselves = again or pair
    shown = detectable(pair.documents, by_themselves.lost + by_themselves.gained)
    verdict, reason = flips.verdict(floor), ""
    right = pair.both_right + pair.lost
    if verdict in (Verdict.SAME, Verdict.UNKNOWN) and right < fewest(ALPHA):
        verdict = Verdict.UNKNOWN
        reason = (
            f"this run cannot show a loss: the before side has {right} right answers, and fewer than {fewest(ALPHA)} "
            "lost ones are never significant"
        )
    elif verdict is Verdict.UNKNOWN:
        reason = _too_few(shown, floor)
    return replace(
        row,
        interval=flips.interval(),
        p_value=flips.p_value,
        significant=shown.significant,
        with_power=shown.with_power,
        verdict=verdict,
        reason=reason,
    )


def _judge_unpaired(row: AccuracyRow, floor: float) -> AccuracyRow:
    """Two scores and nothing else; weaker by what pairing would have taken out."""
    rate = (row.before.value + row.after.value) / 2
    shown = detectable_unpaired(rate, row.documents)
    spread = math.sqrt(sum(score.value * (1 - score.value) for score in (row.before, row.after)) / row.documents)
    reach = NormalDist().inv_cdf(1 - ALPHA / 2) * spread
    low, high = row.difference - reach, row.difference + reach
    verdict = Verdict.UNKNOWN
    if row.unpaired_p is not None and row.unpaired_p <= ALPHA and abs(row.difference) > floor:
        verdict = Verdict.IMPROVED if row.difference > 0 else Verdict.REGRESSED
    elif spread > 0 and -floor <= low and high <= floor:
        verdict = Verdict.SAME
    reason = "judged without pairing, which is weaker"
    if verdict is Verdict.UNKNOWN:
        reason += f": {_too_few(shown, floor)}"
    return replace(
        row,
        interval=(low, high),
        p_value=row.unpaired_p,
        significant=shown.significant,
        with_power=shown.with_power,
        verdict=verdict,
        reason=reason,
    )


def _too_few(shown: Detectable, floor: float) -> str:
    needed, found, least = (
        "no difference at all" if value is None else f"{value:.1%}".replace("%", " points")
        for value in (shown.significant, shown.with_power, floor)
    )
    return f"{needed} would be significant here, and {found} found four times in five; the floor is {least}"


def paired(one: Mapping[str, Answer] | None, other: Mapping[str, Answer] | None) -> Paired | None:
    """How the documents that both runs answered compare; None where answers are not known."""
    if not one or not other:
        return None
    both = [(one[key].right, other[key].right) for key in one if key in other]
    if not both:
        return None
    return Paired(
        both_right=sum(left and right for left, right in both),
        both_wrong=sum(not left and not right for left, right in both),
        lost=sum(left and not right for left, right in both),
        gained=sum(right and not left for left, right in both),
    )


def _flips(before: Output, after: Output, name: str) -> Iterator[Flip]:
    one, other = before.answers.get(name, {}), after.answers.get(name, {})
    for key, answer in sorted(one.items(), key=lambda item: item[1].number):
        if key in other and other[key].right != answer.right:
            yield Flip(
                filter=name,
                direction="lost" if answer.right else "gained",
                document=key,
                question=answer.question,
                target=answer.target,
                before=answer.text,
                after=other[key].text,
            )


def _unpaired_p(before: Score, after: Score, n_before: int, n_after: int) -> float | None:
    """Two shares as independent samples, by the normal distribution: what lm-eval's numbers alone allow."""
    pooled = (before.value * n_before + after.value * n_after) / (n_before + n_after)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / n_before + 1 / n_after))
    if spread == 0:
        return None if before.value == after.value else 0.0
    return 2 * NormalDist().cdf(-abs(after.value - before.value) / spread)


def _warnings(before: Output, after: Output, control: Output | None, rows: Sequence[AccuracyRow]) -> Iterator[Caveat]:
    yield from dict.fromkeys([*before.warnings, *after.warnings, *(control.warnings if control is not None else ())])
    for name in before.listed:
        left, right = before.listed[name], after.listed.get(name)
        if left != right:
            what = f"{name}: {_shown(left)} before, {_shown(right)} after"
            yield Caveat("unlike", what, "make it the same, or say why it does not matter")
    for row in rows:
        if row.control is None or not row.primary:
            continue
        again = Flips(row.control.lost, row.control.gained, row.control.documents)
        if again.p_value <= ALPHA:
            what = (
                f"two runs of the same code differ by {again.difference * 100:+.1f} points (p = {again.p_value:.3f}): "
                "answers depend on more than the code"
            )
            yield Caveat("control-differs", what, "find out on what: a busy server, another batch, a random seed")
    numbers = {key: answer.number for answers in before.answers.values() for key, answer in answers.items()}
    moved = {
        key
        for answers in after.answers.values()
        for key, answer in answers.items()
        if key in numbers and numbers[key] != answer.number
    }
    if moved:
        what = f"{len(moved):,} documents stand elsewhere in the lists of the two sides; they were joined by content"
        yield Caveat("reordered", what, "nothing")


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
