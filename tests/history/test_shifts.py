"""Shifts of histories: found, blamed, measured again, acknowledged, and gone."""

from __future__ import annotations

import errno
import json
import math
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdnbench.history.history import History
from gdnbench.history.nights import RERUN_OF
from gdnbench.history.shift_records import DIRECTORY, read_records
from gdnbench.history.shifts import MOST_RERUNS, acknowledge, as_rerun, find, report, suspects
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.runs import Run, Source
from gdnbench.values.shifts import Shift, shift_id
from kept import MACHINE, history, point, run, series

FIRST = datetime(2026, 9, 1, 2, tzinfo=UTC)
COUNT = {"metric": "syncs", "statistic": "count", "device": "traced", "hardware": "", "machine": "any"}


@pytest.fixture(params=["local", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "runs") if request.param == "local" else f"memory://{uuid.uuid4().hex}"


@pytest.fixture
def opened(tmp_path: Path) -> History:
    return history(tmp_path / "runs")


def noise(night: int, again: int = 0) -> float:
    """2 %, the same every time."""
    return math.exp(0.02 * float(np.random.default_rng([night, again]).standard_normal()))


def step_run(night: int, value: float, again: int = 0, **changes: Any) -> Run:
    started = (FIRST + timedelta(days=night, minutes=again)).isoformat()
    return run(f"{night} {again}", point(value), started=started, **changes)


def keep(opened: History, values: Sequence[float]) -> list[str]:
    """A run a night; their names."""
    return [opened.record(step_run(night, value))[0] for night, value in enumerate(values)]


def stepped(before: int, after: int, factor: float = 1.12) -> list[float]:
    return [20 * noise(night) * (factor if night >= before else 1) for night in range(before + after)]


def test_a_step_is_a_shift_with_levels_change_and_place(place: str) -> None:
    opened = history(place)
    names = keep(opened, stepped(30, 10))
    found = find(opened)
    (shift,) = found.shifts
    assert found.series == 1 and found.reruns == 0
    assert (shift.series, shift.unit, shift.direction) == (series(), "us", "lower")
    assert shift.before == pytest.approx(20, rel=0.01) and shift.after == pytest.approx(22.4, rel=0.015)
    assert shift.change is not None and shift.interval is not None
    assert shift.interval[0] < shift.change < shift.interval[1]
    assert shift.interval[0] < 0.12 < shift.interval[1]
    assert shift.worse and shift.state == "confirmed"
    assert (shift.last_before, shift.first_after) == (names[29], names[30])
    assert shift.since == FIRST + timedelta(days=30)
    assert shift.id == shift_id(series().id, names[30])
    assert json.loads(json.dumps(shift.to_json()))["change"] == shift.change


def test_a_shift_is_new_in_the_night_it_is_found_and_its_id_stays(opened: History) -> None:
    seen: list[Shift] = []
    values = stepped(30, 6)
    keep(opened, values[:30])
    for night, value in enumerate(values[30:], start=30):
        opened.record(step_run(night, value))
        seen += find(opened).shifts
    assert [shift.state for shift in seen[:2]] == ["new", "confirmed"]
    assert len({shift.id for shift in seen}) == 1


def test_steady_nights_have_no_shift(opened: History) -> None:
    keep(opened, stepped(60, 0))
    assert find(opened).shifts == ()


def test_higher_is_better_where_it_is(opened: History) -> None:
    for night, value in enumerate(stepped(30, 10)):
        throughput = point(value, series=series(metric="output_throughput"), unit="tok/s", direction="higher")
        opened.record(run(f"{night}", throughput, started=(FIRST + timedelta(days=night)).isoformat()))
    (shift,) = find(opened).shifts
    assert not shift.worse


def test_invalid_nights_are_kept_out(opened: History) -> None:
    """Ten nights that must not be held against others are neither a shift nor history."""
    for night in range(60):
        spoilt = 30 <= night < 40
        value = 20 * noise(night) * (3 if spoilt else 1)
        given = point(value, invalid="metadata differs" if spoilt else "")
        opened.record(run(f"{night}", given, started=(FIRST + timedelta(days=night)).isoformat()))
    assert find(opened).shifts == ()


def test_figures_that_are_none_are_kept_out(opened: History) -> None:
    values = stepped(40, 0)
    values[20], values[25], values[30] = math.nan, 0.0, -1.0
    keep(opened, values)
    assert find(opened).shifts == ()


def test_an_exact_metric_shifts_at_once_and_in_both_directions(opened: History) -> None:
    counts = [3.0, 3.0, 2.0, 2.0, 2.0, 5.0]
    for night, value in enumerate(counts):
        given = point(value, series=series(**COUNT), unit="count", assumption="exact")
        opened.record(run(f"{night}", given, started=(FIRST + timedelta(days=night)).isoformat()))
    fewer, more = find(opened).shifts
    assert (fewer.before, fewer.after, fewer.worse, fewer.interval) == (3, 2, False, None)
    assert fewer.change == pytest.approx(-1 / 3)
    assert (more.before, more.after, more.worse, more.change) == (2, 5, True, 1.5)
    assert (fewer.state, more.state) == ("resolved", "new")


def test_a_count_that_was_nothing_has_no_change_in_percent(opened: History) -> None:
    for night, value in enumerate([0.0, 1.0]):
        given = point(value, series=series(**COUNT), unit="count", assumption="exact")
        opened.record(run(f"{night}", given, started=(FIRST + timedelta(days=night)).isoformat()))
    (shift,) = find(opened).shifts
    assert shift.change is None and shift.worse


def test_a_level_that_is_back_resolves_the_shift(opened: History) -> None:
    keep(opened, [*stepped(30, 15), *(20 * noise(night) for night in range(45, 60))])
    up, down = find(opened).shifts
    assert (up.state, down.state) == ("resolved", "resolved")
    assert up.worse and not down.worse


def test_a_gain_that_is_lost_again_is_no_good_news(opened: History) -> None:
    values = stepped(30, 15, 0.88)
    keep(opened, [*values, *(20 * noise(night) for night in range(45, 60))])
    down, up = find(opened).shifts
    assert (down.state, up.state) == ("resolved", "confirmed")
    assert up.worse


def test_differences_are_followed_as_they_are(opened: History) -> None:
    """Shares of right answers differ by nothing or less: there is no logarithm to take."""
    for night in range(50):
        value = 0.01 * math.log(noise(night)) / 0.02 - (0.2 if night >= 40 else 0)
        given = point(value, series=series(against="pr51913.before"), unit="difference", direction="higher")
        opened.record(run(f"{night}", given, started=(FIRST + timedelta(days=night)).isoformat()))
    (shift,) = find(opened).shifts
    assert shift.change is None and shift.interval is None and shift.worse
    assert shift.after - shift.before == pytest.approx(-0.2, abs=0.02)


def test_blame_names_the_range_and_everything_that_differs(opened: History) -> None:
    newer = replace(MACHINE, libraries={"torch": "2.14.0", "numpy": "2.4"}, system="Linux 7")
    for night, value in enumerate(stepped(30, 10)):
        later = night >= 30
        opened.record(
            step_run(
                night,
                value,
                machine=newer if later else MACHINE,
                source=Source("beef" if later else "c0ffee", False, "b2" if later else "b1", "h"),
            )
        )
    blame = find(opened).shifts[0].blame
    assert blame.commits == ("c0ffee", "beef")
    assert [(one.name, one.before, one.after) for one in blame.libraries] == [
        ("numpy", "", "2.4"),
        ("torch", "2.13.0", "2.14.0"),
    ]
    assert {one.name for one in blame.machine} == {"system", "builders"}


def test_commits_between_are_named_where_the_checkout_knows_them(opened: History) -> None:
    from gdnbench.gate.commits import between, find_commit
    from gdnbench.gate.identity import HARNESS

    old, new = (find_commit(HARNESS.parent, name) for name in ("HEAD~3", "HEAD"))
    if old is None or new is None:
        pytest.skip("this checkout has no commits to speak of")
    for night, value in enumerate(stepped(30, 5)):
        opened.record(step_run(night, value, source=Source(new if night >= 30 else old)))
    commits = find(opened).shifts[0].blame.commits
    assert commits == (old, *between(HARNESS.parent, old, new))
    assert len(commits) >= 3 and commits[-1] == new


def test_suspects_are_measured_again_up_to_four_times(opened: History) -> None:
    """The loop of a night: it ends, and each night of a real step has its reruns counted."""
    asked = 0
    keep(opened, stepped(26, 0))
    for night in range(26, 34):
        level = 20 * (1.06 if night >= 30 else 1)
        name, _ = opened.record(step_run(night, level * noise(night)))
        again = 0
        while doubted := suspects(opened, [name]):
            again += 1
            assert doubted[0].night == name and doubted[0].reruns == again - 1
            assert doubted[0].distance < doubted[0].limit
            opened.record(as_rerun(step_run(night, level * noise(night, again), again), name))
        assert again <= MOST_RERUNS
        asked += again
    found = find(opened)
    (shift,) = found.shifts
    assert found.reruns == asked
    assert int(shift.first_after[:8]) - 1 >= 30
    assert shift.reruns > 0 and shift.worse


def test_reruns_clear_a_bad_night(opened: History) -> None:
    keep(opened, stepped(30, 0))
    name, _ = opened.record(step_run(30, 23.0))
    assert [suspect.night for suspect in suspects(opened)] == [name]
    for again in range(1, 4):
        opened.record(as_rerun(step_run(30, 20 * noise(30, again), again), name))
    assert suspects(opened) == ()
    assert find(opened).shifts == ()


def test_only_tonights_suspects_are_named_when_asked(opened: History) -> None:
    keep(opened, [*stepped(30, 0), 23.0])
    assert suspects(opened) and suspects(opened, ["another run"]) == ()


def test_a_rerun_is_no_night_of_its_own_and_stands_in_where_the_run_was_invalid(opened: History) -> None:
    keep(opened, stepped(30, 0))
    spoilt = run("spoilt", point(60.0, invalid="no"), started=(FIRST + timedelta(days=30)).isoformat())
    name, _ = opened.record(spoilt)
    opened.record(as_rerun(step_run(30, 20 * noise(30), 1), name))
    assert find(opened).shifts == ()
    assert opened.listing().runs[-1].identity.settings[RERUN_OF] == name


def test_an_acknowledged_shift_has_its_reason_for_good(place: str) -> None:
    opened = history(place)
    keep(opened, stepped(30, 10))
    (shift,) = find(opened).shifts
    acknowledge(opened, shift.id[:6], "the price of a fix")
    (after,) = find(opened).shifts
    assert (after.state, after.reason, after.id) == ("acknowledged", "the price of a fix", shift.id)
    acknowledge(opened, shift.id, "said better")
    assert find(opened).shifts[0].reason == "said better"
    assert len(opened.listing().runs) == 40 and opened.listing().skipped == ()
    assert opened.verify()[1] == ()


@pytest.mark.parametrize(("text", "reason", "says"), [("", " ", "--reason"), ("ffffffff", "why", "no shift has")])
def test_what_cannot_be_acknowledged(opened: History, text: str, reason: str, says: str) -> None:
    keep(opened, stepped(30, 10))
    with pytest.raises(UserError, match=says):
        acknowledge(opened, text, reason)


def test_a_resolved_shift_cannot_be_acknowledged_and_an_acknowledged_one_resolves(opened: History) -> None:
    keep(opened, stepped(30, 10))
    acknowledge(opened, find(opened).shifts[0].id, "on purpose")
    for night in range(40, 55):
        opened.record(step_run(night, 20 * noise(night)))
    up = find(opened).shifts[0]
    assert (up.state, up.reason) == ("resolved", "on purpose")
    with pytest.raises(UserError, match="resolved"):
        acknowledge(opened, up.id, "again")


def test_every_state_is_reported_once(opened: History) -> None:
    told, values = [], stepped(30, 5)
    keep(opened, values[:30])
    for night, value in enumerate(values[30:], start=30):
        opened.record(step_run(night, value))
        told += [shift.state for shift in report(opened)]
    assert told == ["new", "confirmed"]


def test_a_damaged_record_is_named_and_left_out(opened: History, tmp_path: Path) -> None:
    keep(opened, stepped(30, 10))
    acknowledge(opened, find(opened).shifts[0].id, "why")
    directory = tmp_path / "runs" / DIRECTORY
    (whole,) = directory.iterdir()
    later = json.loads(whole.read_text()) | {"schema": 99}
    (directory / "aaaa-new-1.json").write_text("{")
    (directory / "bbbb-new-1.json").write_text("[" * 100_000)
    (directory / "cccc-new-1.json").write_text(json.dumps(later))
    (directory / "dddd-new-1.json").write_text('{"schema": 1, "shift": {"state": "odd"}}')
    (directory / ".aside-half").write_text("")
    found = find(opened)
    assert found.shifts[0].state == "acknowledged"
    assert [(one.name[7:11], one.damaged) for one in found.skipped] == [
        ("aaaa", True),
        ("bbbb", True),
        ("cccc", False),
        ("dddd", True),
    ]


def test_a_full_disk_is_one_line_and_leaves_nothing(
    opened: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(opened, stepped(30, 10))

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(EnvironmentMissing, match="free some space"):
        acknowledge(opened, find(opened).shifts[0].id, "why")
    monkeypatch.undo()
    assert list((tmp_path / "runs" / DIRECTORY).iterdir()) == []
    assert find(opened).shifts[0].state == "confirmed"


def test_a_record_of_the_same_series_and_nights_still_speaks_of_a_shift_that_moved(opened: History) -> None:
    keep(opened, stepped(30, 10))
    (shift,) = find(opened).shifts
    acknowledge(opened, shift.id, "why")
    (record,) = read_records(opened.place).records
    moved = replace(shift, first_after=record.runs[-1])
    assert record.is_of(moved)
    assert not record.is_of(replace(shift, first_after="another", series=series("pr51913.before")))


@pytest.mark.slow
def test_intervals_hold_the_change(opened: History) -> None:
    lot, series_of = np.random.default_rng(0), [series(load=f"{number}q1s1k") for number in range(400)]
    held = []
    for night in range(75):
        values = (20 if night < 55 else 21) * np.exp(0.02 * lot.standard_normal(400))
        points = [point(float(value), series=one) for one, value in zip(series_of, values, strict=True)]
        opened.record(run(f"{night}", *points, started=(FIRST + timedelta(days=night)).isoformat()))
        if night in (58, 64, 74):
            ends = [shift.interval for shift in find(opened).shifts]
            held.append(np.mean([low < 0.05 < high for low, high in filter(None, ends)]))
    assert min(held) > 0.9


def test_an_empty_history_has_no_shifts(opened: History) -> None:
    opened.place.prepare()
    found = find(opened)
    assert (found.shifts, found.suspects, found.series) == ((), (), 0)
