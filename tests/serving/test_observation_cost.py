"""What watching costs: observed steps against their neighbours."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from gdnbench.report.observation import headline, print_observation
from gdnbench.serving.judging.observation import judge_observation
from gdnbench.serving.planning import plan_serve
from gdnbench.serving.records import ServeLaunch
from gdnbench.values.errors import UserError
from gdnbench.values.verdicts import Verdict
from served import campaign, plan

ASKED = plan_serve("vllm@0.29.0", "vllm@0.29.0", concurrency=[1], observation=True)


def launches(cost: float, count: int = 6, steps: int = 40) -> list[ServeLaunch]:
    """Launches in which an observed step takes `cost` times as long, at another pace in each launch and block."""
    found = []
    for number, launch in enumerate(campaign(plan())[:count], 1):
        blocks = []
        for at, block in enumerate(launch.blocks[:6]):
            step = 5_000_000 * (1 + 0.1 * math.sin(number + at))
            places = [math.log(step * cost), math.log(step) + 1e-4 * (-1) ** number, math.log(step)]
            blocks.append(replace(block, phases=tuple((steps, steps * place) for place in places)))
        found.append(replace(launch, number=number, blocks=tuple(blocks)))
    return found


def test_one_side_is_asked_about() -> None:
    assert dict(ASKED.sides) == {"before": "vllm@0.29.0"}
    assert ASKED.observation


@pytest.mark.parametrize(
    ("cost", "verdict"), [(1.002, Verdict.SAME), (1.02, Verdict.REGRESSED), (0.98, Verdict.IMPROVED)]
)
def test_half_a_percent_decides(cost: float, verdict: Verdict) -> None:
    found = judge_observation(ASKED, launches(cost))
    assert found.judgement.verdict is verdict
    assert found.judgement.ratio == pytest.approx(cost, abs=1e-4)
    assert found.control.verdict is Verdict.SAME
    assert found.steps == 6 * 6 * 3 * 40
    assert found.observed_us / found.unobserved_us == pytest.approx(cost, abs=1e-3)


def test_a_campaign_without_turns_is_refused() -> None:
    with pytest.raises(UserError, match="no campaign of --observation"):
        judge_observation(ASKED, campaign(plan()))


def test_it_is_told_with_two_decimals(tmp_path, capsys) -> None:
    found = judge_observation(ASKED, launches(1.002))
    assert headline(found).startswith("same: observing builds changes a step by +0.20 %")
    print_observation(ASKED, found, tmp_path, as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert data["metric"] == "engine_step"
    assert data["ci"][1] < 1.005
    print_observation(ASKED, found, tmp_path, as_json=False)
    assert "every third observed" in capsys.readouterr().out
