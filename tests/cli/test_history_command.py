"""`gdnbench history` as a person types it, and commands that keep their runs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest

from gdnbench.cli import app, exits
from gdnbench.values.verdicts import Verdict
from kept import history, point, run, series
from lm_eval_folders import answers, write

COST = ["cost", "pr51913.before", "pr51913.after", "--scenario", "16q1s1k"]


@pytest.fixture(autouse=True)
def no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GDNBENCH_HISTORY", raising=False)


@pytest.fixture
def place(tmp_path: Path) -> str:
    opened = history(tmp_path / "runs")
    compared = point(0.9, series=series(against="pr51913.before"), unit="ratio", verdict=Verdict.IMPROVED, primary=True)
    opened.record(run("a", point(11.5, samples=(11.0, 12.0)), compared))
    opened.record(run("b", point(12.5), change=52078, started="2026-11-02T02:00:00+00:00"))
    return str(tmp_path / "runs")


def answer(arguments: list[str], capsys: pytest.CaptureFixture[str], status: int = 0) -> tuple[str, str]:
    assert exits.run(app, arguments) == status
    found = capsys.readouterr()
    return found.out, found.err


def test_the_newest_first(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = answer(["history", "list", "--history", place], capsys)
    rows = out.splitlines()
    assert [row[:8] for row in rows[1:3]] == ["00000002", "00000001"]
    assert "pr51913.before -> pr51913.after" in rows[1]
    assert "2 of 2 runs" in rows[3]
    assert not err
    out, _ = answer(["history", "list", "--history", place, "--change", "51913", "--json"], capsys)
    (only,) = json.loads(out)["runs"]
    assert (only["change"], only["points"], only["verdict"], only["kind"]) == (51913, 2, "same", "step")


def test_the_environment_names_the_history(place: str, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDNBENCH_HISTORY", place)
    out, _ = answer(["history", "list", "--since", "2026-11-02", "--json"], capsys)
    assert [one["change"] for one in json.loads(out)["runs"]] == [52078]


def test_one_run(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = answer(["history", "show", "00000001", "--history", place], capsys)
    assert "libraries torch 2.13.0" in out
    assert "improved" in out
    assert "0.900 ratio" in out
    found = json.loads(answer(["history", "show", "00000001", "--history", place, "--json"], capsys)[0])
    assert [one["value"] for one in found["points"]] == [0.9, 11.5]
    assert [one["value"] for one in found["samples"]] == [11.0, 12.0]


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_an_export_has_every_point(form: str, place: str, tmp_path: Path, capsys) -> None:
    out = tmp_path / f"points.{form}"
    answer(["history", "export", "--history", place, "--format", form, "--out", str(out)], capsys)
    if form == "csv":
        values = [float(row["value"]) for row in csv.DictReader(io.StringIO(out.read_text()))]
    elif form == "json":
        values = [row["value"] for row in json.loads(out.read_text())["points"]]
    else:
        values = list(pd.read_parquet(out)["value"])
    assert sorted(values) == [0.9, 11.5, 12.5]
    _, err = answer(["history", "export", "--history", place, "--format", form, "--out", str(out)], capsys, 2)
    assert "is there already" in err


def test_an_export_on_standard_output(place: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert exits.run(app, ["history", "export", "--history", place, "--json", "--change", "52078"]) == 0
    (row,) = json.loads(capsysbinary.readouterr().out)["points"]
    assert row["value"] == 12.5
    assert row["ci_low"] is None
    assert row["started"].startswith("2026-11-02T02:00:00")


def test_imports_and_what_is_there_already(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, place = write(tmp_path / "answers", answers(400, 300)[0]), str(tmp_path / "runs")
    first = json.loads(answer(["history", "import", str(folder), "--history", place, "--json"], capsys)[0])
    again, _ = answer(["history", "import", str(folder), "--history", place], capsys)
    assert [one["new"] for one in first["files"]] == [True]
    assert "which was there already" in again
    out, _ = answer(["history", "list", "--history", place], capsys)
    assert "accuracy, from lm-eval" in out
    assert "1 of 1 runs" in out


def test_verify_names_what_is_damaged(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "sound runs: 2, damaged: 0" in answer(["history", "verify", "--history", place], capsys)[0]
    first = sorted(Path(place).iterdir())[0]
    (first / "samples.parquet").write_bytes(b"")
    out, _ = answer(["history", "verify", "--history", place], capsys, 1)
    assert f"damaged: {first.name}: samples.parquet has 0 bytes" in out
    found = json.loads(answer(["history", "verify", "--history", place, "--json"], capsys, 1)[0])
    assert found["sound"] == 1
    assert [one["run"] for one in found["skipped"]] == [first.name]
    out, err = answer(["history", "list", "--history", place], capsys)
    assert f"skipped {first.name}" in err
    assert "1 of 1 runs" in out
    _, err = answer(["history", "show", first.name, "--history", place], capsys, 2)
    assert "samples.parquet has 0 bytes" in err


def test_a_later_schema_is_no_damage(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    first = sorted(Path(place).iterdir())[0]
    (first / "run.json").write_text('{"schema": 2}')
    out, _ = answer(["history", "verify", "--history", place], capsys)
    assert f"left out: {first.name}: schema 2 is of a later gdnbench" in out
    assert "sound runs: 1, damaged: 0" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["list"], "no history is named"),
        (["list", "--history", "/nowhere/at/all"], "there is no history"),
        (["list", "--history", "nonsense://x"], "Protocol not known"),
        (["list", "--history", "PLACE", "--since", "soon"], "a date such as 2026-11-01"),
        (["list", "--history", "PLACE", "--kind", "all"], "--kind all: there are step"),
        (["show", "zzz", "--history", "PLACE"], "no run has 'zzz'"),
        (["export", "--history", "PLACE", "--format", "xml"], "there are csv, json, parquet"),
        (["export", "--history", "PLACE", "--format", "parquet"], "name a file with --out"),
        (["import", "/nowhere", "--history", "PLACE"], "there is no such file"),
    ],
)
def test_what_cannot_be_is_one_line(arguments: list[str], says: str, place: str, capsys) -> None:
    words = [place if word == "PLACE" else word for word in arguments]
    out, err = answer(["history", *words], capsys, 2)
    assert says in err
    assert err.count("\n") == 1
    assert not out


def test_a_missing_extra_is_a_matter_of_the_environment(place: str, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    from gdnbench.history import needs

    monkeypatch.setattr(needs, "find_spec", lambda name: None)
    for arguments in (["history", "list", "--history", place], [*COST, "--history", place]):
        out, err = answer(arguments, capsys, 4)
        assert "pip install 'gdnbench[history]'" in err
        assert not out


def test_a_command_keeps_its_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "runs")
    out, err = answer([*COST, "--json", "--history", place], capsys)
    counted = json.loads(out)
    assert "kept in the history" in err
    found = json.loads(answer(["history", "show", "00000001", "--history", place, "--json"], capsys)[0])
    after = {one["metric"]: one["value"] for one in found["points"] if one["variant"] == "pr51913.after"}
    row = next(row for row in counted["rows"] if row["variant"] == "pr51913.after")
    assert after["device_ops"] == row["device_ops"]
    assert found["verdict"] == counted["verdict"] == "improved"


def test_without_a_history_nothing_is_kept(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, err = answer(COST, capsys)
    assert not err
    assert not list(tmp_path.iterdir())


def test_a_history_that_cannot_be_written_is_said_before_anything_is_measured(tmp_path: Path, capsys) -> None:
    (tmp_path / "runs").write_text("a file")
    out, err = answer([*COST, "--history", str(tmp_path / "runs")], capsys, 4)
    assert not out
    assert "cannot write to the history" in err
    assert err.count("\n") == 1


def test_hostile_texts_stay_inert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "runs")
    hostile = point(1.0, series=series(variant="[red]x[/red]\x1b[31m", load="\x07"))
    history(place).record(run("a", hostile, variants={"a": "[bold]y\x1b[0m"}))
    for arguments in (["list"], ["show", "00000001"]):
        out, _ = answer(["history", *arguments, "--history", place], capsys)
        assert "\x1b" not in out and "\x07" not in out
    assert "[red]x[/red]" in out


def test_a_campaign_that_is_resumed_is_kept_once(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GDNBENCH_HISTORY", str(tmp_path / "runs"))
    sides = ["pr51913.before", "pr51913.after"]
    few = ["--scenario", "16q1s1k", "--launches", "2", "--rounds", "4", "--fail-on", "none", "--json"]
    out, first = answer(["step", *sides, *few], capsys)
    resume = ["step", "--resume", json.loads(out)["journal"], "--fail-on", "none", "--json"]
    _, again = answer(resume, capsys)
    assert first.startswith("kept in the history")
    assert again.startswith("in the history already")
    listed = json.loads(answer(["history", "list", "--json"], capsys)[0])["runs"]
    assert [(one["kind"], one["points"]) for one in listed] == [("step", 4)]


def test_evidence_keeps_each_level_as_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "runs")
    arguments = ["evidence", "41873", "--no-server", "--out", str(tmp_path / "reports"), "--history", place, "--json"]
    out, _ = answer([*arguments, "--fail-on", "none"], capsys)
    assert json.loads(out)["report"]
    listed = json.loads(answer(["history", "list", "--history", place, "--json"], capsys)[0])["runs"]
    assert {one["change"] for one in listed} == {41873}
    assert "cost" in {one["kind"] for one in listed}
