"""The release history of vLLM's real builder."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import Any

from gdnbench.dashboard import words
from gdnbench.dashboard.pages import Pages
from gdnbench.report.numbers import change, interval, share
from gdnbench.values.metrics import COST_METRICS
from gdnbench.values.releases import ReleaseHistory, ReleaseLoad, ReleaseStep

Row = dict[str, Any]
"""What a template lays out: a load, one of its releases, or a step."""


def write_releases(pages: Pages, releases: ReleaseHistory | None, loads: Sequence[Row]) -> None:
    """The page of releases, which says so where there are none.

    Args:
        loads: as `rows_of` gives them.
    """
    pages.write(
        "releases.html",
        "releases",
        history=releases if loads else None,
        loads=loads,
        measured=any(load["load"].steps for load in loads),
        largest=largest(loads),
        plot=None if releases is None else _plot(releases),
    )


def rows_of(releases: ReleaseHistory | None, runs: Container[str]) -> list[Row]:
    """Every load with a row for each release.

    Args:
        runs: names of the runs that have a page.
    """
    if releases is None:
        return []
    return [_load(one, f"load-{number}", releases.releases, runs) for number, one in enumerate(releases.loads, 1)]


def largest(loads: Sequence[Row]) -> list[tuple[Row, Row]]:
    """The steps that are shifts, each behind its load, the largest first."""
    steps = [(load, row["step"]) for load in loads for row in load["rows"] if row["step"] is not None]
    return sorted((one for one in steps if one[1]["step"].is_shift), key=lambda one: -_size(one[1]["step"]))


def _size(step: ReleaseStep) -> float:
    """How far a step is from no change, up and down alike."""
    return abs(math.log(step.ratio)) if step.ratio else 0.0


def _load(load: ReleaseLoad, anchor: str, releases: tuple[str, ...], runs: Container[str]) -> Row:
    levels, steps = load.levels(releases), {step.after: step for step in load.steps}
    return {
        "load": load,
        "anchor": anchor,
        "rows": [
            {
                "release": release,
                "level": f"{levels[release]:.2f}" if release in levels else words.NOTHING,
                "step": None if release not in steps else _step(steps[release], runs),
                "counts": {tag: load.counts.get(tag, {}).get(release) for tag in _tags(load)},
            }
            for release in releases
        ],
        "tags": _tags(load),
        "whole": None if load.whole is None else _step(load.whole, runs),
        "shifts": sum(step.is_shift for step in load.steps),
        "chained": f"{list(levels.values())[-1]:.2f}" if len(levels) == len(releases) else words.NOTHING,
    }


def _step(step: ReleaseStep, runs: Container[str]) -> Row:
    return {
        "step": step,
        "change": change(step.ratio),
        "ends": interval(step.interval),
        "sees": share(step.smallest_detectable),
        "run": step.run if step.run in runs else "",
    }


def _tags(load: ReleaseLoad) -> list[str]:
    """The costs that are not 0 throughout."""
    return [metric.tag for metric in COST_METRICS if any(load.counts.get(metric.tag, {}).values())]


def _plot(history: ReleaseHistory) -> dict[str, Any]:
    """What the plot draws: levels and steps by load, and exact costs."""
    return {"releases": list(history.releases), "loads": [_line(load, history.releases) for load in history.loads]}


def _line(load: ReleaseLoad, releases: tuple[str, ...]) -> dict[str, Any]:
    levels = load.levels(releases)
    return {
        "name": load.scenario,
        "kind": load.kind,
        "levels": [levels.get(release) for release in releases],
        "steps": {
            step.after: [change(step.ratio), interval(step.interval), step.verdict.value, step.is_shift]
            for step in load.steps
        },
        "counts": {tag: [load.counts[tag].get(release) for release in releases] for tag in _tags(load)},
    }
