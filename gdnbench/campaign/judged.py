"""A campaign judged: rows and controls, what makes a row invalid, and what a reader must know beside the verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean, median
from typing import Any

from gdn_impl.catalog import CATALOG, Level
from gdnbench.campaign.plan import Plan
from gdnbench.campaign.records import LaunchRecord, Measured
from gdnbench.campaign.surroundings import priority_caveats
from gdnbench.campaign.turns import AFTER, BEFORE, CONTROL, LIMIT
from gdnbench.stats.median import ALPHA, fewest
from gdnbench.stats.paired import Comparison, judge_rows
from gdnbench.values.metrics import HOST_TIME, HOST_TIME_BUSY, METRICS
from gdnbench.values.verdicts import Caveat, Json, Judgement, StepResult, StepRow, Verdict

FEWEST_LAUNCHES = 10
WAITS_ON_A_BUSY_DEVICE = 40654
"""The change whose point is what the host waits for while the device works."""


def default_launches(rows: int) -> int:
    """The launches of a campaign with so many primary rows: enough for each to say something."""
    return max(FEWEST_LAUNCHES, fewest(ALPHA / rows))


@dataclass(frozen=True, slots=True)
class JudgedCampaign:
    """What a campaign says.

    Attributes:
        plan: what was compared.
        launches: all of its launches.
        result: the rows, and the control of the first.
        controls: for each row the before side against itself, in the same launches.
        warnings: what a reader must know.
    """

    plan: Plan
    launches: tuple[LaunchRecord, ...]
    result: StepResult
    controls: tuple[StepRow, ...]
    warnings: tuple[Caveat, ...]

    def to_json(self) -> Json:
        """What `gdnbench step --json` prints, but for the journal's place."""

        def with_part(row: Json | None) -> Json | None:
            return row and {"scenario": row["scenario"], "part": self.plan.part, **row}

        result = self.result.to_json()
        return {
            "before": self.plan.sides[BEFORE],
            "after": self.plan.sides[AFTER],
            "device": self.plan.device,
            "verdict": result["verdict"],
            "rows": [with_part(row) for row in result["rows"]],
            "control": with_part(result["control"]),
            "controls": [with_part(row.to_json()) for row in self.controls],
            "refused": dict(self.launches[0].refused) if self.launches else {},
            "warnings": [caveat.to_json() for caveat in self.warnings],
            "environment": {role: dict(own) for role, own in self.launches[0].environment.items()},
            "load_average": [_load(launch) for launch in self.launches],
            "seconds": [launch.seconds for launch in self.launches],
        }


def judge_campaign(plan: Plan, launches: Sequence[LaunchRecord]) -> JudgedCampaign:
    """Judge the launches of a campaign, at least one, by the rule for sampled metrics."""
    first = launches[0].measured
    comparisons = [_comparison(plan, launches, i, AFTER) for i in range(len(first))]
    controls = [_comparison(plan, launches, i, CONTROL) for i in range(len(first))]
    judged = judge_rows(comparisons, controls)
    faults = [_broken_promise(plan, launches, case.scenario) for case in first]
    rows = tuple(
        replace(
            row_of(launches, i, (BEFORE, AFTER), comparison, _invalid(judgement, fault) if fault else judgement),
            of_limit=_of_limit(plan, [launch.measured[i] for launch in launches]),
        )
        for i, (comparison, judgement, fault) in enumerate(zip(comparisons, judged, faults, strict=True))
    )
    control_rows = tuple(
        row_of(launches, i, (BEFORE, CONTROL), replace(comparison, primary=False), judge_rows([comparison])[0])
        for i, comparison in enumerate(controls)
    )
    leading = next(i for i, row in enumerate(rows) if row.primary)
    result = StepResult(rows, control_rows[leading])
    return JudgedCampaign(plan, tuple(launches), result, control_rows, tuple(warnings_of(plan, launches)))


def _comparison(plan: Plan, launches: Sequence[LaunchRecord], case: int, role: str) -> Comparison:
    first = launches[0].measured[case]
    busy = plan.change == WAITS_ON_A_BUSY_DEVICE and plan.device == "cuda"
    decides = METRICS[first.metric] is (HOST_TIME_BUSY if busy else HOST_TIME)
    primary = decides and (not plan.primary or first.scenario in plan.primary)
    ratios = tuple(launch.measured[case].log_ratios[role] for launch in launches)
    return comparison_of(launches, case, (BEFORE, role), ratios, primary=primary)


def comparison_of(
    launches: Sequence[LaunchRecord], case: int, roles: tuple[str, str], log_ratios: tuple[float, ...], *, primary: bool
) -> Comparison:
    """Two roles of the launches on one of their cases, with the log ratio of each launch."""
    base, role = roles
    measured = [launch.measured[case] for launch in launches]
    return Comparison(
        metric=METRICS[measured[0].metric],
        log_ratios=log_ratios,
        before=tuple(one.medians_us[base] for one in measured),
        after=tuple(one.medians_us[role] for one in measured),
        primary=primary,
        before_first=tuple(launch.created.index(base) < launch.created.index(role) for launch in launches),
    )


def row_of(
    launches: Sequence[LaunchRecord], case: int, roles: tuple[str, str], comparison: Comparison, judgement: Judgement
) -> StepRow:
    """The row of a comparison: what it is of, and what a step of either role takes.

    That is a mean over all blocks: where a core changes its pace within a launch, roles in turns share what that does,
    while the median of either may fall on this side of the change or on that.
    """
    measured = [launch.measured[case] for launch in launches]
    before, after = (geometric_mean([us for one in measured for us in one.blocks_us[role]]) for role in roles)
    return StepRow(measured[0].scenario, comparison.metric, comparison.primary, before, after, judgement)


def _of_limit(plan: Plan, measured: Sequence[Measured]) -> tuple[float, float] | None:
    """Both sides as multiples of the limit, launch by launch, so what a launch does to all of them cancels."""
    if LIMIT not in plan.sides:
        return None
    before = median(-one.log_ratios[LIMIT] for one in measured)
    after = median(one.log_ratios[AFTER] - one.log_ratios[LIMIT] for one in measured)
    return math.exp(before), math.exp(after)


def _invalid(judgement: Judgement, why: str) -> Judgement:
    return replace(judgement, verdict=Verdict.INVALID, reason=why, more_launches=None)


def _promised_equal(plan: Plan) -> bool:
    """Whether both sides must give the same metadata: one variant twice, or a change that promises it."""
    before, after = plan.variants[BEFORE], plan.variants[AFTER]
    if before.bare == after.bare:
        return True
    same_change = before.change is not None and before.change == after.change
    return same_change and CATALOG[before.change or 0].promises_equal


def _broken_promise(plan: Plan, launches: Sequence[LaunchRecord], scenario: str) -> str | None:
    """Why the scenario's row is invalid: sides that promise equal metadata gave unequal ones."""
    for launch in launches:
        unequal = launch.unequal.get(scenario, {})
        for role in (CONTROL, AFTER):
            if role in unequal and (role == CONTROL or _promised_equal(plan)):
                return f"the metadata of {BEFORE} and {role} differ in launch {launch.number}: {few(unequal[role])}"
    return None


def warnings_of(plan: Plan, launches: Sequence[LaunchRecord]) -> list[Caveat]:
    """What a reader of a campaign must know, whoever its sides are."""
    found = [
        Caveat("refused", f"{scenario} was left out: {reason}", "nothing to do, unless it was asked for")
        for scenario, reason in launches[0].refused.items()
    ]
    for scenario, unequal in launches[0].unequal.items():
        if AFTER in unequal and not _promised_equal(plan):
            found.append(
                Caveat(
                    "unequal",
                    f"{scenario}: the sides give different metadata, as they may: {few(unequal[AFTER])}",
                    "read the ratio as the cost of different work",
                )
            )
    change = CATALOG.get(plan.change or 0)
    if change is not None and not change.judged_at(Level.STEP_TIME):
        reason = change.not_judged_at[Level.STEP_TIME]
        found.append(Caveat("level", f"{change.number} is not judged by step time: {reason}", "see equality and cost"))
    cores, load = _first(launches, "cores"), max(_load(launch) for launch in launches)
    if cores and load > cores:
        found.append(
            Caveat(
                "busy",
                f"the load average reached {load:g} on {cores} cores",
                "free the machine of other work: noise widens the intervals",
            )
        )
    found += priority_caveats(own for launch in launches for own in launch.environment.values())
    for key in ("cpu", "torch", "python", "system"):
        kinds = {str(own[key]) for launch in launches for own in launch.environment.values()}
        if len(kinds) > 1:
            found.append(
                Caveat("environment", f"launches ran under {len(kinds)} kinds of {key}", "begin a new campaign")
            )
    return found


def few(names: Sequence[str]) -> str:
    """The first names of several, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _first(launches: Sequence[LaunchRecord], key: str) -> Any:
    return next(iter(launches[0].environment.values()))[key]


def _load(launch: LaunchRecord) -> float:
    return max(float(own["load_average"][0]) for own in launch.environment.values())
