"""The process of one launch, as a campaign starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from gdnbench.campaign.launch import summarise
from gdnbench.campaign.plan import compare
from gdnbench.campaign.records import LaunchRecord
from gdnbench.values.variants import parse


def start(plan: dict[str, Any], number: int = 1) -> tuple[int, dict[str, Any]]:
    request = json.dumps({"plan": plan, "number": number, "waits": {}})
    command = [sys.executable, "-m", "gdnbench.campaign.launch"]
    done = subprocess.run(command, input=request, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


def test_it_answers_with_one_record() -> None:
    sides = parse("pr51913.before"), parse("pr51913.after")
    asked = compare(*sides, ["16q1s1k", "q2k"], rounds=3, steps=5, warmup=1)
    status, answer = start(asked.to_json(), number=3)
    record = LaunchRecord.from_json(answer)
    assert status == 0
    assert (record.number, [one.scenario for one in record.measured]) == (3, ["16q1s1k", "q2k"])
    assert all(us > 0 for one in record.measured for blocks in one.blocks_us.values() for us in blocks)


def test_what_is_wrong_with_the_plan_is_an_answer() -> None:
    status, answer = start({"schema": 0})
    assert status == 1
    assert answer["exit_code"] == 2 and "schema" in answer["error"]


def test_a_launch_is_the_median_of_its_rounds() -> None:
    blocks = {"before": [10.0, 20.0, 10.0], "after": [11.0, 22.0, 30.0], "control": [10.0, 20.0, 10.0]}
    found = summarise("16q1s1k", "host_time", 5, blocks)
    assert found.log_ratios["after"] == pytest.approx(0.09531, abs=1e-5)
    assert found.log_ratios["control"] == 0
    assert found.medians_us == {"before": 10.0, "after": 22.0, "control": 10.0}
