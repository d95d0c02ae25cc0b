"""Step time in a gate: against a commit in pairs, against a file as two samples of one machine.

The builders of a commit and those of this checkout cannot share a process, so each side has one, and they take turns
block by block on one core, as two releases do. A file holds figures of another occasion: they are held against figures
of now on the same machine alone, by a rule that is far less sharp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from gdn_impl.catalog import CATALOG
from gdnbench.campaign import campaign
from gdnbench.campaign.judged import default_launches, judge_campaign
from gdnbench.campaign.plan import ROUNDS_ALONE, ROUNDS_AMONG_OTHERS, Plan, compare
from gdnbench.campaign.records import LaunchRecord
from gdnbench.campaign.turns import BEFORE, CONTROL
from gdnbench.drivers.choice import change_of, choose_part
from gdnbench.gate.commits import Commit
from gdnbench.stats.unpaired import judge_unpaired
from gdnbench.values.errors import Interrupted, UserError
from gdnbench.values.gate import GateRow, GateRun, Identity, Place, Presence, StepTimes
from gdnbench.values.metrics import HOST_TIME, METRICS
from gdnbench.values.scenarios import parse as parse_scenario
from gdnbench.values.variants import Variant, parse
from gdnbench.values.verdicts import Caveat, Judgement, Verdict

ANY = "16q1s1k"
"""The scenario of a variant that belongs to no change, where none is named."""

Progress = Callable[[str, int, int], None]


def plan_steps(
    text: str,
    part: str | None,
    scenarios: Sequence[str] | None,
    device: str,
    launches: int | None,
    held: Mapping[Place, StepTimes] | None = None,
) -> Plan:
    """The plan of measuring one variant alone.

    Args:
        text: the variant.
        part, scenarios, launches: None for the change's first measured part, its primary scenario, and what rows need.
        held: what a baseline holds, where that is a file: its scenarios and numbers stand in for what is None.

    Raises:
        UserError: something is mistyped, or a gate does not hold it.
    """
    variant = parse(text)
    if variant.handicap is not None or variant.kind == "fault":
        raise UserError(f"--step {variant}: a gate holds builders as they are: no handicap and no fault")
    found = choose_part([variant], part)
    own = {place: one for place, one in (held or {}).items() if (place.variant, place.part) == (str(variant), found)}
    primary = ANY if variant.change is None else CATALOG[variant.change].primary
    default = [place.scenario for place in own] or [primary]
    names = tuple(dict.fromkeys(parse_scenario(name).name for name in scenarios or default))
    rounds = ROUNDS_ALONE if len(names) == 1 else ROUNDS_AMONG_OTHERS
    number = launches or default_launches(2 * len(names))  # without pairs, each side has half of the error
    if own:
        rounds = max(one.rounds for one in own.values())
        number = launches or max(number, *(len(one.microseconds) for one in own.values()))
    sides = {BEFORE: str(variant)}
    return Plan(sides, names, found, change_of([variant]), device=device, launches=number, rounds=rounds)


def measure(plan: Plan, tell: Progress) -> dict[Place, StepTimes]:
    """The step times of one variant, measured alone."""
    records = _run(plan, tell)
    found: dict[Place, StepTimes] = {}
    for i, first in enumerate(records[0].measured):
        if first.metric == HOST_TIME.tag:
            place = Place(plan.sides[BEFORE], plan.part, first.scenario)
            us = tuple(record.measured[i].medians_us[BEFORE] for record in records)
            found[place] = StepTimes(first.metric, plan.device, plan.rounds, us)
    return found


def against_commit(alone: Plan, commit: Commit, tell: Progress) -> tuple[tuple[GateRow, ...], tuple[Caveat, ...]]:
    """The step time of a variant, the commit's builders and this checkout's in turns, by the paired rule.

    Raises:
        UserError: the variant is no reference builder, so that both sides would be the same code.
    """
    variant: Variant = parse(alone.sides[BEFORE])
    if variant.kind != "pr":
        raise UserError(f"--step {variant}: it is no builder of this repository, so every commit has the same")
    plan = compare(
        variant,
        variant,
        alone.scenarios,
        alone.part,
        device=alone.device,
        launches=alone.launches,
        builders=dict.fromkeys((BEFORE, CONTROL), str(commit.folder)),
    )
    records = _run(plan, tell)
    judged = judge_campaign(plan, records)
    rows = tuple(
        GateRow(
            Place(str(variant), plan.part, row.scenario),
            row.metric.tag,
            Presence.COMPARED,
            None if row.before is None else {row.metric.tag: row.before},
            None if row.after is None else {row.metric.tag: row.after},
            row.judgement,
        )
        for row in judged.result.rows
        if row.primary
    )
    return rows, judged.warnings


def against_file(before: GateRun, after: GateRun) -> tuple[tuple[GateRow, ...], tuple[Caveat, ...]]:
    """The step times of `after` held against those of `before`, which another occasion measured."""
    compared = [place for place in after.steps if place in before.steps]
    rows = []
    for place, now in after.steps.items():
        was = before.steps.get(place)
        if was is None:
            rows.append(GateRow(place, now.metric, Presence.NEW, None, _median(now), None))
            continue
        if why := other_machine(before.identity, after.identity, now.device) or _other_way(was, now):
            judgement = Judgement(Verdict.INVALID, launches=len(now.microseconds), reason=why)
        else:
            judgement = judge_unpaired(METRICS[now.metric], was.microseconds, now.microseconds, len(compared))
        rows.append(GateRow(place, now.metric, Presence.COMPARED, _median(was), _median(now), judgement))
    left = [str(place) for place in before.steps if place not in after.steps]
    caveats: tuple[Caveat, ...] = ()
    if left:
        names = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        caveats = (Caveat("not measured", f"the baseline holds step time of {names}", "ask for it by --step"),)
    return tuple(rows), caveats


def _run(plan: Plan, tell: Progress) -> tuple[LaunchRecord, ...]:
    journal = campaign.begin(plan)
    try:
        return campaign.run(journal, lambda done: tell("step time: launches", done, plan.launches))
    except Interrupted:
        pairs = f"; gdnbench step --resume {journal.directory} finishes its step time alone" if plan.builders else ""
        raise Interrupted(f"interrupted after {journal.kept}; a gate begins anew{pairs}") from None


def other_machine(before: Identity, after: Identity, device: str) -> str:
    """Why step times of two runs cannot be compared; empty if they can."""
    names = {"cpu": "processor", "cores": "cores", "torch": "torch"} | ({"gpu": "GPU"} if device == "cuda" else {})
    differing = [
        f"{title} {getattr(before, name)} -> {getattr(after, name)}"
        for name, title in names.items()
        if getattr(before, name) != getattr(after, name)
    ]
    return f"step times of two machines cannot be compared: {', '.join(differing)}" if differing else ""


def _other_way(was: StepTimes, now: StepTimes) -> str:
    ways = [f"{one.metric} on {one.device}, {one.rounds} blocks a launch" for one in (was, now)]
    return "" if ways[0] == ways[1] else f"measured in another way: {ways[0]} -> {ways[1]}"


def _median(step: StepTimes) -> dict[str, float]:
    return {step.metric: median(step.microseconds)}
