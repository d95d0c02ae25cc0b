"""A chain of releases as a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gdnbench.campaign.chain import JudgedChain, log_ratios
from gdnbench.campaign.turns import BEFORE, CONTROL
from gdnbench.history.of_step import machine_of_launches, run_of
from gdnbench.history.pointing import comparison, for_metric, own_figure
from gdnbench.values.runs import Machine, Run
from gdnbench.values.series import Point, Series, setting
from gdnbench.values.verdicts import Judgement, StepRow, Verdict, worst


def chain_run(judged: JudgedChain) -> Run:
    """The run of a judged chain: each side's step time, its ratios to the one before and to the first, the control."""
    plan = judged.plan
    machine = machine_of_launches(judged.launches, plan.device)
    verdict = worst(row.judgement.verdict for pair in judged.pairs for row in pair.rows if row.primary)
    warnings = (*judged.warnings, *(caveat for pair in judged.pairs for caveat in pair.warnings))
    return run_of(plan, judged.launches, machine, _points(judged, machine), verdict, warnings)


def _points(judged: JudgedChain, machine: Machine) -> Iterator[Point]:
    plan = judged.plan
    # Caches are colder the more sides take turns, so figures of a chain are not those of a pair.
    how = setting("in a chain", [plan.steps, plan.warmup])
    base = Series("", "", plan.part, "", "", "median", how, plan.device, machine.hardware, machine.host)
    fine = Judgement(Verdict.SAME)
    for role, variant in plan.sides.items():
        for case, row in enumerate(judged.controls):
            us = [launch.measured[case].medians_us[role] for launch in judged.launches]
            series = for_metric(base, row.metric, variant=variant, load=row.scenario)
            yield own_figure(series, row.metric, us, fine, role != CONTROL)
    roles = {variant: role for role, variant in plan.sides.items() if role != CONTROL}
    for pair in (*judged.pairs, *judged.whole):
        yield from _ratios(judged, base, pair.before, pair.after, pair.rows, roles[pair.before], roles[pair.after])
    first = plan.sides[BEFORE]
    yield from _ratios(judged, base, first, first, judged.controls, BEFORE, CONTROL)


def _ratios(
    judged: JudgedChain, base: Series, against: str, variant: str, rows: Sequence[StepRow], before: str, after: str
) -> Iterator[Point]:
    for case, row in enumerate(rows):
        series = for_metric(base, row.metric, variant=variant, against=against, load=row.scenario)
        ratios = log_ratios(judged.launches, case, before, after)
        yield comparison(series, row.metric, row.judgement, ratios, row.primary)
