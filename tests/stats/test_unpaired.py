from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdnbench.stats.unpaired import judge_unpaired
from gdnbench.values.metrics import HOST_TIME, OUTPUT_THROUGHPUT
from gdnbench.values.verdicts import Verdict

TIMES = st.lists(st.floats(1.0, 100.0), min_size=1, max_size=20)


def test_two_occasions_of_one_code_are_seldom_told_apart():
    """Of 400 pairs of samples with a spread of 8 %, as launches have, no more than the 5 % that the rule allows."""
    draw = random.Random(5)
    alarms = sum(
        judge_unpaired(HOST_TIME, *([draw.lognormvariate(3.0, 0.08) for _ in range(10)] for _ in range(2))).verdict
        in (Verdict.IMPROVED, Verdict.REGRESSED)
        for _ in range(400)
    )
    assert alarms <= 20


def test_a_large_change_is_found():
    draw = random.Random(6)
    before = [draw.lognormvariate(3.0, 0.08) for _ in range(20)]
    after = [1.5 * draw.lognormvariate(3.0, 0.08) for _ in range(20)]
    found = judge_unpaired(HOST_TIME, before, after)
    assert found.verdict is Verdict.REGRESSED
    assert found.interval is not None
    assert found.interval[0] < 1.5 < found.interval[1]
    assert judge_unpaired(OUTPUT_THROUGHPUT, before, after).verdict is Verdict.IMPROVED


def test_figures_that_hardly_scatter_are_the_same():
    assert judge_unpaired(HOST_TIME, [50.0, 50.1] * 5, [50.1, 50.0] * 5).verdict is Verdict.SAME


def test_too_few_launches_say_how_many_are_missing():
    found = judge_unpaired(HOST_TIME, [20.0] * 6, [30.0] * 9)
    assert (found.verdict, found.more_launches) == (Verdict.UNKNOWN, 1)
    assert judge_unpaired(HOST_TIME, [20.0] * 7, [30.0] * 7).verdict is Verdict.REGRESSED
    assert judge_unpaired(HOST_TIME, [20.0] * 7, [30.0] * 7, family=4).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_figure_that_is_none_is_invalid(value):
    assert judge_unpaired(HOST_TIME, [20.0] * 9, [20.0] * 8 + [value]).verdict is Verdict.INVALID


@given(TIMES, TIMES)
def test_swapped_sides_give_the_inverse(before, after):
    forward, back = judge_unpaired(HOST_TIME, before, after), judge_unpaired(HOST_TIME, after, before)
    assert back.verdict is forward.verdict.inverse
