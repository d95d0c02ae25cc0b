"""Nights, and which of them are missing."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdnbench.dashboard.nights import MOST, night_of, nights

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("position", "night"), [(NOON - timedelta(seconds=1), date(2026, 11, 1)), (NOON, date(2026, 11, 2))]
)
def test_a_night_has_the_date_on_which_it_ends(position: datetime, night: date) -> None:
    assert night_of(position) == night


def test_nights_without_a_run_are_missing_in_stretches() -> None:
    found = nights([NOON + timedelta(days=days) for days in (0, 0, 1, 4, 6)], [True] * 5)
    assert len(found.dates) == 7
    assert found.runs == (2, 1, 0, 0, 1, 0, 1)
    assert [(night - found.dates[0]).days for night in found.of_run] == [0, 0, 1, 4, 6]
    assert found.missing == ((date(2026, 11, 4), date(2026, 11, 5)), (date(2026, 11, 7), date(2026, 11, 7)))


def test_what_was_imported_makes_no_nights_beside_our_own() -> None:
    positions = [NOON - timedelta(days=900), NOON, NOON + timedelta(days=1), NOON + timedelta(days=9)]
    found = nights(positions, [False, True, True, False])
    assert (len(found.dates), found.runs) == (2, (1, 1))
    assert found.of_run == tuple(map(night_of, positions))
    assert [found.age(night) for night in found.of_run] == [901, 1, 0, 0]
    assert [found.is_stale(night) for night in found.of_run] == [True, False, False, False]
    alone = nights(positions, [False] * 4)
    assert alone.dates[0] == night_of(positions[0]) and sum(alone.runs) == 4


def test_a_clock_that_said_1970_makes_no_decades_of_missing_nights() -> None:
    found = nights([datetime(1970, 1, 1, tzinfo=UTC), NOON], [True, True])
    assert len(found.dates) == MOST
    assert sum(found.runs) == 1


def test_no_runs_no_nights() -> None:
    found = nights([], [])
    assert (found.dates, found.runs, found.missing) == ((), (), ())


@given(st.lists(st.integers(0, 400), min_size=1), st.data())
def test_every_own_run_is_in_one_night(days: list[int], data: st.DataObject) -> None:
    positions = [NOON + timedelta(days=day) for day in sorted(days)]
    own = data.draw(st.lists(st.booleans(), min_size=len(days), max_size=len(days)))
    found = nights(positions, own)
    assert sum(found.runs) == (sum(own) or len(own))
    missing = sum((last - first).days + 1 for first, last in found.missing)
    assert missing + sum(1 for runs in found.runs if runs) == len(found.dates)
