"""The overview: what the last night changed, how sure that is, since when; and what is missing or stale."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from gdnbench.dashboard.data import SiteData
from gdnbench.dashboard.drawing import calendar
from gdnbench.dashboard.marked import Marked, Shifts
from gdnbench.dashboard.pages import Pages
from gdnbench.dashboard.release_page import Row
from gdnbench.history.reading import KeptRun
from gdnbench.values.verdicts import Verdict

MOST_SHIFTS, MOST_LISTED, MOST_RELEASES, NIGHTS_SHOWN = 30, 10, 5, 120


def write_overview(pages: Pages, site: SiteData, shifts: Shifts, releases: Sequence[tuple[Row, Row]]) -> None:
    """The first page, and the page of all shifts.

    Args:
        releases: steps between releases that are shifts, the largest first.
    """
    opened = shifts.open
    stale = sorted((one for one in site.series if site.is_stale(one)), key=site.night)
    pages.write(
        "index.html",
        "overview",
        headline=headline(site, shifts),
        shifts=opened[:MOST_SHIFTS],
        more_shifts=max(len(opened) - MOST_SHIFTS, 0),
        suspects=shifts.suspects[:MOST_LISTED],
        all_suspects=len(shifts.suspects),
        releases=releases[:MOST_RELEASES],
        all_releases=len(releases),
        settled=len(shifts.all) - len(opened),
        calendar=calendar(nights_of(site)[-NIGHTS_SHOWN:]),
        shown_nights=min(NIGHTS_SHOWN, len(site.nights.dates)),
        last_runs=last_runs(site),
        stale=stale[:MOST_LISTED],
        all_stale=len(stale),
    )
    pages.write("shifts.html", "shifts", shifts=shifts.all, opened=len(opened))


def headline(site: SiteData, shifts: Shifts) -> str:
    """The one sentence of the last night."""
    if not site.runs:
        return "nothing was measured yet"
    fresh = [one for one in shifts.open if one.is_last]
    said = f"{_many(len(shifts.open), 'open shift')} in all, {_ways(shifts.open)}" if shifts.open else "no open shift"
    if fresh:
        return f"{_many(len(fresh), 'shift')} in the last night, {_ways(fresh)}; {said}"
    return f"nothing shifted in the last night; {said}"


def _ways(found: Sequence[Marked]) -> str:
    worse = sum(one.shift.worse for one in found)
    return ", ".join(f"{count} {way}" for count, way in ((worse, "worse"), (len(found) - worse, "better")) if count)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def nights_of(site: SiteData) -> list[tuple[date, str]]:
    """Each night, and whether it was measured."""
    pairs = zip(site.nights.of_run, site.runs, strict=True)
    spoilt = {night for night, run in pairs if run.verdict is Verdict.INVALID}
    return [
        (night, "missing" if not runs else "invalid" if night in spoilt else "measured")
        for night, runs in zip(site.nights.dates, site.nights.runs, strict=True)
    ]


def last_runs(site: SiteData) -> list[KeptRun]:
    """The runs of the last night."""
    return [run for run, night in zip(site.runs, site.nights.of_run, strict=True) if night == site.nights.dates[-1]]
