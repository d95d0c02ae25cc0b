"""What notebooks get: a DataFrame of every point with its run."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gdnbench.history import frame, open_history
from gdnbench.history.doors import HistoryWarning, time_of
from gdnbench.history.speed import nights
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.runs import Machine
from kept import MACHINE, history, point, run, series


@pytest.fixture
def place(tmp_path: Path) -> str:
    opened = history(tmp_path / "runs")
    gpu = Machine("ba9876543210", "cuda", gpu="NVIDIA H200")
    opened.record(run("a", point(1.0)))
    opened.record(run("b", point(2.0), kind="cost", change=52078, started="2026-11-02T02:00:00+00:00"))
    opened.record(run("c", point(3.0), machine=gpu, started="2026-11-03T02:00:00+00:00"))
    return str(tmp_path / "runs")


def test_a_row_has_the_point_and_its_run(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = frame(place)
        monkeypatch.setenv("GDNBENCH_HISTORY", place)
        assert frame().equals(found)
    assert list(found["value"]) == [1.0, 2.0, 3.0]
    assert set(point().to_json()) | {"run", "position", "started", "kind", "change", "commit", "torch"} <= set(found)
    assert list(found["started"].dt.day) == [1, 2, 3]
    assert found["series"][0] == series().id


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"change": 52078}, [2.0]),
        ({"kind": "step"}, [1.0, 3.0]),
        ({"device": "cuda"}, [3.0]),
        ({"device": "h200"}, [3.0]),
        ({"device": "processor"}, [1.0, 2.0]),
        ({"since": "2026-11-02"}, [2.0, 3.0]),
        ({"since": datetime(2026, 11, 3)}, [3.0]),
        ({"since": "2026-11-02T02:00:01+00:00", "kind": "step"}, [3.0]),
        ({"change": 1}, []),
    ],
)
def test_filters(filters: dict, expected: list[float], place: str) -> None:
    assert list(frame(place, **filters)["value"]) == expected


def test_an_unknown_kind_is_named(place: str) -> None:
    with pytest.raises(UserError, match="--kind speed: there are step, cost"):
        frame(place, kind="speed")


def test_what_is_skipped_is_a_warning(place: str) -> None:
    first = sorted(Path(place).iterdir())[0]
    (first / "points.parquet").write_bytes(b"x" * (first / "points.parquet").stat().st_size)
    (sorted(Path(place).iterdir())[1] / "run.json").unlink()
    with pytest.warns(HistoryWarning) as told:
        assert list(frame(place)["value"]) == [3.0]
    assert len(told) == 2
    assert any(first.name in str(one.message) for one in told)


def test_a_history_without_a_point(tmp_path: Path) -> None:
    history(tmp_path).place.prepare()
    found = frame(tmp_path)
    assert len(found) == 0
    assert "value" in found


def test_no_history_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GDNBENCH_HISTORY", raising=False)
    with pytest.raises(UserError, match="--history DIR, or set GDNBENCH_HISTORY"):
        frame()


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gdnbench.history import needs

    monkeypatch.setattr(needs, "find_spec", lambda name: None if name == "duckdb" else name)
    with pytest.raises(EnvironmentMissing, match=r"a history needs duckdb: .*gdnbench\[history\]") as raised:
        open_history(tmp_path)
    assert raised.value.exit_code == 4


def test_times_that_people_write() -> None:
    assert time_of("2026-11-02") == datetime(2026, 11, 2, tzinfo=UTC)
    assert time_of("2026-11-02T03:00:00+02:00") == datetime(2026, 11, 2, 1, tzinfo=UTC)
    assert abs(datetime.now(UTC) - timedelta(days=14) - time_of("14d")) < timedelta(minutes=1)
    for wrong in ("yesterday", "d", "-1d", "1234567d", ""):
        with pytest.raises(UserError, match="a date such as"):
            time_of(wrong)


def test_last_values_and_one_series(tmp_path: Path) -> None:
    from gdnbench.history.speed import LAST, ONE

    opened, made = history(tmp_path), list(nights(200, 10))
    for one in made:
        opened.record(one)
    tables = opened.tables(opened.listing().runs)
    key = made[0].points[3].series.id
    assert list(tables.query(ONE, [key])["value"]) == [one.points[3].value for one in made]
    last = tables.query(LAST).set_index("series")["value"]
    assert last.to_dict() == {one.series.id: one.value for one in made[-1].points}
    assert made[0].identity.machine.host == MACHINE.host
