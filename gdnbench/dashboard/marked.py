"""Shifts as pages show them, found by series, change and device."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gdnbench.dashboard import words
from gdnbench.dashboard.data import SeriesData, SiteData
from gdnbench.dashboard.drawing import sparkline
from gdnbench.dashboard.nights import night_of
from gdnbench.values.shifts import Shift, Suspect


@dataclass(frozen=True, slots=True)
class Marked:
    """A shift, and the series of the site that it is in.

    Attributes:
        night: of the first run after it.
        is_last: whether that is the last night of the history.
        spark: the course of the series around it.
    """

    shift: Shift
    of: SeriesData
    night: str
    is_last: bool
    spark: Markup

    @property
    def is_open(self) -> bool:
        return self.shift.is_open

    @property
    def size(self) -> str:
        return words.size(self.shift)

    @property
    def is_exact(self) -> bool:
        return self.of.assumption == "exact"

    @property
    def how_sure(self) -> str:
        return words.how_sure(self.shift, self.is_exact)

    @property
    def levels(self) -> str:
        unit = self.shift.unit
        return f"{words.amount(unit, self.shift.before)} → {words.amount(unit, self.shift.after)}"

    @property
    def blamed(self) -> str:
        return words.blamed(self.shift)

    @property
    def way(self) -> str:
        return self.shift.way

    def for_plot(self, site: SiteData) -> dict[str, Any]:
        """What the plot of its series draws."""
        return {
            "id": self.shift.id,
            "run": site.number.get(self.shift.first_after),
            "before": self.shift.before,
            "after": self.shift.after,
            "size": self.size,
            "worse": self.shift.worse,
            "state": self.shift.state,
        }


class Shifts:
    """All shifts of a site: open ones before others, later before earlier, larger before smaller.

    Args:
        found: in any order; those of series that the site does not have are left out.
        suspects: series that may have shifted in their last night, the most suspect first.
    """

    def __init__(self, site: SiteData, found: Iterable[Shift], suspects: Iterable[Suspect] = ()) -> None:
        known = [_marked(site, shift) for shift in found if shift.series.id in site.by_id]
        self.all: Sequence[Marked] = sorted(known, key=_rank)
        self.suspects = [(site.by_id[one.series.id], one) for one in suspects if one.series.id in site.by_id]
        self.of_series: dict[str, list[Marked]] = defaultdict(list)
        for one in self.all:
            self.of_series[one.of.id].append(one)

    @property
    def open(self) -> list[Marked]:
        return [one for one in self.all if one.is_open]

    def among(self, series: Iterable[SeriesData]) -> list[Marked]:
        """Those of some series, in their order."""
        wanted = {one.id for one in series}
        return [one for one in self.all if one.of.id in wanted]


def _marked(site: SiteData, shift: Shift) -> Marked:
    one = site.by_id[shift.series.id]
    night = night_of(shift.since)
    after = site.number.get(shift.first_after)
    runs = site.column(one, "run").tolist()
    at = len(runs) - runs.index(after) if after in runs else None
    last = site.nights.dates[-1] if site.nights.dates else None
    return Marked(shift, one, words.night(night), night == last, sparkline(site.column(one, "value"), at, shift.way))


def _rank(one: Marked) -> tuple[Any, ...]:
    shift = one.shift
    return (not one.is_open, -shift.since.timestamp(), -abs(shift.change or 0.0), not shift.worse, one.of.series)
