"""What a shared processor did is taken out of a ratio, and what the sides did is not."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

import served
from gdnbench.campaign.turns import AFTER
from gdnbench.serving.judged import judge_serving
from gdnbench.serving.judging.pace import slope
from gdnbench.values.verdicts import Verdict

PACE_NS = 4000.0
TIMES = ("ttft", "tpot", "itl", "e2el")


def on_a_shared_machine(launch, slow=1.4, follows=0.9, seed=0):
    """Half of the blocks, by lot, on a processor that is slower; figures follow its pace."""
    lot = random.Random(launch.number + 100 * seed)
    blocks = []
    for block in launch.blocks:
        pace = slow if lot.random() < 0.5 else 1.0
        figures = {
            name: value and value * (pace**follows if name.split("_")[1] in TIMES else pace**-follows)
            for name, value in block.figures.items()
        }
        duration = block.duration_s * pace**follows
        blocks.append(replace(block, figures=figures, duration_s=duration, pace_ns=PACE_NS * pace))
    return replace(launch, blocks=tuple(blocks))


def judged(step=1.0, slow=1.4, follows=0.9, seed=0):
    plan = served.plan()
    launches = [on_a_shared_machine(one, slow, follows, seed) for one in served.campaign(plan, step)]
    return judge_serving(plan, launches)


def test_identical_code_is_the_same_on_a_machine_that_others_use():
    found = judged()
    assert found.verdict is Verdict.SAME
    for row in found.primary:
        assert row.judgement.ratio == pytest.approx(1, abs=0.004)
        assert max(abs(end - 1) for end in row.judgement.interval) < 0.01


def test_a_slower_side_is_found_with_its_own_size():
    found = judged(step=1.05)
    assert [row.judgement.verdict for row in found.primary] == [Verdict.REGRESSED] * 2
    assert found.row(1).judgement.ratio == pytest.approx(served.judge_ratio(1.05), abs=0.006)


def test_without_the_pace_the_same_campaign_would_stay_open():
    plan = served.plan()
    launches = [on_a_shared_machine(one) for one in served.campaign(plan)]
    blind = [replace(one, blocks=tuple(replace(block, pace_ns=None) for block in one.blocks)) for one in launches]
    assert judge_serving(plan, blind).verdict is Verdict.UNKNOWN


def test_the_ratio_with_the_pace_in_it_is_shown_beside():
    found = judged(step=1.05)
    row = found.row(1)
    assert row.raw_ratio is not None and row.raw_ratio != pytest.approx(row.judgement.ratio, abs=1e-6)
    assert "pace" in [caveat.code for caveat in row.judgement.warnings]
    assert row.to_json()["raw_ratio"] == row.raw_ratio


def test_where_figures_do_not_follow_the_pace_nothing_is_taken_out():
    found = judged(step=1.05, follows=0.0)
    assert found.row(1).raw_ratio is None
    assert "pace" not in [caveat.code for caveat in found.row(1).judgement.warnings]


def test_a_side_that_slows_the_processor_itself_is_not_excused():
    """The fit never sees the after side: what that alone does to the loop does not hide its cost."""
    plan = served.plan()
    launches = []
    for one in served.campaign(plan, 1.05):
        blocks = [replace(block, pace_ns=PACE_NS * (1.05 if block.role == AFTER else 1.0)) for block in one.blocks]
        launches.append(replace(one, blocks=tuple(blocks)))
    found = judge_serving(plan, launches)
    assert [row.judgement.verdict for row in found.primary] == [Verdict.REGRESSED] * 2


def test_the_slope_comes_from_enough_pairs_that_agree():
    lot = random.Random(1)
    paces = [lot.gauss(0, 0.2) for _ in range(100)]
    assert slope([(pace, 0.7 * pace + lot.gauss(0, 0.02)) for pace in paces]) == pytest.approx(0.7, abs=0.03)
    assert slope([(pace, lot.gauss(0, 0.1)) for pace in paces]) == 0
    assert slope([(pace, pace) for pace in paces[:10]]) == 0
    assert slope([(pace, 3 * pace) for pace in paces]) == 1
    assert slope([(0.0, 0.1)] * 50) == 0


def test_before_and_control_alone_decide_how_far_a_figure_follows():
    assert math.isclose(judged(step=1.5).row(1).judgement.ratio, served.judge_ratio(1.5), abs_tol=0.01)
