"""A comparison of answers as a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gdnbench.accuracy.judging import SETTINGS
from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.history.of_serve import model_name
from gdnbench.history.pointing import DIFFERENCE, once, one_line, token_of
from gdnbench.history.surroundings import machine_of, source
from gdnbench.values.accuracy import AccuracyResult, AccuracyRow, Score
from gdnbench.values.runs import Machine, Run, RunIdentity, moment
from gdnbench.values.series import Point, Series, setting
from gdnbench.values.verdicts import Verdict

SHARE = "share"
NORMAL_95 = 1.959964
"""Standard errors on either side of a score."""


def accuracy_run(result: AccuracyResult, change: int | None = None) -> Run:
    """The run of a comparison that was asked here: the score of each side by filter, their difference, the control's.

    Args:
        result: with the identity that `accuracy.campaign.judge` gives it.
        change: that both sides belong to.

    Raises:
        KeyError: lm-eval ran elsewhere: its folders are imported instead.
    """
    facts = result.identity
    vllm = ", ".join(sorted({str(release) for release in facts["releases"].values()}))
    machine = machine_of(facts["environment"], facts["device"], vllm=vllm)
    return Run(
        identity=RunIdentity(
            kind="accuracy",
            started=moment(facts["started"][0]).isoformat(),
            machine=machine,
            source=source(),
            change=change,
            variants=result.sides,
            loads=(result.task,),
            model=model_name(facts["served_model"]),
            flags=tuple(facts["flags"]),
            settings={**_setting(result), "releases": dict(facts["releases"]), "preset": facts["preset"]},
        ),
        points=once(_points(result, machine)),
        token=token_of("accuracy", [facts["started"], facts["seconds"]]),
        verdict=result.verdict,
        warnings=result.warnings,
    )


def _setting(result: AccuracyResult) -> dict[str, Any]:
    found = {name: result.identity.get(name) for name in (*SETTINGS, "speculative", "concurrency", "backend")}
    return {**found, "model": model_name(str(result.identity["served_model"])), "flags": result.identity["flags"]}


def _points(result: AccuracyResult, machine: Machine) -> Iterator[Point]:
    facts = result.identity
    where = (facts["device"], machine.hardware, machine.host)
    for row in result.rows:
        series = {}
        for role, score in ((BEFORE, row.before), (AFTER, row.after)):
            how = setting(facts["preset"], {**_setting(result), "release": facts["releases"][role]})
            series[role] = Series(result.sides[role], "", "", result.task, row.metric, row.filter, how, *where)
            yield score_point(series[role], score, row.primary, one_line(row.reason) if _invalid(row) else "")
        before = result.sides[BEFORE]
        yield _difference(replace(series[AFTER], against=before), row)
        same = row.control
        if same is not None and same.documents:
            yield Point(
                series=replace(series[BEFORE], against=before),
                value=(same.gained - same.lost) / same.documents,
                unit=DIFFERENCE,
                direction="higher",
                assumption="sampled",
                invalid=one_line(row.reason) if _invalid(row) else "",
            )


def score_point(series: Series, score: Score, primary: bool, invalid: str = "") -> Point:
    """A share of right answers, with the interval that lm-eval's standard error gives it."""
    reach = None if score.stderr is None else NORMAL_95 * score.stderr
    return Point(
        series=series,
        value=score.value,
        unit=SHARE,
        direction="higher",
        assumption="sampled",
        interval=None if reach is None else (max(0.0, score.value - reach), min(1.0, score.value + reach)),
        primary=primary,
        invalid=invalid,
        samples=(score.value,),
    )


def _difference(series: Series, row: AccuracyRow) -> Point:
    control = series.variant == series.against
    return Point(
        series=series,
        value=row.difference,
        unit=DIFFERENCE,
        direction="higher",
        assumption="sampled",
        interval=row.interval,
        primary=row.primary and not control,
        verdict=None if control else row.verdict,
        invalid=one_line(row.reason) if _invalid(row) else "",
        reason=one_line(row.reason),
        smallest_detectable=row.with_power,
        samples=(row.difference,),
    )


def _invalid(row: AccuracyRow) -> bool:
    return row.verdict is Verdict.INVALID
