"""Pages of groups of series: one for each catalogued change, one for each device."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gdn_impl.catalog import CATALOG
from gdnbench.campaign.turns import LIMIT
from gdnbench.dashboard import words
from gdnbench.dashboard.data import VERDICTS, SeriesData, SiteData
from gdnbench.dashboard.drawing import sparkline
from gdnbench.dashboard.marked import Shifts
from gdnbench.dashboard.pages import Pages
from gdnbench.dashboard.series_pages import device_id
from gdnbench.report.numbers import of_limit
from gdnbench.values.metrics import COST_METRICS


def write_changes(pages: Pages, site: SiteData, shifts: Shifts) -> None:
    """The page of all catalogued changes, and one for each."""
    groups: dict[int, list[SeriesData]] = {number: [] for number in CATALOG}
    for one in site.series:
        if one.change is not None:
            groups[one.change].append(one)
    rows = [(CATALOG[number], series, shifts.among(series)) for number, series in groups.items()]
    pages.write("changes.html", "changes", rows=rows)
    for change, series, found in rows:
        pages.write(
            f"changes/{change.number}.html",
            "change",
            change=change,
            shifts=found,
            comparisons=_comparisons(site, series),
            costs=_costs(site, series),
            tags=[metric.tag for metric in COST_METRICS],
            total=len(series),
        )


def _comparisons(site: SiteData, series: Sequence[SeriesData]) -> list[dict[str, Any]]:
    """Each comparison at its last point; identical code against itself is none."""
    found = []
    for one in series:
        if one.series.against and one.series.against != one.series.variant:
            value, low, high = (float(site.column(one, name)[-1]) for name in ("value", "low", "high"))
            code = int(site.column(one, "verdict")[-1])
            found.append(
                {
                    "one": one,
                    "value": words.value(one, value),
                    "ends": "exact" if one.assumption == "exact" else words.ends(one, low, high),
                    "verdict": VERDICTS[code - 1].value if code else "",
                    "of_limit": of_limit(_of_limit(site, one)),
                    "run": site.runs[one.last].name,
                    "night": words.night(site.night(one)),
                    "spark": sparkline(site.column(one, "value")),
                }
            )
    return found


def _of_limit(site: SiteData, one: SeriesData) -> tuple[float, float] | None:
    """Both sides of a comparison as multiples of the limit, where it ran beside them in the last run."""
    own = (one.series.against, one.series.variant, LIMIT)
    found = [site.by_id.get(replace(one.series, variant=name, against="").id) for name in own]
    sides = [side for side in found if side is not None and side.last == one.last]
    if len(sides) < len(own):
        return None
    before, after, limit = (float(site.column(side, "value")[-1]) for side in sides)
    return before / limit, after / limit


def _costs(site: SiteData, series: Sequence[SeriesData]) -> list[tuple[SeriesData, dict[str, str]]]:
    """The last exact costs of each variant and step: its first series, and figures by metric."""
    tables: dict[tuple[str, ...], tuple[SeriesData, dict[str, Any]]] = {}
    for one in series:
        key = one.series
        if one.assumption == "exact" and not key.against:
            row = tables.setdefault((key.part, key.load, key.variant), (one, {}))
            row[1][key.metric] = (one.id, words.amount("", float(site.column(one, "value")[-1])))
    return [tables[key] for key in sorted(tables, key=lambda key: (key[0], key[1], key[2].endswith("after")))]


def write_devices(pages: Pages, site: SiteData, shifts: Shifts) -> None:
    """The page of all devices, and one for each: a kind of hardware in one machine."""
    groups: dict[str, list[SeriesData]] = defaultdict(list)
    for one in site.series:
        groups[device_id(one)].append(one)
    rows = []
    for name, series in groups.items():
        night = max(site.night(one) for one in series)
        rows.append(
            {
                "id": name,
                "key": series[0].series,
                "series": series,
                "night": words.night(night),
                "age": site.nights.age(night),
                "is_stale": site.nights.is_stale(night),
                "stale": sum(site.is_stale(one) for one in series),
                "shifts": shifts.among(series),
                "versions": _versions(site, series),
            }
        )
    pages.write("devices.html", "devices", rows=rows)
    for row in rows:
        pages.write(f"devices/{row['id']}.html", "device", device=row)


def _versions(site: SiteData, series: Sequence[SeriesData]) -> list[dict[str, str]]:
    """When libraries of a device changed, the newest first; at the end what it began with."""
    numbers = np.unique(np.concatenate([site.column(one, "run") for one in series])).tolist()
    found: list[dict[str, str]] = []
    known: dict[str, str] = {}
    for number in numbers:
        run = site.runs[number]
        machine = run.identity.machine
        now = {"system": machine.system, **dict(sorted(machine.libraries.items()))}
        changed = {name: text for name, text in now.items() if text and known.get(name) != text}
        if changed:
            words_of = [
                f"{name} {known[name]} → {text}" if name in known else f"{name} {text}"
                for name, text in changed.items()
            ]
            found.append(
                {"night": words.night(site.nights.of_run[number]), "run": str(run.name), "what": ", ".join(words_of)}
            )
        known |= changed
    return found[::-1]
