"""Whole campaigns in real processes, with few launches."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gdnbench.campaign.campaign import LaunchFailed, begin, run, typical_waits
from gdnbench.campaign.journal import Journal
from gdnbench.campaign.judged import judge_campaign
from gdnbench.campaign.plan import Plan, compare
from gdnbench.values.errors import UserError
from gdnbench.values.variants import parse
from gdnbench.values.verdicts import Verdict

Checkout = Callable[..., str]


def plan(before: str, after: str, *scenarios: str, launches: int = 1, rounds: int = 20) -> Plan:
    names = scenarios or ("16q1s1k",)
    return compare(parse(before), parse(after), names, launches=launches, rounds=rounds, steps=5, warmup=1)


def test_a_campaign_measures_both_sides_and_the_control(tmp_path: Path) -> None:
    seen: list[int] = []
    asked = plan("pr51913.after", "pr51913.after+100%", "16q1s1k", "16q1s1k/capture", launches=2)
    launches = run(begin(asked, tmp_path), seen.append)
    assert seen == [0, 1, 2]
    assert [launch.number for launch in launches] == [1, 2]
    assert launches[0].created == launches[1].created[::-1]
    assert set(launches[0].refused) == {"16q1s1k/capture"}
    assert not launches[0].unequal
    for launch in launches:
        (measured,) = launch.measured
        assert (measured.scenario, measured.metric) == ("16q1s1k", "host_time")
        assert {len(blocks) for blocks in measured.blocks_us.values()} == {20}
        assert 1.6 < math.exp(measured.log_ratios["after"]) < 2.4, "a handicap of 100 % doubles the step"
        assert 0.8 < math.exp(measured.log_ratios["control"]) < 1.25
        (environment,) = launch.environment.values()
        assert environment["threads"] == 1
    assert not list(tmp_path.rglob("*.log")), "a log is kept where there is something to tell"


def test_what_is_finished_is_not_run_again(tmp_path: Path) -> None:
    asked = plan("pr51913.before", "pr51913.after", launches=2, rounds=3)
    journal = begin(asked, tmp_path)
    first, second = run(journal)
    (tmp_path / "launches" / "002.json").unlink()
    kept, anew = run(Journal.open(tmp_path))
    assert kept == first
    assert anew.number == 2 and anew.measured != second.measured


def test_a_part_that_meets_no_scenario_says_why(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="it is a capture, not a step") as caught:
        run(begin(plan("pr51913.before", "pr51913.after", "16q1s1k/capture"), tmp_path))
    assert caught.value.exit_code == 2


def test_two_vllms_take_turns_in_processes_of_their_own(tmp_path: Path, checkout: Checkout) -> None:
    slow = "import time; time.sleep(100e-6)"
    asked = plan(checkout("a"), checkout("b", slow))
    assert not asked.shares_process
    (launch,) = run(begin(asked, tmp_path / "campaign"))
    (measured,) = launch.measured
    assert measured.medians_us["after"] > measured.medians_us["before"] + 50
    assert len(launch.environment) == 3, "each side has a process"
    assert {tuple(own["affinity"]) for own in launch.environment.values()} == {(asked.core,)}


def test_one_vllm_and_ours_share_its_process(tmp_path: Path, checkout: Checkout) -> None:
    asked = plan(checkout("a"), "pr51913.after", rounds=3)
    (launch,) = run(begin(asked, tmp_path / "campaign"))
    (environment,) = launch.environment.values()
    assert environment["vllm"] == "0.0.0"
    assert not launch.unequal


def test_unequal_metadata_is_seen(tmp_path: Path, checkout: Checkout) -> None:
    wrong = "common = common.replace(num_actual_tokens=common.num_actual_tokens - 1)"
    asked = plan(checkout("a", wrong), "pr51913.after", rounds=3)
    launches = run(begin(asked, tmp_path / "campaign"))
    assert "num_actual_tokens" in launches[0].unequal["16q1s1k"]["after"]
    judged = judge_campaign(asked, launches)
    assert judged.result.rows[0].judgement.verdict is not Verdict.INVALID, "nothing promises that these two agree"
    assert "unequal" in {caveat.code for caveat in judged.warnings}
    ours = judge_campaign(replace(asked, sides=dict.fromkeys(asked.sides, "pr51913.after")), launches)
    assert ours.result.verdict is Verdict.INVALID
    assert "num_actual_tokens" in ours.result.rows[0].judgement.reason


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("import os; os.kill(os.getpid(), 9)", "launch 1 died (signal 9)"),
        ("raise KeyError('lost')", "launch 1 failed (KeyError"),
        ("import time; time.sleep(3600)", "launch 1 hung"),
    ],
)
def test_a_launch_that_dies_or_hangs_is_one_line_with_its_log(
    tmp_path: Path, checkout: Checkout, statement: str, says: str
) -> None:
    journal = begin(plan(checkout("a", statement), "pr51913.after"), tmp_path / "campaign")
    with pytest.raises(LaunchFailed) as caught:
        run(journal, timeout_s=5 if "hung" in says else 120)
    message = str(caught.value)
    assert says in message and "\n" not in message
    assert (tmp_path / "campaign" / "launches" / "001.log").exists() and "001.log" in message
    assert journal.missing() == (1,) and not running_in(tmp_path)


def test_a_host_that_dies_is_one_line(tmp_path: Path, checkout: Checkout) -> None:
    asked = plan(checkout("a"), checkout("b", "import os; os.kill(os.getpid(), 9)"))
    with pytest.raises(LaunchFailed, match=r"a host process ended with status -9.*001\.log"):
        run(begin(asked, tmp_path / "campaign"))
    assert not running_in(tmp_path)


def test_when_the_campaign_is_killed_its_launches_end(tmp_path: Path, checkout: Checkout) -> None:
    sides = checkout("a", "import time; time.sleep(3600)"), checkout("b", "import time; time.sleep(3600)")
    command = [sys.executable, "-m", "gdnbench", "step", *sides, "--scenario", "16q1s1k"]
    campaign = subprocess.Popen(command)
    wait_until(lambda: len(running_in(tmp_path)) >= 3 + 1)
    campaign.kill()
    campaign.wait()
    wait_until(lambda: not running_in(tmp_path))


def running_in(directory: Path) -> list[int]:
    """Processes that name a directory in their command line or environment, this one left out."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                told = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            except OSError:
                continue
            if str(directory).encode() in told:
                found.append(int(process.name))
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def test_busy_waits_are_those_that_a_typical_process_finds() -> None:
    sized = [{"after": {"16q1s1k": loops, "q2k": 10 * loops}} for loops in (58, 16, 61)]
    assert typical_waits(sized) == {"after": {"16q1s1k": 58, "q2k": 580}}
