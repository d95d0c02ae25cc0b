"""Measures what an evidence report says: equality, exact costs, and a campaign of step time."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch

from gdn_impl.catalog import Change, Level
from gdnbench.accuracy import campaign as answers
from gdnbench.accuracy.planning import plan_accuracy
from gdnbench.campaign import campaign
from gdnbench.campaign.costs import Counted, count_costs, count_here
from gdnbench.campaign.journal import Journal
from gdnbench.campaign.judged import JudgedCampaign, judge_campaign
from gdnbench.campaign.plan import compare, with_limit
from gdnbench.campaign.surroundings import surroundings
from gdnbench.campaign.turns import AFTER, BEFORE, LIMIT
from gdnbench.devices.base import CpuDevice
from gdnbench.drivers.choice import has_limit
from gdnbench.drivers.registry import PARTS, Part, load
from gdnbench.history.of_accuracy import accuracy_run
from gdnbench.history.of_cost import cost_run
from gdnbench.history.of_serve import serve_run
from gdnbench.history.of_step import step_run
from gdnbench.history.recorder import Record
from gdnbench.probes.equality import compare as differences
from gdnbench.report.claims import of_this_run, published
from gdnbench.report.costs import pairs, without_operations
from gdnbench.report.evidence import EqualityFinding, Evidence
from gdnbench.report.waterfall import Waterfall, waterfall
from gdnbench.serving import campaign as serving
from gdnbench.serving.again import command
from gdnbench.serving.journal import ServeJournal
from gdnbench.serving.judged import judge_serving
from gdnbench.serving.planning import plan_serve, same_sides, speculation_for
from gdnbench.serving.presets import preset
from gdnbench.values.accuracy import AccuracyResult
from gdnbench.values.claims import StatedClaim
from gdnbench.values.errors import UserError
from gdnbench.values.scenarios import Scenario, named, random_scenario
from gdnbench.values.scenarios import parse as parse_scenario
from gdnbench.values.serving import ServeResult
from gdnbench.values.variants import parse as parse_variant

RANDOM_SCENARIOS = 200
EXAMPLES = 3

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class AccuracyQuestion:
    """What to ask of both sides' answers.

    Attributes:
        preset: the setting.
        limit: documents; None for all.
        journal: of a comparison of this change to go on with.
        model, tokenizer: instead of the preset's.
    """

    preset: str
    limit: int | None = None
    journal: Path | None = None
    model: str | None = None
    tokenizer: Path | None = None


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """What to ask a live server.

    Attributes:
        preset: the setting.
        dataset: a ShareGPT file, None for our generator.
        launches: fresh servers; None for the fewest that can say something.
        journal: of a server campaign of this change to go on with.
        quick: a first look, with fewer rounds.
        model, tokenizer: instead of the preset's.
    """

    preset: str
    dataset: Path | None = None
    launches: int | None = None
    journal: Path | None = None
    quick: bool = True
    model: str | None = None
    tokenizer: Path | None = None


def gather(
    change: Change,
    device: str,
    launches: int | None,
    journal: Path | None,
    server: ServerQuestion | str,
    accuracy: AccuracyQuestion | str,
    progress: Progress,
    claims: Sequence[StatedClaim] = (),
    record: Record = lambda make: None,
) -> Evidence:
    """Everything about one change that can be measured here.

    Args:
        change: of the catalogue.
        device: `cpu` or `cuda`, for step time.
        launches: of the campaign; default, what its rows need.
        journal: of a campaign of this change to go on with.
        server, accuracy: what to ask a live server, and of its answers; or why nothing is asked.
        progress: told what happens.
        claims: that somebody makes of this very measurement.
        record: given what makes a run of each level that is finished.

    Raises:
        UserError, EnvironmentMissing, Interrupted: as the campaign.
    """
    parts = PARTS[change.number]
    equality = tuple(_equality(change, part, progress) for part in parts)
    before, after = (parse_variant(f"pr{change.number}.{side}") for side in ("before", "after"))
    progress("exact costs", 0, 1)
    counted = count_costs(before, after, change.scenarios)
    record(partial(cost_run, before, after, counted, datetime.now(UTC)))
    progress("exact costs", 1, 1)
    judged = None
    if change.judged_at(Level.STEP_TIME):
        judged = _step_time(change, device, launches, journal, progress)
        record(partial(step_run, judged))
    elsewhere = dict(change.not_judged_at)
    served, answered, again = None, None, ""
    if change.judged_at(Level.SERVER):
        if isinstance(server, str):
            elsewhere[Level.SERVER] = server
        else:
            served, again = _live_server(change, server, progress, record)
    if change.judged_at(Level.ACCURACY):
        if isinstance(accuracy, str):
            elsewhere[Level.ACCURACY] = accuracy
        else:
            answered = _accuracy(change, accuracy, progress)
            record(partial(accuracy_run, answered, change.number))
    return Evidence(
        change=change,
        device=device,
        equality=equality,
        costs={part: without_operations(one).result for part, one in counted.items()},
        step=None if judged is None else judged.result,
        claims=published(change, served) + of_this_run(claims, served, answered),
        environment=_environment(judged),
        elsewhere={level: elsewhere[level] for level in Level if level in elsewhere},
        server=served,
        server_command=again,
        accuracy=answered,
        waterfall=_waterfall(change, counted),
        limit_counts=_limit_counts(change, counted),
        warnings=() if judged is None else judged.warnings,
    )


def _waterfall(change: Change, counted: Mapping[str, Counted]) -> Waterfall | None:
    """Of the first part that meets the primary scenario, or of the first that there is."""
    rows = [pair for one in counted.values() for pair in pairs(one.result.rows)]
    chosen = [pair for pair in rows if pair[0].scenario == change.primary] or rows
    return waterfall(*chosen[0]) if chosen else None


def _limit_counts(change: Change, counted: Mapping[str, Counted]) -> dict[str, dict[str, dict[str, int]]]:
    limit = parse_variant(LIMIT)
    found = {}
    for part, one in counted.items():
        if has_limit(part):
            costs = count_here(limit, part, change.number, tuple(one.result.judgements))["costs"]
            found[part] = {name: cost["counts"] for name, cost in costs.items()}
    return found


def _equality(change: Change, part: Part, progress: Progress) -> EqualityFinding:
    driver = load(part.ours)
    scenarios: list[tuple[Scenario, bool]] = [(scenario, True) for scenario in named()]
    capture = all(parse_scenario(name).capture for name in change.scenarios)
    scenarios += [(random_scenario(random.Random(seed), capture=capture), False) for seed in range(RANDOM_SCENARIOS)]
    met = [(scenario, is_named) for scenario, is_named in scenarios if driver.refuses(scenario) is None]
    examples: list[str] = []
    different = 0
    with torch.inference_mode():
        for number, (scenario, _) in enumerate(met):
            progress(f"equality: {part.name}", number, len(met))
            sides = [driver(side, scenario, CpuDevice()) for side in ("before", "after")]
            found = differences(*sides)
            different += bool(found)
            if found and len(examples) < EXAMPLES:
                examples.append(f"{scenario.name}: {found[0]}")
    progress(f"equality: {part.name}", len(met), len(met))
    named_count = sum(is_named for _, is_named in met)
    return EqualityFinding(
        part.name, named_count, len(met) - named_count, different, tuple(examples), change.promises_equal
    )


def _step_time(
    change: Change, device: str, launches: int | None, journal: Path | None, progress: Progress
) -> JudgedCampaign:
    before, after = (parse_variant(f"pr{change.number}.{side}") for side in ("before", "after"))
    if journal is None:
        rest: dict[str, Any] = {"device": device, "primary": (change.primary,)}
        if launches is not None:
            rest["launches"] = launches
        opened = campaign.begin(with_limit(compare(before, after, change.scenarios, **rest)))
    else:
        opened = Journal.open(journal)
        if (opened.plan.sides.get(BEFORE), opened.plan.sides.get(AFTER)) != (str(before), str(after)):
            raise UserError(f"the campaign in {journal} does not compare {before} with {after}")
    total = opened.plan.launches
    records = campaign.run(opened, lambda done: progress("step time: launches", done, total))
    return judge_campaign(opened.plan, records)


def _live_server(change: Change, asked: ServerQuestion, progress: Progress, record: Record) -> tuple[ServeResult, str]:
    """Of both sides, and the command that asks the same again."""
    before, after = (f"pr{change.number}.{side}" for side in ("before", "after"))
    if asked.journal is None:
        plan = plan_serve(
            before,
            after,
            preset_name=asked.preset,
            launches=asked.launches,
            dataset=asked.dataset,
            speculative=speculation_for(preset(asked.preset), change.live.speculation),
            quick=asked.quick,
            model=asked.model,
            tokenizer=asked.tokenizer,
        )
        serving.check_releases(plan)
        opened = serving.begin(plan)
    else:
        opened = ServeJournal.open(asked.journal)
        same_sides(opened.plan, before, after)
    launches = serving.run(opened, lambda done, total: progress("live server: blocks", done, total))
    result = judge_serving(opened.plan, launches)
    record(partial(serve_run, opened.plan, launches, result))
    return result, command(opened.plan)


def _accuracy(change: Change, asked: AccuracyQuestion, progress: Progress) -> AccuracyResult:
    before, after = (f"pr{change.number}.{side}" for side in ("before", "after"))
    if asked.journal is None:
        plan = plan_accuracy(
            before,
            after,
            preset_name=asked.preset,
            limit=asked.limit,
            model=asked.model,
            tokenizer=asked.tokenizer,
        )
        answers.check(plan)
        opened = answers.begin(plan)
    else:
        opened = answers.AccuracyJournal.open(asked.journal)
        same_sides(opened.plan, before, after)
    runs = answers.run(opened, lambda role, done, total: progress(f"answers: {role}", done, total))
    return answers.judge(opened, runs)


def _environment(judged: JudgedCampaign | None) -> dict[str, str]:
    found = surroundings() if judged is None else next(iter(judged.launches[0].environment.values()))
    names = {"cpu": "processor", "cores": "cores", "gpu": "GPU", "system": "system", "python": "Python"}
    shown = {title: str(found[key]) for key, title in names.items() if found.get(key) is not None}
    shown |= {"torch": str(found["torch"]), "threads": str(found["threads"])}
    if judged is not None:
        shown["load average"] = ", ".join(
            f"{next(iter(one.environment.values()))['load_average'][0]:g}" for one in judged.launches
        )
        shown["measured"] = f"{judged.launches[0].started} to {judged.launches[-1].started}"
    return shown
