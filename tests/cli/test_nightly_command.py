"""`gdnbench nightly` as a person, a timer or CI types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gdnbench.cli import app, exits
from kept import history

COSTS = '[[cost]]\nchanges = [51913, 51565]\nscenarios = ["16q1s1k"]\n'


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GDNBENCH_HISTORY", raising=False)
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path / "cache"))


def nightly(tmp_path: Path, text: str, *more: str) -> int:
    (tmp_path / "plan.toml").write_text(text)
    return exits.run(app, ["nightly", "--plan", f"{tmp_path}/plan.toml", "--history", f"{tmp_path}/runs", *more])


def test_a_night_of_exact_costs_and_the_one_after_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert nightly(tmp_path, COSTS + 'expect = "regressed"') == 0
    out, err = capsys.readouterr()
    assert out.startswith("2 measured in ")
    assert "alerts: none" in out
    assert err.splitlines()[0].startswith("1 of 2: cost pr51913.before -> pr51913.after 16q1s1k, about ")
    kept = history(tmp_path / "runs").listing().runs
    assert [one.identity.change for one in kept] == [51913, 51565]
    assert nightly(tmp_path, COSTS + 'expect = "regressed"', "--json") == 0
    out, _ = capsys.readouterr()
    assert json.loads(out)["measuring"]["skipped"] == 2
    assert len(history(tmp_path / "runs").listing().runs) == 2


def test_a_red_night_still_leaves_data(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDNBENCH_VLLM_PYTHON", sys.executable)
    text = COSTS + '[[cost]]\ncompare = [["path:/nowhere", "limit"]]\n'
    assert nightly(tmp_path, text, "--fail-on", "improved", "--json") == 1, "an alert"
    found = json.loads(capsys.readouterr().out)
    assert [one["state"] for one in found["measuring"]["parts"]] == ["measured", "measured", "failed"]
    assert "no vLLM checkout there" in found["measuring"]["parts"][2]["why"]
    assert [one["part"] for one in found["alerting"]["alerts"]] == ["cost pr51913.before -> pr51913.after 16q1s1k"]
    assert len(history(tmp_path / "runs").listing().runs) == 2
    assert nightly(tmp_path, text, "--fail-on", "none") == 4, "what could not be measured, after everything else"
    out, _ = capsys.readouterr()
    assert "2 skipped, 1 failed in " in out
    assert "Next: mend what could not be measured: cost path:/nowhere -> limit" in out


def test_what_does_not_fit_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert nightly(tmp_path, COSTS + "minutes = 30", "--budget", "10m") == 0
    out, _ = capsys.readouterr()
    assert out.startswith("2 left out in 0.0 of 10 minutes")
    assert "it takes about 30.0 min, and 10.0 min were left" in out


@pytest.mark.parametrize(
    "more, line",
    [
        (["--budget", "25"], "--budget 25: a time such as 25m"),
        (["--fail-on", "worse"], "--fail-on: 'worse' is no verdict"),
        (["--plan", "nowhere.toml"], "--plan nowhere.toml: there is no such file"),
    ],
)
def test_bad_usage_is_one_line(tmp_path: Path, capsys, more: list[str], line: str) -> None:
    assert exits.run(app, ["nightly", "--history", f"{tmp_path}/runs", *more]) == 2
    _, err = capsys.readouterr()
    assert line in err and err.count("\n") == 1


def test_a_history_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert exits.run(app, ["nightly"]) == 2
    assert "no history is named" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_stops_a_night_and_the_same_command_goes_on(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("""
        [[cost]]
        changes = [51913]
        scenarios = ["16q1s1k"]
        [[step]]
        changes = [51913]
        scenarios = ["16q1s1k"]
        launches = 3
        rounds = 50
        """)
    words = [sys.executable, "-m", "gdnbench", "nightly", "--plan", "plan.toml", "--history", "runs", "--json"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    launches = tmp_path / "cache" / "campaigns"
    with subprocess.Popen(
        words, cwd=tmp_path, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as night:
        deadline = time.monotonic() + 120
        while not list(launches.glob("night-step-*/launches/001.json")) and time.monotonic() < deadline:
            time.sleep(0.1)
        night.send_signal(signal.SIGINT)
        out, err = night.communicate(timeout=60)
    assert night.returncode == 3, err
    assert [one["state"] for one in json.loads(out)["measuring"]["parts"]] == ["measured", "interrupted"]
    done = subprocess.run(words, cwd=tmp_path, env=env, text=True, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert [one["state"] for one in json.loads(done.stdout)["measuring"]["parts"]] == ["skipped", "measured"]
    assert len(list(launches.glob("night-step-*"))) == 1, "the campaign was gone on with"
    assert len(history(tmp_path / "runs").listing().runs) == 2


@pytest.mark.thorough
@pytest.mark.timeout(1500)
def test_a_small_night_at_every_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Real servers and lm-eval, as few launches as there can be; a verdict is not to be had from so little."""
    status = nightly(
        tmp_path,
        """
        [[cost]]
        changes = [51913]
        [[step]]
        changes = [51913]
        launches = 2
        [[serve]]
        changes = [51913]
        concurrency = [1]
        launches = 1
        rounds = 4
        [[accuracy]]
        changes = [51913]
        limit = 20
        """,
        "--fail-on",
        "regressed",
        "--json",
    )
    found = json.loads(capsys.readouterr().out)
    assert [one["state"] for one in found["measuring"]["parts"]] == ["measured"] * 4, found
    assert status == 0
    assert [one.identity.kind for one in history(tmp_path / "runs").listing().runs] == [
        "cost",
        "step",
        "serve",
        "accuracy",
    ]
