"""A comparison of answers in sentences: the headline, what it can show, what to do next."""

from __future__ import annotations

from collections.abc import Mapping

from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.values.accuracy import AccuracyResult, AccuracyRow, Paired, Score
from gdnbench.values.verdicts import Verdict

ADVICE: Mapping[str, str] = {
    "never_ran": "choose a server that runs it (drafts: --speculative mtp)",
    "release": "serve both sides by one release: --release",
    "prefix_caching": "switch it off: --server-flag=--no-enable-prefix-caching",
    "flags": "start all servers alike",
    "missing_documents": "run both sides to their end with the same --limit",
    "contradicting": "give each run a folder of its own, and run again",
    "samples": "give each run a folder of its own, and run again",
    "standard_error": "find out which of the figures is another run's",
    "prompts": "give both sides the same template, examples and seed; clear lm-eval's request cache",
    "targets": "give both sides the same data",
}
"""What to do about faults; about others: make that setting the same on both sides."""


def points(fraction: float) -> str:
    """A difference of shares: 0.0061 -> +0.6 points."""
    return f"{round(fraction * 100, 1) + 0.0:+.1f} points"


def plain_points(fraction: float | None) -> str:
    """A size of a difference, without a sign."""
    return "n/a" if fraction is None else f"{fraction * 100:.1f} points"


def interval(ends: tuple[float, float] | None) -> str:
    """Of a difference, in points."""
    return "n/a" if ends is None else f"{ends[0] * 100:+.1f} to {ends[1] * 100:+.1f}"


def score(value: float) -> str:
    """A share of right answers."""
    return f"{value * 100:.1f} %"


def chance(p_value: float) -> str:
    """A p-value as a table holds it."""
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def printed(score: Score) -> str:
    """A score as lm-eval prints it."""
    return f"{score.value:.4f} ± {'N/A' if score.stderr is None else f'{score.stderr:.4f}'}"


def result(target: str) -> str:
    """What is right, without the working that leads to it."""
    return target[target.rfind("####") :] if "####" in target else target


def headline(result: AccuracyResult) -> str:
    """One sentence: the verdict, on what, and how sure it is."""
    start = f"{result.verdict.value}: {result.sides[BEFORE]} -> {result.sides[AFTER]} on {result.task}"
    if result.invalid:
        first, others = result.invalid[0], len(result.invalid) - 1
        return f"{start}: {first.code}: {first.message}" + (f" (and {others} more)" if others else "")
    row = result.primary
    told = (
        f"{start}: {score(row.before.value)} -> {score(row.after.value)} "
        f"({points(row.difference)}, 95 % {interval(row.interval)}) of {row.documents:,} documents"
    )
    return f"{told}; {flips(row)}" + (f"; {row.reason}" if row.reason else "")


def in_short(result: AccuracyResult) -> str:
    """A clause for a headline that speaks of more."""
    if result.invalid:
        return f"the answers are invalid: {result.invalid[0].code}: {result.invalid[0].message}"
    row = result.primary
    change = f"{score(row.before.value)} -> {score(row.after.value)} of {row.documents:,} answers right"
    said = {Verdict.REGRESSED: "accuracy got worse", Verdict.IMPROVED: "accuracy improved"}
    return f"{said.get(result.verdict, f'accuracy is {result.verdict.value}')} ({change})"


def flips(row: AccuracyRow) -> str:
    """How many answers changed, and how likely that is by chance."""
    if row.paired is None:
        return "answers not paired"
    p_value = "" if row.p_value is None else f" (p = {chance(row.p_value)})".replace("= <", "< ")
    again = "" if row.control is None else f", and {_both(row.control)} between two runs of the same code"
    return f"{row.paired.lost} lost and {row.paired.gained} gained{p_value}{again}"


def _both(pair: Paired) -> str:
    return f"{pair.lost} and {pair.gained}"


def sees(row: AccuracyRow) -> str:
    """What so many documents can show."""
    return (
        f"{row.filter}: {plain_points(row.significant)} would have been significant, {plain_points(row.with_power)} "
        "are found four times in five"
    )


def advice(result: AccuracyResult) -> str:
    """What to do next."""
    if result.invalid:
        return ADVICE.get(result.invalid[0].code, "make that the same on both sides, and run again")
    row = result.primary
    if result.verdict is Verdict.REGRESSED:
        return "look at the lost answers, then find the field: gdnbench faults names which check sees which fault"
    if result.verdict is Verdict.UNKNOWN:
        if "cannot show" in row.reason:
            return "ask what this model can answer: --task word-problems, or serve another model"
        return "ask more documents (leave --limit out), or accept a larger --floor"
    return "nothing: the answers are as good as before"
