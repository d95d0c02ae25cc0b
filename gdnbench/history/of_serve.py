"""A campaign in live servers as a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.history.pointing import comparison, for_metric, once, one_line, own_figure, token_of
from gdnbench.history.surroundings import machine_of, source
from gdnbench.serving.judging.figures import Figure, measured
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import ServeLaunch
from gdnbench.values.metrics import BUILD_TIME
from gdnbench.values.runs import Machine, Run, RunIdentity, moment
from gdnbench.values.series import Point, Series, setting
from gdnbench.values.serving import ServeResult, ServeRow


def serve_run(plan: ServePlan, launches: Sequence[ServeLaunch], result: ServeResult) -> Run:
    """The run of a judged campaign: each figure of both sides, its ratio and the control's; builds by kind of step."""
    launches = sorted(launches, key=lambda launch: launch.number)
    identity, server = result.identity, plan.server
    others = [launch.environment for launch in launches[1:]]
    vllm = ", ".join(sorted(set(plan.releases.values())))
    machine = machine_of(identity.environment, server.device, others, vllm=vllm)
    return Run(
        identity=RunIdentity(
            kind="serve",
            started=moment(launches[0].started).isoformat(),
            machine=machine,
            source=source(),
            change=plan.change,
            variants=plan.sides,
            loads=tuple(f"c{load.concurrency}" for load in plan.loads),
            model=model_name(server.model),
            flags=server.flags,
            settings={**_facts(plan, result), "releases": dict(plan.releases), "preset": server.preset},
            seeds={"workload": plan.workload.seed},
        ),
        points=once([*_points(plan, launches, result, machine), *_builds(plan, launches, result, machine)]),
        token=token_of("serve", [[one.number, one.started, one.seconds] for one in launches]),
        verdict=result.verdict,
        warnings=result.warnings,
    )


def model_name(model: str) -> str:
    """A model's name: where it is a directory, that of the directory, which lies elsewhere on another machine."""
    return Path(model).name if Path(model).is_absolute() else model


def _facts(plan: ServePlan, result: ServeResult) -> dict[str, Any]:
    """What has to be the same for two servers' figures to be held against each other, but for release and load."""
    workload = result.identity.workload
    return {
        "method": plan.method,
        "load_release": plan.load_release,
        "model": model_name(plan.server.model),
        "flags": list(plan.server.flags),
        "environment": dict(plan.server.settings),
        "speculative": plan.server.speculative,
        "sampling": {key: value for key, value in result.identity.sampling.items() if key != "seed"},
        "output_len": plan.workload.output_len,
        "workload": workload.get("sha256", dict(workload)),
    }


def _series(plan: ServePlan, result: ServeResult, role: str, load: str, requests: int, machine: Machine) -> Series:
    facts = {**_facts(plan, result), "release": plan.releases[role], "requests": requests}
    how = setting(plan.server.preset, facts)
    return Series(plan.sides[role], "", "", load, "", "", how, plan.server.device, machine.hardware, machine.host)


def _points(plan: ServePlan, launches: Sequence[ServeLaunch], result: ServeResult, machine: Machine) -> Iterator[Point]:
    requests = {load.concurrency: load.requests for load in plan.loads}
    for row in result.rows:
        load, statistic = f"c{row.concurrency}", row.statistic
        found = measured(plan, launches, row.concurrency, Figure(row.metric, statistic))
        series = {
            role: for_metric(
                _series(plan, result, role, load, requests[row.concurrency], machine), row.metric, statistic=statistic
            )
            for role in (BEFORE, AFTER)
        }
        samples = {BEFORE: found.compared.before, AFTER: found.compared.after}
        for role, value in ((BEFORE, row.before), (AFTER, row.after)):
            if value is not None:
                yield own_figure(series[role], row.metric, samples[role] or (value,), row.judgement, row.primary)
        if row.before is not None and row.after is not None:
            yield _ratio(series[AFTER], plan.sides[BEFORE], row, found.compared.log_ratios)
        control = result.control(row)
        if control is not None and found.control is not None:
            yield _ratio(series[BEFORE], plan.sides[BEFORE], control, found.control.log_ratios)


def _ratio(series: Series, against: str, row: ServeRow, log_ratios: Sequence[float]) -> Point:
    return comparison(
        for_metric(series, row.metric, against=against), row.metric, row.judgement, log_ratios, row.primary
    )


def _builds(plan: ServePlan, launches: Sequence[ServeLaunch], result: ServeResult, machine: Machine) -> Iterator[Point]:
    """What a build of each kind of step took, all launches and loads together."""
    loads: Mapping[str, Any] = {"loads": [[load.concurrency, load.requests] for load in plan.loads]}
    invalid = one_line(result.invalid[0].message) if result.invalid else ""
    for role, builds in result.coverage.builds.items():
        how = setting(plan.server.preset, {**_facts(plan, result), "release": plan.releases[role], **loads})
        for one in builds:
            if one.median_us is None or role not in plan.sides:
                continue
            load = f"{one.kind.value}, staged" if one.staged else one.kind.value
            device = (plan.server.device, machine.hardware, machine.host)
            yield Point(
                series=Series(plan.sides[role], "", "", load, BUILD_TIME.tag, "median", how, *device),
                value=one.median_us,
                unit=BUILD_TIME.unit,
                direction=BUILD_TIME.direction,
                assumption=BUILD_TIME.assumption,
                launches=len(launches),
                invalid=invalid,
            )
