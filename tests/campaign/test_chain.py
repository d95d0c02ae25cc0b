"""Chains: releases that take turns, each held against the one before it."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gdnbench.campaign import chain as chains
from gdnbench.campaign.campaign import begin, run
from gdnbench.campaign.chain import chain, check_memory, judge_chain
from gdnbench.campaign.plan import Plan
from gdnbench.campaign.records import LaunchRecord
from gdnbench.campaign.turns import creation
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.verdicts import Verdict
from made_chains import launches

RELEASES = ("vllm@0.29.0", "vllm@0.30.0", "vllm@0.31.0")


def test_each_release_is_held_against_the_one_before_it() -> None:
    plan = chain(RELEASES, ("16q1s1k", "q2k"))
    assert plan.sides == {
        "before": "vllm@0.29.0",
        "control": "vllm@0.29.0",
        "vllm@0.30.0": "vllm@0.30.0",
        "vllm@0.31.0": "vllm@0.31.0",
    }
    assert [plan.base(role) for role in plan.sides][2:] == ["before", "vllm@0.30.0"]
    assert plan.launches >= 10 and not plan.shares_process
    assert Plan.from_json({**plan.to_json(), "scenarios": list(plan.scenarios)}) == plan


@pytest.mark.parametrize("variants", [RELEASES[:1], (RELEASES[0], RELEASES[1], RELEASES[0])])
def test_a_chain_needs_different_links(variants: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match="two different variants or more"):
        chain(variants, ("16q1s1k",))


def test_enough_launches_for_every_row_among_all() -> None:
    few = chain(RELEASES, ("16q1s1k",)).launches
    many = chain([f"vllm@0.{n}.0" for n in range(20, 33)], ("16q1s1k",) * 6).launches
    assert few == 10 and 2 * 0.5**many <= 0.05 / 72 < 2 * 0.5 ** (many - 1)


def test_a_step_is_found_where_it_is_and_nowhere_else() -> None:
    plan = chain(RELEASES, ("16q1s1k", "q2k"), launches=10)
    found = judge_chain(plan, launches(plan, {"vllm@0.31.0": {"16q1s1k": 2.7}}))
    assert [(pair.before, pair.after) for pair in found.pairs] == list(pairwise(RELEASES))
    verdicts = [[row.judgement.verdict for row in pair.rows] for pair in found.pairs]
    assert verdicts == [[Verdict.SAME, Verdict.SAME], [Verdict.REGRESSED, Verdict.SAME]]
    (step, _) = found.pairs[1].rows
    assert step.judgement.ratio == pytest.approx(2.7, rel=0.01)
    low, high = step.judgement.interval
    assert low < 2.7 < high
    (whole,) = found.whole
    assert (whole.before, whole.after) == (RELEASES[0], RELEASES[2])
    assert whole.rows[0].judgement.ratio == pytest.approx(2.7, rel=0.01)
    assert not whole.rows[0].primary
    assert [row.judgement.verdict for row in found.controls] == [Verdict.SAME, Verdict.SAME]


def test_one_family_of_rows_over_the_whole_chain() -> None:
    """With six launches one row alone could be significant; among twelve it cannot, and says so."""
    plan = chain(RELEASES, ("16q1s1k", "q1s1k", "q2k", "15q1s1k_q2k", "16q9s1kd8", "q9s1kd8"), launches=6)
    found = judge_chain(plan, launches(plan, {"vllm@0.31.0": {"16q1s1k": 2.7}}))
    assert found.pairs[1].rows[0].judgement.verdict is Verdict.UNKNOWN
    assert "too few launches" in found.pairs[1].rows[0].judgement.reason


def test_what_gives_other_metadata_than_the_release_before_is_told() -> None:
    plan = chain(RELEASES, ("16q1s1k",), launches=2)
    found = judge_chain(plan, launches(plan, {}, unequal={"16q1s1k": {"vllm@0.31.0": ("num_prefills",)}}))
    assert not found.pairs[0].warnings
    (caveat,) = found.pairs[1].warnings
    assert caveat.message == "16q1s1k: both give different metadata, as they may: num_prefills"


def test_all_sides_have_to_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = chain(RELEASES, ("16q1s1k",))
    for free in (None, 4 << 30):
        monkeypatch.setattr(chains, "available_bytes", lambda free=free: free)
        check_memory(plan)
    monkeypatch.setattr(chains, "available_bytes", lambda: 1 << 30)
    with pytest.raises(EnvironmentMissing, match="4 releases side by side need 2 GB of memory, and 1 are free"):
        check_memory(plan)


@pytest.mark.slow
def test_three_checkouts_in_turns(tmp_path: Path, checkout: Callable[..., str]) -> None:
    slow = "import time; time.sleep(100e-6)"
    variants = [checkout("a"), checkout("b"), checkout("c", slow)]
    plan = chain(variants, ("16q1s1k",), launches=2, rounds=10)
    found: tuple[LaunchRecord, ...] = run(begin(plan, tmp_path / "campaign"))
    assert found[0].created == creation(tuple(plan.sides), 1)
    measured = found[0].measured[0]
    assert measured.medians_us[variants[2]] > measured.medians_us[variants[1]] + 50
    neighbours = np.log(np.divide(measured.blocks_us[variants[2]], measured.blocks_us[variants[1]]))
    assert math.isclose(measured.log_ratios[variants[2]], np.median(neighbours), rel_tol=1e-4), "blocks are rounded"
    judged = judge_chain(plan, found)
    assert judged.pairs[1].rows[0].judgement.ratio > 1.5
