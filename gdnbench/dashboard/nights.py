"""Nights: from noon to noon UTC, by the date on which they end. A night without a run is missing, and is shown so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

HALF_A_DAY, DAY = timedelta(hours=12), timedelta(days=1)
STALE_AFTER = 2
"""Nights without a point after which a series is called stale."""

MOST = 4000
"""Nights that are counted back from the last one: a clock that said 1970 must not make decades of missing nights."""


@dataclass(frozen=True, slots=True)
class Nights:
    """Every night from the first run to the last one.

    Attributes:
        dates: all of them, those without a run included.
        of_run: the night of each run, also of an imported one that is outside of all of them.
        runs: how many runs of our own each night has.
    """

    dates: tuple[date, ...]
    of_run: tuple[date, ...]
    runs: tuple[int, ...]

    def age(self, night: date) -> int:
        """How many nights it is before the last one."""
        return max((self.dates[-1] - night).days, 0)

    def is_stale(self, night: date) -> bool:
        """Whether what has nothing since that night has been silent for too long."""
        return self.age(night) > STALE_AFTER

    @property
    def missing(self) -> tuple[tuple[date, date], ...]:
        """Stretches of nights without a run, each with its first and last night."""
        found: list[tuple[date, date]] = []
        for night, runs in zip(self.dates, self.runs, strict=True):
            if runs:
                continue
            if found and found[-1][1] + DAY == night:
                found[-1] = (found[-1][0], night)
            else:
                found.append((night, night))
        return tuple(found)


def night_of(position: datetime) -> date:
    """The night that a time belongs to."""
    return (position + HALF_A_DAY).date()


def nights(positions: Sequence[datetime], own: Sequence[bool]) -> Nights:
    """The nights of runs that stand at these positions, which are in order.

    Args:
        own: whether a run is one of ours. Imported ones stand where others measured: they make no nights where there
            are any of our own.
    """
    found = [night_of(position) for position in positions]
    counted = [night for night, is_own in zip(found, own, strict=True) if is_own] or found
    if not counted:
        return Nights((), (), ())
    first = max(counted[0], counted[-1] - (MOST - 1) * DAY)
    dates = tuple(first + number * DAY for number in range((counted[-1] - first).days + 1))
    runs = Counter(counted)
    return Nights(dates, tuple(found), tuple(runs[night] for night in dates))
