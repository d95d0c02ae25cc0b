"""The release history that a history's runs tell: vLLM's real builder from release to release."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from gdnbench.history.history import History
from gdnbench.history.querying import Tables
from gdnbench.history.reading import KeptRun
from gdnbench.values.metrics import COST_METRICS, HOST_TIME
from gdnbench.values.releases import ReleaseHistory, ReleaseLoad, ReleaseStep, age
from gdnbench.values.runs import Machine
from gdnbench.values.scenarios import NAMED, ScenarioError, parse
from gdnbench.values.verdicts import Verdict

_STEPS = f"""
SELECT p.run, p.variant, p.against, p.part, p.load, p.value, p.ci_low, p.ci_high, p.verdict, p.reason, p.launches,
       p.smallest_detectable
FROM points p JOIN runs USING (run)
WHERE p.metric = '{HOST_TIME.tag}' AND p.device = 'cpu' AND p.verdict IS NOT NULL
  AND p.variant LIKE 'vllm@%' AND p.against LIKE 'vllm@%'
ORDER BY position, run
"""
_COUNTS = f"""
SELECT p.variant, p.part, p.load, p.metric, p.value
FROM points p JOIN runs USING (run)
WHERE p.assumption = 'exact' AND p.against = '' AND p.variant LIKE 'vllm@%' AND p.invalid = ''
  AND p.metric IN ({", ".join(f"'{metric.tag}'" for metric in COST_METRICS)})
ORDER BY position, run
"""
_RELEASE = re.compile(r"vllm@(\d+\.\d+\.\d+(?:\.post\d+)?)")

Key = tuple[str, str]
"""A scenario and a part."""


def release_history(history: History) -> ReleaseHistory:
    """What the runs of a history say of releases: of each pair, and of each count, the newest run.

    Raises:
        UserError, EnvironmentMissing: it cannot be read.
    """
    runs = history.listing().runs
    return release_history_among(runs, history.tables(runs))


def release_history_among(runs: Sequence[KeptRun], tables: Tables) -> ReleaseHistory:
    """`release_history` for tables that were read already.

    Args:
        runs: of the listing.
        tables: of these runs.
    """
    steps: dict[Key, dict[tuple[str, str], ReleaseStep]] = {}
    for row in tables.query(_STEPS).to_dict("records"):
        before, after = _release(row["against"]), _release(row["variant"])
        if before and after and before != after:
            steps.setdefault((row["load"], row["part"]), {})[before, after] = _step(before, after, row)
    counts: dict[Key, dict[str, dict[str, int]]] = {}
    for row in tables.query(_COUNTS).to_dict("records"):
        if release := _release(row["variant"]):
            own = counts.setdefault((row["load"], row["part"]), {})
            own.setdefault(row["metric"], {})[release] = int(row["value"])
    releases = in_order(
        [release for own in steps.values() for pair in own for release in pair]
        + [release for own in counts.values() for found in own.values() for release in found]
    )
    keys = sorted({*steps, *counts}, key=_place)
    loads = tuple(
        _load(key, releases, steps.get(key, {}), counts.get(key, {})) for key in keys if _kind(key[0]) is not None
    )
    told = {step.run for load in loads for step in load.steps}
    return ReleaseHistory(
        releases=releases,
        machine=_in_words([run.identity.machine for run in runs if str(run.name) in told]),
        loads=loads,
        missing=tuple(_missing(releases, loads)),
    )


def in_order(releases: Iterable[str]) -> tuple[str, ...]:
    """Releases, each once, the oldest first."""
    return tuple(sorted(set(releases), key=age))


def _release(variant: str) -> str | None:
    """The release that a variant is, as it was published: one with a handicap is none."""
    match = _RELEASE.fullmatch(variant)
    return match[1] if match else None


def _step(before: str, after: str, row: Mapping[str, Any]) -> ReleaseStep:
    low, high = _number(row["ci_low"]), _number(row["ci_high"])
    return ReleaseStep(
        before=before,
        after=after,
        ratio=_number(row["value"]),
        interval=None if low is None or high is None else (low, high),
        verdict=Verdict(row["verdict"]),
        reason=row["reason"],
        launches=int(row["launches"]),
        smallest_detectable=_number(row["smallest_detectable"]),
        run=str(row["run"]),
    )


def _load(
    key: Key,
    releases: Sequence[str],
    steps: Mapping[tuple[str, str], ReleaseStep],
    counts: Mapping[str, Mapping[str, int]],
) -> ReleaseLoad:
    scenario, part = key
    whole = steps.get((releases[0], releases[-1])) if len(releases) > 2 else None
    return ReleaseLoad(
        scenario=scenario,
        part=part,
        kind=_kind(scenario) or "",
        steps=tuple(steps[pair] for pair in pairwise(releases) if pair in steps),
        whole=whole,
        counts={
            metric.tag: {release: counts[metric.tag][release] for release in releases if release in counts[metric.tag]}
            for metric in COST_METRICS
            if metric.tag in counts
        },
    )


def _missing(releases: Sequence[str], loads: Sequence[ReleaseLoad]) -> Iterable[str]:
    found = {(step.before, step.after) for load in loads for step in load.steps}
    for before, after in pairwise(releases):
        if (before, after) not in found:
            yield f"{before} -> {after}: no run compares their step time"


def _kind(scenario: str) -> str | None:
    try:
        return parse(scenario).kind
    except ScenarioError:
        return None


def _place(key: Key) -> tuple[int, str, str]:
    names = list(NAMED)
    scenario, part = key
    return names.index(scenario) if scenario in names else len(names), part, scenario


def _in_words(machines: Iterable[Machine]) -> str:
    words = [
        ", ".join(
            [
                f"{one.cores} cores of {one.hardware}",
                *([one.system] if one.system else []),
                *(f"{name} {one.libraries[name]}" for name in ("python", "torch") if name in one.libraries),
            ]
        )
        for one in machines
    ]
    return "; ".join(dict.fromkeys(words))


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)
