"""`gdnbench step` as a person types it; what takes launches runs few and short ones."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gdnbench.cli import app, exits

QUICK = ["--scenario", "16q1s1k", "--rounds", "10"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path))
    return tmp_path


def gdnbench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "gdnbench", *arguments], capture_output=True, text=True)


def campaigns(cache: Path) -> list[Path]:
    return sorted((cache / "campaigns").glob("*"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "two variants are needed"),
        (["pr51913.before"], "two variants are needed"),
        (["pr51913.before", "pr51913.aftr"], "did you mean pr51913.after?"),
        (["pr51913.before", "pr51913.after", "--scenario", "16q1s1kk"], "16q1s1kk"),
        (["pr51913.before", "pr51913.after", "--part", "biuld"], "did you mean build?"),
        (["pr51913.before", "pr51913.after", "--device", "tpu"], "there are cpu and cuda"),
        (["pr51913.before", "pr51913.after", "--launches", "0"], "--launches"),
        (["pr51913.before", "pr51913.after", "--fail-on", "worse"], "'worse' is no verdict"),
        (["pr51913.before", "pr51913.after", "extra"], "unexpected extra argument"),
        (["--resume", "/nowhere"], "holds no campaign"),
        (["path:/nowhere", "pr51913.after"], "no vLLM"),
    ],
)
def test_bad_usage_is_one_line_and_leaves_nothing_behind(
    arguments: list[str], says: str, cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GDNBENCH_VLLM_PYTHON", sys.executable)
    assert exits.run(app, ["step", *arguments]) == 2
    told = capsys.readouterr()
    assert says in told.err and told.err.count("\n") == 1 and told.out == ""
    assert campaigns(cache) == []


def test_a_release_without_its_environment_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GDNBENCH_VLLM_PYTHON", "/nowhere/python")
    assert exits.run(app, ["step", "vllm@0.29.0", "pr51913.after"]) == 4
    assert "/nowhere/python" in capsys.readouterr().err


def test_a_cache_that_cannot_be_written_is_one_line(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "file").touch()
    monkeypatch.setenv("GDNBENCH_CACHE", str(cache / "file"))
    assert exits.run(app, ["step", "pr51913.before", "pr51913.after"]) == 4
    assert "cannot write" in capsys.readouterr().err


def test_json_is_one_object_and_nothing_else(cache: Path) -> None:
    done = gdnbench("step", "pr51913.after", "pr51913.after+100%", *QUICK, "--launches", "6", "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == 1, "a handicap of 100 % is a regression"
    (row,) = found["rows"]
    assert (row["scenario"], row["part"], row["metric"], row["unit"]) == ("16q1s1k", "build", "host_time", "us")
    assert row["verdict"] == "regressed" and row["launches"] == 6 and 1.5 < row["ratio"] < 2.5
    assert found["control"].keys() == row.keys()
    assert done.stderr == "", "no progress bar where there is no terminal"
    (journal,) = campaigns(cache)
    assert found["journal"] == str(journal)
    assert found["environment"]

    again = gdnbench("step", "--resume", str(journal), "--fail-on", "none")
    assert again.returncode == 0
    headline, *_, after = again.stdout.strip().splitlines()
    assert headline.startswith("regressed: pr51913.after -> pr51913.after+100% on 16q1s1k")
    assert after.startswith("Next: ")

    other = gdnbench("step", "pr51913.before", "pr51913.after", "--resume", str(journal))
    assert other.returncode == 2 and "pr51913.after as its before side" in other.stderr
    more = gdnbench("step", "--resume", str(journal), "--launches", "9")
    assert more.returncode == 2 and more.stderr.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_campaign_can_be_resumed(cache: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "gdnbench", "step", "pr51913.before", "pr51913.after", *QUICK, "--launches", "3"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len(list(cache.glob("campaigns/*/launches/*.json"))) >= 1)
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    (journal,) = campaigns(cache)
    finished = {path.name: path.read_bytes() for path in journal.glob("launches/*.json")}
    assert running.returncode == 3 and out == ""
    assert f"after {len(finished)} of 3 launches" in err and f"--resume {journal}" in err and err.count("\n") == 1
    assert not list(journal.rglob("*.aside"))

    done = gdnbench("step", "--resume", str(journal), "--json")
    assert len(list(journal.glob("launches/*.json"))) == 3
    assert json.loads(done.stdout)["rows"][0]["launches"] == 3
    for name, content in finished.items():
        assert (journal / "launches" / name).read_bytes() == content


def wait_for(condition: Any, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
