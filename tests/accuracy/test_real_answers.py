"""`gdnbench accuracy` with real lm-eval on real vLLM: verdicts, a fault, an interruption, gsm8k's own format."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gdnbench.accuracy.lm_eval import installed
from gdnbench.values.errors import EnvironmentMissing
from gdnbench.workloads.manifests import manifest

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def environment() -> None:
    try:
        installed()
    except EnvironmentMissing as missing:
        pytest.skip(str(missing))


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gdnbench", "accuracy", *arguments]


def told(*arguments: str, status: int) -> dict[str, Any]:
    done = subprocess.run(command(*arguments, "--json"), capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr or done.stdout[:2000]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_fault_is_found_and_its_folders_are_judged_again(tmp_path: Path) -> None:
    found = told("pr52078.after", "fault:rotated-states", "--limit", "32", "--speculative", "none", status=1)
    strict, flexible = found["rows"]
    assert (strict["filter"], strict["documents"], strict["verdict"]) == ("strict-match", 32, "regressed")
    assert strict["before"] > 0.6 > strict["after"]
    assert strict["control"]["lost"] + strict["control"]["gained"] <= 4
    assert strict["lost"] > 12
    assert len(found["flips"]) == strict["lost"] + strict["gained"] + flexible["lost"] + flexible["gained"]
    assert found["coverage"]["ran"]["after"] > 100
    assert not found["invalid"]
    assert any(caveat["code"] == "state-lost" and caveat["message"].startswith("after") for caveat in found["warnings"])
    assert not any(caveat["message"].startswith(("before", "control")) for caveat in found["warnings"])

    runs = Path(found["journal"]) / "runs"
    before, after = (str(runs / f"00{number}" / "output") for number in (1, 2))
    again = told("--from", before, after, status=1)
    assert again["rows"][0]["lost"] == strict["lost"]
    assert again["rows"][0]["control"] is None


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_sound_sides_with_drafts_go_on_after_an_interruption(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    shared = Path(os.environ.get("GDNBENCH_CACHE", Path.home() / ".cache" / "gdnbench"))
    for name in ("releases", "wheels"):
        if (shared / name).exists():
            (cache / name).symlink_to(shared / name)
    env = os.environ | {"GDNBENCH_CACHE": str(cache)}
    asked = ["pr52078.before", "pr52078.after", "--limit", "24"]
    running = subprocess.Popen(command(*asked), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while not list(cache.glob("campaigns/*/launches/001.json")):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 3
    assert "interrupted after 1 of 3 launches" in errors
    (journal,) = (cache / "campaigns").iterdir()
    assert str(journal) in errors

    kept = (journal / "launches" / "001.json").stat().st_mtime_ns
    done = subprocess.run(
        command("--resume", str(journal), "--json"), env=env, capture_output=True, text=True, check=False
    )
    found = json.loads(done.stdout)
    assert (journal / "launches" / "001.json").stat().st_mtime_ns == kept
    assert found["verdict"] in ("same", "unknown")
    assert found["coverage"]["ran"]["before"] > 0
    assert found["identity"]["speculative"]["method"] == "mtp"
    assert not any(caveat["code"] == "state-lost" for caveat in found["warnings"])


@pytest.mark.thorough
def test_code_that_never_ran_is_invalid() -> None:
    found = told("pr52078.before", "pr52078.after", "--limit", "8", "--speculative", "none", status=1)
    assert found["verdict"] == "invalid"
    assert "never ran" in found["invalid"][0]["message"]


@pytest.mark.thorough
def test_gsm8k_with_examples_from_a_local_copy(tmp_path: Path) -> None:
    problems = manifest("word-problems").files[0].path.read_text().splitlines()
    (tmp_path / "test.jsonl").write_text("\n".join(problems[:12]) + "\n")
    (tmp_path / "train.jsonl").write_text("\n".join(problems[100:140]) + "\n")
    found = told(
        *("pr51913.before", "pr51913.after", "--task", "gsm8k", "--data", str(tmp_path), "--limit", "10"), status=0
    )
    assert found["task"] == "gsm8k-local"
    assert found["identity"]["n_shot"] == 5
    assert found["rows"][0]["documents"] == 10
    assert found["verdict"] == "unknown"


@pytest.mark.thorough
def test_lm_evals_own_engine_answers_alike() -> None:
    found = told("pr52078.before", "pr52078.after", "--limit", "24", "--backend", "vllm", status=0)
    assert found["identity"]["backend"] == "vllm"
    assert found["rows"][0]["before"] > 0.6
    assert found["coverage"]["ran"]["after"] > 0
