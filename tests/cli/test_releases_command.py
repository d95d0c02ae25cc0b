"""`gdnbench releases`: what it measures, and what it tells of a history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gdnbench.campaign.chain import chain, judge_chain
from gdnbench.cli import app, exits
from gdnbench.history.of_chain import chain_run
from gdnbench.nightly.releases import SCENARIOS, plan_of_releases, releases_between
from gdnbench.oracle.wheels import known_releases
from gdnbench.values import scenarios
from gdnbench.values.errors import UserError
from kept import history
from made_chains import launches

RELEASES = ("0.29.0", "0.30.0", "0.31.0")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("GDNBENCH_HISTORY", raising=False)
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path / "cache"))
    plan = chain([f"vllm@{release}" for release in RELEASES], ("16q1s1k", "q2k"), launches=10)
    factors = {"vllm@0.31.0": {"16q1s1k": 2.7}}
    history(tmp_path / "runs").record(chain_run(judge_chain(plan, launches(plan, factors))))
    return str(tmp_path / "runs")


def test_what_a_history_knows(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exits.run(app, ["releases", "--no-measure", "--history", place]) == 0
    out, _ = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "0.29.0 to 0.31.0: 1 of 4 steps from one release to the next changed the time of a build"
    assert lines[1].split() == ["release", "decode:", "16q1s1k", "prefill:", "q2k"]
    assert lines[2].startswith("0.30.0") and "(+0." in lines[2]
    assert "+170" in lines[3] and "(+170" not in lines[3]
    assert lines[4].startswith("0.29.0 to 0.31.0")
    assert "0.30.0 -> 0.31.0: decode (16q1s1k): +170" in out
    assert "Measured on 2 cores of A Processor" in out


def test_the_same_as_json_and_for_a_page(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exits.run(app, ["releases", "--no-measure", "--history", place, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    decode = next(load for load in found["loads"] if load["scenario"] == "16q1s1k")
    assert [step["shift"] for step in decode["steps"]] == [False, True]
    assert exits.run(app, ["releases", "--no-measure", "--history", place, "--markdown"]) == 0
    out, _ = capsys.readouterr()
    assert out.startswith("| release | decode: 16q1s1k | prefill: q2k |\n| --- | ---: | ---: |\n| 0.30.0 | (")
    assert "\n\nStep time against the release before" in out and "Exact costs" not in out


def test_an_empty_history_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert exits.run(app, ["releases", "--no-measure", "--history", f"{tmp_path}/empty"]) == 2
    assert "knows nothing of releases: measure them first" in capsys.readouterr().err


def test_without_the_environment_it_says_what_to_install(place: str, capsys, monkeypatch) -> None:
    monkeypatch.setenv("GDNBENCH_VLLM_PYTHON", "/nowhere/python")
    assert exits.run(app, ["releases", "--history", place]) == 4
    assert "which is no interpreter" in capsys.readouterr().err


def test_which_releases_are_meant() -> None:
    assert releases_between("0.30.0", None)[0] == "0.30.0"
    assert releases_between("0.20.0", None)[-1] == known_releases()[-1]
    assert releases_between("0.29.0", "0.31.0") == RELEASES
    assert releases_between("0.31.0", "9.0.0")[-1] == "9.0.0", "newer than the table"
    for first, last in (("0.31.0", "0.31.0"), ("0.31.0", "0.29.0")):
        with pytest.raises(UserError, match="two releases are needed"):
            releases_between(first, last)
    with pytest.raises(UserError, match="a release is written"):
        releases_between("0.31", None)


def test_one_or_two_steps_of_each_kind() -> None:
    kinds = [scenarios.parse(name).kind for name in SCENARIOS]
    assert sorted(set(kinds)) == ["decode", "mixed", "prefill", "speculative", "speculative mixed"]


def test_each_pair_is_counted_and_all_are_timed_as_one_chain() -> None:
    found = plan_of_releases(RELEASES, ("16q1s1k",))
    assert [(part.kind, part.before, part.after) for part in found.parts] == [
        ("cost", "vllm@0.29.0", "vllm@0.30.0"),
        ("cost", "vllm@0.30.0", "vllm@0.31.0"),
        ("step", "vllm@0.29.0", "vllm@0.31.0"),
    ]
    assert not found.fail_on


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_the_step_of_0_31_0_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On decode it costs half as much again at least; the same command a second time measures nothing."""
    words = ["releases", "--from", "0.30.0", "--to", "0.31.0", "--scenario", "16q1s1k", "--launches", "6"]
    words += ["--history", f"{tmp_path}/runs", "--json"]
    assert exits.run(app, words) == 0
    out, _ = capsys.readouterr()
    (load,) = json.loads(out)["loads"]
    (step,) = load["steps"]
    assert step["shift"] and step["verdict"] == "regressed" and step["ratio"] > 1.5
    assert step["ci"][0] <= step["ratio"] <= step["ci"][1]
    assert load["counts"]["host_ops"] == {"0.30.0": 0, "0.31.0": 11}
    kept = sorted((tmp_path / "runs").iterdir())
    assert exits.run(app, words) == 0
    _, err = capsys.readouterr()
    assert err.count("skipped ") == 2 and sorted((tmp_path / "runs").iterdir()) == kept
