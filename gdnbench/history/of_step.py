"""A campaign of step time as a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gdnbench.campaign.judged import JudgedCampaign
from gdnbench.campaign.plan import Plan
from gdnbench.campaign.records import LaunchRecord
from gdnbench.campaign.turns import AFTER, BEFORE, CONTROL, LIMIT
from gdnbench.history.pointing import comparison, for_metric, once, own_figure, token_of
from gdnbench.history.surroundings import machine_of, source
from gdnbench.values.runs import Machine, Run, RunIdentity, moment
from gdnbench.values.series import Point, Series, setting
from gdnbench.values.verdicts import Caveat, Verdict


def step_run(judged: JudgedCampaign) -> Run:
    """The run of a judged campaign: both sides' step times, their ratio, and the control's, for each row."""
    machine = machine_of_launches(judged.launches, judged.plan.device)
    points = _points(judged, machine)
    return run_of(judged.plan, judged.launches, machine, points, judged.result.verdict, judged.warnings)


def run_of(
    plan: Plan,
    launches: Sequence[LaunchRecord],
    machine: Machine,
    points: Iterable[Point],
    verdict: Verdict,
    warnings: tuple[Caveat, ...],
) -> Run:
    """The run of a plan's launches, whatever was made of them."""
    block = {"steps": plan.steps, "warmup": plan.warmup}
    return Run(
        identity=RunIdentity(
            kind="step",
            started=moment(launches[0].started).isoformat(),
            machine=machine,
            source=source(),
            change=plan.change,
            variants=_variants(plan),
            loads=plan.scenarios,
            part=plan.part,
            settings={**block, "rounds": plan.rounds, "shares_process": plan.shares_process, "core": plan.core},
        ),
        points=once(points),
        token=token_of("step", [[one.number, one.started, one.seconds] for one in launches]),
        verdict=verdict,
        warnings=warnings,
    )


def _points(judged: JudgedCampaign, machine: Machine) -> Iterator[Point]:
    plan, sides = judged.plan, _variants(judged.plan)
    word = "in one process" if plan.shares_process else "a process each"
    how = setting(word, [plan.steps, plan.warmup])
    base = Series("", "", plan.part, "", "", "median", how, plan.device, machine.hardware, machine.host)
    for number, (row, control) in enumerate(zip(judged.result.rows, judged.controls, strict=True)):
        measured = [launch.measured[number] for launch in judged.launches]
        key = {"load": row.scenario}
        for role in (one for one in (BEFORE, AFTER, LIMIT) if one in sides):
            series = for_metric(base, row.metric, variant=sides[role], **key)
            us = [one.medians_us[role] for one in measured]
            yield own_figure(series, row.metric, us, row.judgement, row.primary)
        for role, judgement in ((AFTER, row.judgement), (CONTROL, control.judgement)):
            series = for_metric(base, row.metric, variant=sides[role], against=sides[BEFORE], **key)
            yield comparison(series, row.metric, judgement, [one.log_ratios[role] for one in measured], row.primary)


def _variants(plan: Plan) -> dict[str, str]:
    """How each side is spelled; a side whose builders are another commit's says so."""
    return {
        role: f"{text} of {Path(plan.builders[role]).name[:12]}" if role in plan.builders else text
        for role, text in plan.sides.items()
    }


def machine_of_launches(launches: Sequence[LaunchRecord], device: str) -> Machine:
    """Where launches ran, one machine or several of a kind; their releases of vLLM are a library's version."""
    first, *others = [next(iter(launch.environment.values())) for launch in launches]
    releases = {str(own["vllm"]) for own in launches[0].environment.values() if own.get("vllm")}
    return machine_of(first, device, others, **({"vllm": ", ".join(sorted(releases))} if releases else {}))
