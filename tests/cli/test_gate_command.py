"""`gdnbench gate` as a person types it, with baselines in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gates import run
from gdnbench.cli import app, exits
from gdnbench.gate.counting import count_run, select
from gdnbench.gate.runs import save

SCOPE = ["--variant", "pr51913.after", "--scenario", "16q1s1k"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--baseline REF or FILE compares, --save FILE writes one"),
        (["--baseline", "/nowhere.json"], "neither a file nor a commit"),
        (["--save", "x.json", "--variant", "pr51913.aftr"], "did you mean pr51913.after?"),
        (["--save", "x.json", "--variant", "pr51913.after+2%"], "no handicap"),
        (["--save", "x.json", "--variant", "fault:rotated-states"], "no fault"),
        (["--save", "x.json", "--variant", "pr51913.after", "--part", "bild"], "did you mean build?"),
        (["--save", "x.json", "--part", "bild"], "did you mean build?"),
        (["--save", "x.json", "--variant", "pr51913.after", "--scenario", "16q1s1k/capture"], "nothing to save"),
        (["--save", "x.json", "--scenario", "16z"], "cannot read '16z'"),
        (["--save", "x.json", "--fail-on", "slower"], "'slower' is no verdict"),
        (["--save", "x.json", "--junit", "x.xml"], "name a --baseline"),
        (["--save", "x.json", "--device", "tpu"], "there are cpu and cuda"),
        (["--save", "x.json", "--step", "pr51913.after+2%"], "no handicap"),
        (["--save", "/dev/null"], "never overwritten"),
    ],
)
def test_what_cannot_be_is_one_line(arguments, says, capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert exits.run(app, ["gate", *arguments]) == 2
    out, err = capsys.readouterr()
    assert says in err
    assert err.count("\n") == 1
    assert not out
    assert list(tmp_path.iterdir()) == []


def test_what_was_saved_is_held_against_now(tmp_path: Path, capsys) -> None:
    base, again = tmp_path / "base.json", tmp_path / "again.json"
    assert exits.run(app, ["gate", "--save", str(base), *SCOPE]) == 0
    assert capsys.readouterr().out.startswith("1 exact costs; ")
    assert exits.run(app, ["gate", "--baseline", str(base), "--save", str(again), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["headline"] == "same: 1 vs 1 rows; 1 compared"
    assert found["saved"] == str(again)
    assert json.loads(again.read_text())["costs"] == json.loads(base.read_text())["costs"]


@pytest.fixture
def regressed(tmp_path: Path) -> str:
    """A baseline that was cheaper: of 16q1s1k, no device operation at all."""
    path = tmp_path / "cheaper.json"
    save(run({"16q1s1k": {"device_ops": 0}}, torch=count_run(select(*[None] * 2, ["q128"])).identity.torch), path)
    return str(path)


def test_verdicts_give_the_exit_code_that_fail_on_says(regressed: str, capsys) -> None:
    for fail_on, status in (("regressed", 1), ("invalid,unknown", 0), ("none", 0)):
        assert exits.run(app, ["gate", "--baseline", regressed, *SCOPE, "--fail-on", fail_on]) == status
        assert capsys.readouterr().out.startswith("regressed: 1 vs 1 rows; 1 compared, 1 regressed")


def test_json_stays_one_object_beside_annotations(regressed: str, capsys, tmp_path: Path) -> None:
    arguments = ["gate", "--baseline", regressed, *SCOPE, "--json", "--annotations", "--junit", str(tmp_path / "x.xml")]
    assert exits.run(app, arguments) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["rows"][0]["verdict"] == "regressed"
    assert err.startswith("::error file=gdn_impl/pr51913.py,")
    assert "<failure " in (tmp_path / "x.xml").read_text()


def test_another_torch_is_invalid(tmp_path: Path, capsys) -> None:
    save(run({"16q1s1k": {}}, torch="1.0"), tmp_path / "old.json")
    assert exits.run(app, ["gate", "--baseline", str(tmp_path / "old.json"), *SCOPE, "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["verdict"] == "invalid"
    assert "torch 1.0" in row["reason"]


def test_help_shows_examples(capsys) -> None:
    assert exits.run(app, ["gate", "--help"]) == 0
    assert "gdnbench gate --baseline origin/main" in " ".join(capsys.readouterr().out.split())
