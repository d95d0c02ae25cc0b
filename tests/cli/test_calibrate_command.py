"""`gdnbench calibrate` as a person types it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gdnbench.campaign.recordings import load, save
from gdnbench.cli import app, exits
from recorded import recording


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "recording.json"
    save(recording(whole=2), path)
    return path


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--launches", "9"], "at least 10"),
        (["--launches", "0"], "--launches"),
        (["--whole", "-1"], "--whole"),
        (["--resume", "/nowhere"], "holds no campaign"),
        (["--resume", "/nowhere", "--launches", "20"], "leave --launches and --whole out"),
        (["--recording", "/nowhere.json"], "cannot read the recording /nowhere.json"),
        (["--recording", "/nowhere.json", "--save", "/tmp/x.json"], "leave the other options out"),
        (["--save", "/"], "name the file in it"),
    ],
)
def test_bad_usage_is_one_line_and_leaves_nothing_behind(
    arguments: list[str], says: str, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exits.run(app, ["calibrate", *arguments]) == 2
    told = capsys.readouterr()
    assert says in told.err and told.err.count("\n") == 1 and told.out == ""
    assert not cache.exists()


def test_a_recording_is_replayed(recorded: Path, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exits.run(app, ["calibrate", "--recording", str(recorded), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["campaigns"] == 1000 and found["launches_per_campaign"] == 10
    assert found["false_alarm_rate"] <= 0.01 and found["power"]["+2%"] >= 0.95
    assert found["seconds_per_campaign"] == 25.0
    assert found["whole"]["+2%"]["campaigns"] == 2
    assert not cache.exists(), "a replay measures nothing"
    assert exits.run(app, ["calibrate", "--recording", str(recorded)]) == 0
    assert "benchstat" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"schema":1', '"schema":2', "not a recording of schema 1"),
        ('"launches":[', '"launches":[[', "no JSON"),
        ('"log_ratio":', '"log_ratio":1e999,"x":', "the ratio is not a number"),
        ('"log_ratio":', '"log_ratio":1' + 400 * "0" + ',"x":', "damaged recording: OverflowError"),
        ('"metric":"host_time"', '"metric":"syncs"', "no step time"),
        ('"verdict":"same"', '"verdict":"fine"', "damaged recording: ValueError"),
        ('"a processor"', '"\\u001b[31m"', "not printable"),
    ],
)
def test_a_damaged_recording_is_one_line(
    recorded: Path, old: str, new: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = recorded.read_text()
    assert old in text
    recorded.write_text(text.replace(old, new))
    assert exits.run(app, ["calibrate", "--recording", str(recorded)]) == 2
    told = capsys.readouterr()
    assert says in told.err and told.err.count("\n") == 1 and told.out == ""


def test_an_interrupted_calibration_is_resumed_and_saved(cache: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gdnbench", "calibrate"]
    running = subprocess.Popen([*command, "--launches", "10"], stdout=-1, stderr=-1, text=True)
    wait_for(lambda: len(list(cache.glob("campaigns/*/launches/*.json"))) >= 1)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    (journal,) = (cache / "campaigns").glob("*")
    finished = sorted(journal.glob("launches/*.json"))
    assert running.returncode == 3 and out == ""
    assert f"after {len(finished)} of 10 launches; go on with gdnbench calibrate --resume {journal}" in err
    assert err.count("\n") == 1

    # The other launches but the last, as copies: ten real ones take too long here.
    first = json.loads(finished[0].read_text())
    for number in range(len(finished) + 1, 10):
        (journal / "launches" / f"{number:03}.json").write_text(json.dumps({**first, "number": number}))
    asked = [*command, "--resume", str(journal), "--save", str(tmp_path / "saved.json"), "--json"]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    found = json.loads(done.stdout)
    assert found["journal"] == str(journal) and found["recorded_launches"] == 10 and found["whole"] == {}
    assert found["seconds_per_campaign"] > 0
    saved = load(tmp_path / "saved.json")
    assert saved.launches[8] == saved.launches[0] != saved.launches[9]

    other = subprocess.run(
        [sys.executable, "-m", "gdnbench", "step", "--resume", str(journal)], capture_output=True, text=True
    )
    assert other.returncode == 2 and "gdnbench calibrate --resume" in other.stderr and other.stderr.count("\n") == 1


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert exits.run(app, ["calibrate", "--help"]) == 0
    assert "Example: gdnbench calibrate" in " ".join(capsys.readouterr().out.split())
