"""`gdnbench shifts` as a person types it."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from gdnbench.cli import app, exits
from kept import history, point, run, series

FIRST = datetime(2026, 9, 1, 2, tzinfo=UTC)


@pytest.fixture(autouse=True)
def no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GDNBENCH_HISTORY", raising=False)


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One series 12 % slower since night 30, one faster since night 25, one count that rose for a night."""
    place = tmp_path_factory.mktemp("steps") / "runs"
    opened, lot = history(place), np.random.default_rng(0)
    counts = {"metric": "syncs", "statistic": "count", "device": "traced", "hardware": "", "machine": "any"}
    for night in range(36):
        slower, faster = (math.exp(0.02 * lot.standard_normal()) for _ in range(2))
        opened.record(
            run(
                f"{night}",
                point(20 * slower * (1.12 if night >= 30 else 1)),
                point(30 * faster * (0.88 if night >= 25 else 1), series=series("pr51913.before")),
                point(4.0 if night == 10 else 3.0, series=series(**counts), unit="count", assumption="exact"),
                started=(FIRST + timedelta(days=night)).isoformat(),
            )
        )
    return str(place)


def answer(arguments: list[str], capsys: pytest.CaptureFixture[str], status: int = 0) -> tuple[str, str]:
    assert exits.run(app, ["shifts", *arguments]) == status
    found = capsys.readouterr()
    return found.out, found.err


def ids(place: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    found = json.loads(answer(["list", "--history", place, "--json"], capsys)[0])
    return [shift["id"] for shift in found["shifts"]]


def test_shifts_are_listed_the_newest_first(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = answer(["list", "--history", steps], capsys)
    slower, faster = out.splitlines()[1:3]
    assert "pr51913.after" in slower and "worse" in slower and "2026-10-01" in slower
    assert "pr51913.before" in faster and "better" in faster
    assert "syncs" not in out
    assert "shifts in 3 series" in out and "2 resolved" in out
    assert "syncs" in answer(["list", "--history", steps, "--all"], capsys)[0]


def test_json_has_everything(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(answer(["list", "--history", steps, "--all", "--json"], capsys)[0])
    assert found.keys() == {"shifts", "suspects", "series", "reruns", "skipped"}
    assert len(found["shifts"]) == 4 and found["series"] == 3 and found["reruns"] == 0
    first = found["shifts"][0]
    assert first["ci_low"] < first["change"] < first["ci_high"]
    assert first["blame"]["runs"]


def test_only_some_are_listed(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(ids(steps, capsys)) == 2
    for options, count in ((["--since", "2026-09-29"], 1), (["--change", "52078"], 0), (["--change", "51913"], 2)):
        found = json.loads(answer(["list", "--history", steps, "--json", *options], capsys)[0])
        assert len(found["shifts"]) == count


@pytest.mark.parametrize(
    ("fail_on", "status"), [("none", 0), ("new", 0), ("confirmed", 1), ("new, confirmed", 1), ("resolved", 0)]
)
def test_states_that_fail(steps: str, fail_on: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    answer(["list", "--history", steps, "--fail-on", fail_on], capsys, status)


def test_what_got_better_never_fails(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    slower = ids(steps, capsys)[0]
    arguments = ["--history", steps, "--fail-on", "confirmed"]
    answer(["list", *arguments], capsys, 1)
    answer(["acknowledge", slower, "--history", steps, "--reason", "as wanted"], capsys)
    answer(["list", *arguments], capsys, 0)
    assert "as wanted" in answer(["show", slower[:8], "--history", steps], capsys)[0]


def test_one_shift_is_shown_with_its_range(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    faster = ids(steps, capsys)[1]
    out, _ = answer(["show", faster, "--history", steps], capsys)
    assert "better" in out and "range" in out and "nothing that runs say of themselves differs" in out
    assert json.loads(answer(["show", faster, "--history", steps, "--json"], capsys)[0])["id"] == faster


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["list", "--fail-on", "regressed"], "known: new, confirmed, acknowledged, resolved, none"),
        (["list", "--since", "soon"], "--since soon"),
        (["show", "zz"], "gdnbench shifts list --all"),
        (["acknowledge", "zz", "--reason", "x"], "gdnbench shifts list --all"),
        (["acknowledge", "zz", "--reason", ""], "--reason"),
        (["acknowledge", "zz"], "--reason"),
    ],
)
def test_bad_usage_is_one_line(steps: str, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = answer([*arguments, "--history", steps], capsys, 2)
    assert says in err and len(err.splitlines()) == 1


def test_no_history_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no history is named" in answer(["list"], capsys, 2)[1]
    assert "there is no history" in answer(["list", "--history", str(tmp_path / "none")], capsys, 2)[1]
