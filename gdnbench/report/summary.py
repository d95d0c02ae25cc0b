"""The one table of an evidence report that is never folded: what each level says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gdn_impl.catalog import Level
from gdnbench.report import accuracy_words
from gdnbench.report.evidence import Evidence
from gdnbench.report.numbers import change, interval, share
from gdnbench.values.verdicts import Verdict

NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class LevelLine:
    """One level.

    Attributes:
        level: its name.
        verdict: what it says, or `not judged`.
        change: after against before, with its interval where there is one.
        control: the same code against itself.
        sees: the smallest change that would have been seen.
        note: on what it rests, or why it is not judged.
    """

    level: str
    verdict: str
    change: str = ""
    control: str = ""
    sees: str = ""
    note: str = ""


def levels(evidence: Evidence) -> tuple[LevelLine, ...]:
    """A line or more for every level there is."""
    by_level = {
        Level.EQUALITY: _equality,
        Level.COST: _cost,
        Level.STEP_TIME: _step_time,
        Level.SERVER: _server,
        Level.ACCURACY: _accuracy,
    }
    lines: list[LevelLine] = []
    for level, tell in by_level.items():
        own = list(tell(evidence))
        if not own:
            own = [LevelLine(level.value, NOT_JUDGED, note=evidence.elsewhere.get(level, "nothing was measured"))]
        lines += own
    return tuple(lines)


def _equality(evidence: Evidence) -> Iterator[LevelLine]:
    if not evidence.equality:
        return
    different = sum(one.different for one in evidence.equality)
    scenarios = sum(one.named + one.random for one in evidence.equality)
    valid = all(one.valid for one in evidence.equality)
    what = (
        f"{different:,} of {scenarios:,} scenarios differ"
        if different
        else f"every field equal, {scenarios:,} scenarios"
    )
    meant = ", as the change means them to" if different and valid else ""
    yield LevelLine(
        Level.EQUALITY.value, ("same" if not different else "as meant") if valid else "invalid", note=what + meant
    )


def _cost(evidence: Evidence) -> Iterator[LevelLine]:
    for part, result in evidence.costs.items():
        deciding = next(
            (one for one in result.judgements.values() if one.verdict is result.verdict),
            None,
        )
        note = "" if deciding is None else deciding.reason
        yield LevelLine(f"{Level.COST.value}, {part}", result.verdict.value, note=note)


def _step_time(evidence: Evidence) -> Iterator[LevelLine]:
    if evidence.step is None:
        return
    for row in evidence.step.rows:
        if not row.primary:
            continue
        own, control = row.judgement, evidence.step.control
        yield LevelLine(
            f"{Level.STEP_TIME.value}, {row.scenario}",
            own.verdict.value,
            f"{change(own.ratio)} ({interval(own.interval)})",
            change(None if control is None else control.judgement.ratio),
            share(own.smallest_detectable),
            own.reason,
        )


def _server(evidence: Evidence) -> Iterator[LevelLine]:
    if evidence.server is None:
        return
    for row in evidence.server.primary:
        own, control = row.judgement, evidence.server.control(row)
        verdict = Verdict.INVALID if evidence.server.invalid else own.verdict
        yield LevelLine(
            f"{Level.SERVER.value}, tok/s at {row.concurrency}",
            verdict.value,
            f"{change(own.ratio)} ({interval(own.interval)})",
            change(None if control is None else control.judgement.ratio),
            share(own.smallest_detectable),
            own.reason,
        )


def _accuracy(evidence: Evidence) -> Iterator[LevelLine]:
    if evidence.accuracy is None:
        return
    for row in evidence.accuracy.rows:
        if row.primary:
            again = row.control
            yield LevelLine(
                f"{Level.ACCURACY.value}, {evidence.accuracy.task}",
                evidence.accuracy.verdict.value,
                f"{accuracy_words.points(row.difference)} ({accuracy_words.interval(row.interval)})",
                "" if again is None else f"-{again.lost} +{again.gained} answers",
                accuracy_words.plain_points(row.with_power),
                accuracy_words.flips(row),
            )
