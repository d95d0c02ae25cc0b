"""Campaigns at full length: minutes each."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gdnbench.campaign.campaign import begin, run
from gdnbench.campaign.judged import JudgedCampaign, judge_campaign
from gdnbench.campaign.plan import compare
from gdnbench.oracle.environment import release_python
from gdnbench.values.errors import EnvironmentMissing
from gdnbench.values.variants import parse
from gdnbench.values.verdicts import Verdict

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def campaign(directory: Path, before: str, after: str, launches: int = 10, **rest: bool) -> JudgedCampaign:
    plan = compare(parse(before), parse(after), ["16q1s1k"], launches=launches, **rest)
    return judge_campaign(plan, run(begin(plan, directory)))


def ratio(judged: JudgedCampaign) -> float:
    (row,) = judged.result.rows
    assert row.judgement.ratio is not None
    return row.judgement.ratio


@pytest.mark.parametrize(
    ("before", "after", "verdicts"),
    [
        ("pr51913.before", "pr51913.after", {Verdict.IMPROVED}),
        ("pr51913.after", "pr51913.after", {Verdict.SAME, Verdict.UNKNOWN}),
        ("pr51913.after", "pr51913.after+2%", {Verdict.REGRESSED}),
    ],
)
def test_what_is_known_is_found(tmp_path: Path, before: str, after: str, verdicts: set[Verdict]) -> None:
    judged = campaign(tmp_path, before, after)
    assert judged.result.verdict in verdicts
    assert judged.result.control is not None
    assert judged.result.control.judgement.verdict in {Verdict.SAME, Verdict.UNKNOWN}


@pytest.mark.thorough
def test_one_process_and_three_in_turns_agree(tmp_path: Path) -> None:
    together = campaign(tmp_path / "together", "pr51913.before", "pr51913.after")
    apart = campaign(tmp_path / "apart", "pr51913.before", "pr51913.after", apart=True)
    assert together.result.verdict is apart.result.verdict is Verdict.IMPROVED
    assert math.log(ratio(together)) == pytest.approx(math.log(ratio(apart)), abs=0.04)


@pytest.mark.thorough
def test_two_releases_with_a_fourfold_rise_between_them(tmp_path: Path) -> None:
    try:
        release_python()
    except EnvironmentMissing as error:
        pytest.skip(str(error))
    judged = campaign(tmp_path, "vllm@0.30.0", "vllm@0.31.0", launches=6)
    assert judged.result.verdict is Verdict.REGRESSED
    assert ratio(judged) > 2.5
