"""Series, figures, nights and shifts as a reader sees them."""

from __future__ import annotations

import math
from datetime import date

from gdnbench.dashboard.data import SeriesData
from gdnbench.report.numbers import figure, percent
from gdnbench.values.metrics import METRICS
from gdnbench.values.series import Series
from gdnbench.values.shifts import Shift, Suspect

NOTHING = "n/a"


def title(series: Series) -> str:
    """What a series is of, in a line."""
    what = f"{series.variant} against {series.against}" if series.against else series.variant
    return ", ".join(part for part in (what, series.load, f"{series.metric} ({series.statistic})") if part)


def place(series: Series) -> str:
    """Where and in which setting it is measured, in a line."""
    device = hardware(series)
    machine = "" if series.machine in ("", "any") else f"machine {series.machine}"
    return ", ".join(part for part in (series.part, device, machine, series.setting) if part)


def hardware(series: Series) -> str:
    """The name of what it is measured on."""
    return series.hardware or {"traced": "traced accelerator", "": "unknown device"}.get(series.device, series.device)


def metric(series: Series) -> str:
    """The title of its metric, or its tag where it is none of ours."""
    known = METRICS.get(series.metric)
    return known.title if known else series.metric


def value(one: SeriesData, number: float) -> str:
    """A figure of a series with its unit; a ratio as a change."""
    return amount(one.unit, number)


def amount(unit: str, number: float) -> str:
    """A figure with its unit: ratios as changes, shares as points, whole numbers as they are."""
    if not math.isfinite(number):
        return NOTHING
    if unit == "ratio":
        return percent(number)
    if unit == "difference":
        return f"{100 * number:+.1f} points"
    shown = f"{number:,.0f}" if number == int(number) and abs(number) < 1e15 else figure(number)
    return shown if unit == "count" else f"{shown} {unit}".rstrip()


def ends(one: SeriesData, low: float, high: float) -> str:
    """An interval of a series."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return NOTHING
    return f"{value(one, low)} to {value(one, high)}"


def night(when: date) -> str:
    """A night by its date."""
    return when.isoformat()


def stretch(first: date, last: date) -> str:
    """Nights in a row."""
    nights = (last - first).days + 1
    return night(first) if nights == 1 else f"{night(first)} to {night(last)} ({nights} nights)"


def size(shift: Shift) -> str:
    """How large a shift is: in percent, else in its unit."""
    if shift.change is not None:
        return percent(1 + shift.change)
    return f"{shift.after - shift.before:+g}" + ("" if shift.unit == "count" else f" {shift.unit}")


def suspicion(one: SeriesData, suspect: Suspect) -> str:
    """By how much, and how near to a shift, a suspect series is off."""
    size = amount(one.unit, suspect.change) if one.unit == "difference" else percent(1 + suspect.change)
    return f"{size}, {suspect.distance:.1f} standard errors where {suspect.limit:.1f} make a shift"


def how_sure(shift: Shift, exact: bool) -> str:
    """The interval of a shift."""
    if shift.interval is None:
        return "exact" if exact else NOTHING
    low, high = shift.interval
    return f"{percent(1 + low)} to {percent(1 + high)}"


def blamed(shift: Shift) -> str:
    """Between what it happened, in a line."""
    blame = shift.blame
    parts = [
        f"{one.name} {one.before or NOTHING} → {one.after or NOTHING}" for one in (*blame.libraries, *blame.machine)
    ]
    commits = [commit[:10] for commit in blame.commits]
    if len(commits) > 1:
        parts.insert(0, f"commits {commits[0]}..{commits[-1]}")
    elif commits:
        parts.append(f"the same commit {commits[0]}")
    return "; ".join(parts) or "nothing known differs"
