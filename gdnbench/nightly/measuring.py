"""Measures one part of a night by the doors that the commands use, and makes its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gdn_impl.catalog import CATALOG
from gdnbench.accuracy import campaign as answers
from gdnbench.accuracy.planning import plan_accuracy
from gdnbench.campaign import campaign
from gdnbench.campaign.costs import count_costs
from gdnbench.campaign.journal import Journal
from gdnbench.campaign.judged import judge_campaign
from gdnbench.campaign.plan import with_limit
from gdnbench.campaign.planning import plan_step
from gdnbench.history.of_accuracy import accuracy_run
from gdnbench.history.of_cost import cost_run
from gdnbench.history.of_serve import serve_run
from gdnbench.history.of_step import step_run
from gdnbench.nightly.parts import Kind, Part
from gdnbench.serving import campaign as serving
from gdnbench.serving.journal import ServeJournal
from gdnbench.serving.judged import judge_serving
from gdnbench.serving.planning import plan_serve
from gdnbench.values.runs import Run
from gdnbench.values.variants import parse

Told = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""

Say = Callable[[str], None]
"""Told of what takes long before anything is measured, such as fetching a release."""

CONCURRENCY = (1, 16)


def measure(part: Part, journal: Path, told: Told, say: Say) -> Run:
    """What a part asks, measured and judged.

    Args:
        journal: the directory of its campaign, which is gone on with if it is there.

    Raises:
        Interrupted, KeyboardInterrupt: by Ctrl-C; finished launches are kept in the journal.
        UserError, EnvironmentMissing: it cannot be measured here.
    """
    return _MEASURES[part.kind](part, journal, told, say)


def _cost(part: Part, journal: Path, told: Told, say: Say) -> Run:
    started, sides = datetime.now(UTC), (parse(part.before), parse(part.after))
    told("exact costs", 0, 1)
    counted = count_costs(*sides, part.scenarios, part.options.get("part"))
    told("exact costs", 1, 1)
    return cost_run(*sides, counted, started)


def _step(part: Part, journal: Path, told: Told, say: Say) -> Run:
    asked = part.options
    plan = plan_step(
        part.before,
        part.after,
        part.scenarios,
        asked.get("part"),
        asked.get("launches"),
        asked.get("rounds"),
        asked.get("device", "cpu"),
    )
    if plan.change is not None and "scenarios" not in asked:
        plan = replace(plan, primary=(CATALOG[plan.change].primary,), launches=asked.get("launches", 10))
    plan = with_limit(plan)
    campaign.check_sides(plan, say)
    opened = Journal.going_on(journal, plan)
    launches = campaign.run(opened, lambda done: told("launches", done, plan.launches))
    return step_run(judge_campaign(plan, launches))


def _serve(part: Part, journal: Path, told: Told, say: Say) -> Run:
    asked = part.options
    plan = plan_serve(
        part.before,
        part.after,
        concurrency=asked.get("concurrency", CONCURRENCY),
        dataset=_path(asked, "dataset"),
        quick=asked.get("quick", True),
        **_server(asked),
        **{key: asked[key] for key in ("launches", "rounds", "method", "output_len", "seed") if key in asked},
    )
    serving.check_releases(plan, say)
    opened = ServeJournal.going_on(journal, plan)
    launches = serving.run(opened, lambda done, total: told("blocks", done, total))
    return serve_run(plan, launches, judge_serving(plan, launches))


def _accuracy(part: Part, journal: Path, told: Told, say: Say) -> Run:
    asked = part.options
    plan = plan_accuracy(
        part.before,
        part.after,
        data=_path(asked, "data"),
        **_server(asked),
        **{key: asked[key] for key in ("task", "shots", "limit") if key in asked},
    )
    answers.check(plan, say)
    opened = answers.AccuracyJournal.going_on(journal, plan)
    runs = answers.run(opened, lambda role, done, total: told(f"answers of {role}", done, total))
    return accuracy_run(answers.judge(opened, runs), plan.change)


_MEASURES: Mapping[Kind, Callable[[Part, Path, Told, Say], Run]] = {
    "cost": _cost,
    "step": _step,
    "serve": _serve,
    "accuracy": _accuracy,
}


def _server(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "preset_name": asked.get("preset", "tiny-cpu"),
        "tokenizer": _path(asked, "tokenizer"),
        "flags": tuple(asked.get("flags", ())),
        **{key: asked.get(key) for key in ("release", "model", "speculative")},
    }


def _path(asked: Mapping[str, Any], key: str) -> Path | None:
    return Path(asked[key]).expanduser() if key in asked else None
