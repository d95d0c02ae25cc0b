"""A page for each series with its points inside, and the list of all series that can be searched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from gdnbench.dashboard import words
from gdnbench.dashboard.data import SeriesData, SiteData
from gdnbench.dashboard.inert import packed, script
from gdnbench.dashboard.marked import Shifts
from gdnbench.dashboard.pages import Pages
from gdnbench.values.metrics import COST_METRICS
from gdnbench.values.series import KEY

MOST_RELATED = 40
_COUNTS = {metric.tag: rank for rank, metric in enumerate(COST_METRICS)}


def write_series(pages: Pages, site: SiteData, shifts: Shifts) -> None:
    """Every page of a series, the list of them, and the runs that they stand at."""
    pages.put("data/runs.js", script("runs", _runs(site)))
    pages.put("data/index.js", script("index", index(site, shifts)))
    pages.write("series.html", "list")
    near = _Near(site.series)
    counted = {one.id: columns(site, one) for one in site.series if _is_count(one)}
    for one in site.series:
        counts, related = near.counts(one), near.related(one)
        pages.write(
            f"series/{one.id}.html",
            "series",
            one=one,
            last=_last(site, one),
            is_stale=site.is_stale(one),
            shifts=shifts.of_series[one.id],
            drawn={
                "id": one.id,
                "own": columns(site, one),
                "beside": [counted[count.id] for count in counts],
                "shifts": [shift.for_plot(site) for shift in shifts.of_series[one.id]],
            },
            counts=counts,
            related=related[:MOST_RELATED],
            more=max(len(related) - MOST_RELATED, 0),
        )


def columns(site: SiteData, one: SeriesData) -> dict[str, Any]:
    """The points of a series as its page has them: values whole, ends of intervals in single precision."""
    runs = site.column(one, "run")
    values, low, high = (site.column(one, name) for name in ("value", "low", "high"))
    narrow = one.assumption == "sampled"
    return {
        "metric": one.series.metric,
        "unit": one.unit,
        "exact": not narrow,
        "points": len(runs),
        "run": packed(runs.astype(np.uint16) if len(site.runs) < 1 << 16 else runs),
        "value": packed(values),
        "low": packed(low.astype(np.float32)) if narrow else None,
        "high": packed(high.astype(np.float32)) if narrow else None,
        "launches": packed(site.column(one, "launches")),
        "verdict": packed(site.column(one, "verdict")),
        "invalid": one.invalid,
    }


def index(site: SiteData, shifts: Shifts) -> dict[str, Any]:
    """What the list of series is drawn from: texts once each, and codes."""
    worded = {name: _worded([getattr(one.series, name) for one in site.series]) for name in KEY}
    last = np.array([one.rows.stop - 1 for one in site.series], dtype=np.int64)
    states = {one: next((shift.shift.state for shift in found), "") for one, found in shifts.of_series.items()}
    return {
        "id": [one.id for one in site.series],
        "key": worded,
        "unit": _worded([one.unit for one in site.series]),
        "assumption": _worded([one.assumption for one in site.series]),
        "change": [one.change for one in site.series],
        "device": [device_id(one) for one in site.series],
        "value": packed(site.points.value[last]),
        "night": _worded([words.night(site.night(one)) for one in site.series]),
        "stale": [int(site.is_stale(one)) for one in site.series],
        "shift": _worded([states.get(one.id, "") for one in site.series]),
    }


def device_id(one: SeriesData) -> str:
    """What stands for the device and machine of a series in file names: the id of a key that has nothing else."""
    return replace(one.series, **dict.fromkeys(KEY[:-3], "")).id


def _worded(texts: list[str]) -> dict[str, Any]:
    known = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    return {"words": list(known), "codes": [known[text] for text in texts]}


def _runs(site: SiteData) -> dict[str, Any]:
    identities = [run.identity for run in site.runs]
    return {
        "name": [str(run.name) for run in site.runs],
        "position": [int(run.position.timestamp() * 1000) for run in site.runs],
        "night": [night.toordinal() for night in site.nights.of_run],
        "commit": [one.source.commit[:12] for one in identities],
        "vLLM": _worded([one.machine.libraries.get("vllm", "") for one in identities]),
        "torch": _worded([one.machine.libraries.get("torch", "") for one in identities]),
    }


def _last(site: SiteData, one: SeriesData) -> dict[str, Any]:
    """The last point of a series, in words."""
    value, low, high = (float(site.column(one, name)[-1]) for name in ("value", "low", "high"))
    count = one.rows.stop - one.rows.start
    return {
        "value": words.value(one, value),
        "ends": "exact" if one.assumption == "exact" else words.ends(one, low, high),
        "launches": int(site.column(one, "launches")[-1]),
        "run": str(site.runs[one.last].name),
        "night": words.night(site.night(one)),
        "invalid": one.invalid.get(count - 1, ""),
        "points": count,
    }


def _is_count(one: SeriesData) -> bool:
    return one.series.metric in _COUNTS and one.assumption == "exact" and not one.series.against


class _Near:
    """Finds series that belong to the same step or load."""

    def __init__(self, series: Iterable[SeriesData]) -> None:
        self._groups: dict[tuple[str, str], list[SeriesData]] = defaultdict(list)
        for one in series:
            self._groups[one.series.variant, one.series.load].append(one)

    def counts(self, one: SeriesData) -> list[SeriesData]:
        """The exact costs of the same step by the same builder."""
        if one.assumption == "exact":
            return []
        found = [other for other in self.related(one) if _is_count(other) and other.series.part == one.series.part]
        return sorted(found, key=lambda other: _COUNTS[other.series.metric])

    def related(self, one: SeriesData) -> list[SeriesData]:
        """All others of the same variant and load."""
        return [other for other in self._groups[one.series.variant, one.series.load] if other.id != one.id]
