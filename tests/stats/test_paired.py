import math

import numpy as np
import pytest

from gdnbench.stats.paired import Comparison, judge, judge_rows
from gdnbench.values.metrics import HOST_TIME, Metric
from gdnbench.values.verdicts import Verdict

THROUGHPUT = Metric("tok", "tokens per second", "tok/s", "sampled", direction="higher", floor_percent=1.0)


def comparison(percents, level=100.0, metric=HOST_TIME, **more) -> Comparison:
    """Launches in which after is so many percent slower than before, which takes `level`."""
    ratios = [math.log1p(percent / 100) for percent in percents]
    after = tuple(level * math.exp(ratio) for ratio in ratios)
    return Comparison(metric, tuple(ratios), (level,) * len(ratios), after, **more)


def test_six_launches_that_agree_are_a_verdict():
    judged = judge(comparison([-20, -21, -19, -22, -18, -20]))
    assert judged.verdict is Verdict.IMPROVED
    assert judged.ratio == pytest.approx(0.8)
    assert judged.interval == pytest.approx((0.78, 0.82))
    assert judged.p_value == judged.p_adjusted == 2 / 64
    assert judged.launches == 6 and judged.more_launches is None


def test_higher_is_better_where_the_metric_says_so():
    percents = [-20, -21, -19, -22, -18, -20]
    assert judge(comparison(percents, metric=THROUGHPUT)).verdict is Verdict.REGRESSED


def test_a_sure_effect_below_the_floor_is_the_same():
    judged = judge(comparison([0.5, 0.6, 0.4, 0.5, 0.5, 0.6]))
    assert judged.p_value <= 0.05
    assert judged.verdict is Verdict.SAME


def test_both_floors_must_be_passed():
    percents = [5, 5.1, 4.9, 5, 5, 5.2]
    assert judge(comparison(percents, level=100.0)).verdict is Verdict.REGRESSED
    assert judge(comparison(percents, level=3.0)).verdict is Verdict.SAME  # 0.15 us is below 0.2 us


def test_an_interval_beyond_the_floor_around_no_change_is_unknown():
    judged = judge(comparison([3, -3, 2, -2, 2.5, -1, 1, -0.5, 0.2]))
    assert judged.verdict is Verdict.UNKNOWN
    assert judged.more_launches > 0 and f"about {judged.more_launches} more" in judged.reason


@pytest.mark.parametrize("launches", range(1, 6))
def test_too_few_launches_are_unknown_and_say_how_many_are_missing(launches):
    judged = judge(comparison([-50] * launches))
    assert judged.verdict is Verdict.UNKNOWN
    assert judged.interval is None and judged.smallest_detectable is None
    assert judged.more_launches == 6 - launches
    assert "6 are the fewest" in judged.reason


def test_no_launches_are_unknown_and_ask_for_six():
    judged = judge(comparison([]))
    assert (judged.verdict, judged.more_launches, judged.ratio) == (Verdict.UNKNOWN, 6, None)


def test_launches_without_any_difference_are_the_same():
    judged = judge(comparison([0] * 6))
    assert (judged.verdict, judged.ratio, judged.p_value) == (Verdict.SAME, 1.0, 1.0)


def test_rounding_is_no_sign_of_a_change():
    judged = judge(Comparison(HOST_TIME, (-0.5, -0.1, -0.1, -0.5, -1e-17, -0.1), (4.0,) * 6, (3.0,) * 6))
    assert judged.verdict is Verdict.UNKNOWN
    assert judged.interval[1] == 1.0 and judged.p_value > 0.05


@pytest.mark.parametrize("value", [0.0, -1.2, math.nan, math.inf])
def test_a_time_that_cannot_be_is_invalid_and_named(value):
    whole = comparison([-20] * 6)
    broken = Comparison(HOST_TIME, whole.log_ratios, whole.before, (*whole.after[:3], value, *whole.after[4:]))
    judged = judge(broken)
    assert judged.verdict is Verdict.INVALID
    assert judged.ratio is None and judged.interval is None
    assert judged.reason == f"launch 4: host_time after is {value:g} us"


def test_a_ratio_that_is_not_a_number_is_invalid():
    whole = comparison([-20] * 6)
    judged = judge(Comparison(HOST_TIME, (math.nan, *whole.log_ratios[1:]), whole.before, whole.after))
    assert judged.verdict is Verdict.INVALID and "launch 1" in judged.reason


def test_sides_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="one figure per launch"):
        Comparison(HOST_TIME, (0.1, 0.2), (1.0,), (1.0, 1.0))


def test_sixteen_primary_rows_need_ten_launches_each():
    def verdicts(launches):
        return {judged.verdict for judged in judge_rows([comparison([-20] * launches)] * 16)}

    # All sixteen agree here, so Holm's later steps are no easier: the first has to pass 0.05 / 16.
    assert verdicts(9) == {Verdict.UNKNOWN}
    assert verdicts(10) == {Verdict.IMPROVED}
    judged = judge_rows([comparison([-20] * 9)] * 16)[0]
    assert judged.more_launches == 1 and "10 are the fewest that can say for one of 16 rows" in judged.reason
    assert [caveat.code for caveat in judged.warnings] == ["family"]


def test_secondary_rows_cost_the_primary_ones_nothing():
    primary, secondary = comparison([-20] * 6), comparison([-20] * 6, primary=False)
    judged = judge_rows([secondary, primary, secondary])
    assert [one.verdict for one in judged] == [Verdict.UNKNOWN, Verdict.IMPROVED, Verdict.UNKNOWN]


def test_an_invalid_row_makes_its_family_no_smaller():
    broken = Comparison(HOST_TIME, (0.0,), (0.0,), (1.0,))
    judged = judge_rows([comparison([-20] * 6), broken])
    assert [one.verdict for one in judged] == [Verdict.UNKNOWN, Verdict.INVALID]


def test_the_smallest_detectable_change_comes_from_the_control():
    row = comparison([-20, -21, -19, -22, -18, -20])
    quiet, loud = comparison([0.1, -0.1, 0.2, -0.2, 0.1, 0]), comparison([5, -5, 6, -6, 4, -3])
    assert 0.01 <= judge(row, quiet).smallest_detectable < 0.02
    assert 0.04 < judge(row, loud).smallest_detectable < 0.1
    assert 0.005 < judge(row).smallest_detectable < 0.04  # without a control: its own scatter


def test_each_row_has_a_control_of_its_own():
    row, quiet, loud = comparison([-20] * 8), comparison([0.1, -0.1] * 4), comparison([5, -6] * 4)
    first, second, third = (one.smallest_detectable for one in judge_rows([row] * 3, [quiet, loud, quiet]))
    assert first == third < second
    with pytest.raises(ValueError, match="3 rows and 1 controls"):
        judge_rows([row] * 3, [quiet])


def test_what_is_found_below_the_size_that_is_found_reliably_is_said_to_be_overstated():
    loud = comparison([4, -4, 3, -3, 5, -5, 2])
    found = judge(comparison([-1.4, -1.5, -1.3, -1.2, -1.6, -0.2, -1.4]), loud)
    assert found.verdict is Verdict.IMPROVED
    (caveat,) = found.warnings
    assert caveat.code == "overstated" and "four times in five" in caveat.message
    assert judge(comparison([-20, -21, -19, -22, -18, -20, -20]), loud).warnings == ()


def test_a_control_that_differs_from_itself_is_a_caveat():
    judged = judge(comparison([-20] * 6), control=comparison([4, 5, 6, 4, 5, 6]))
    assert judged.verdict is Verdict.IMPROVED
    assert [caveat.code for caveat in judged.warnings] == ["control"]
    assert "identical code in the same launches came out regressed (+5.0%)" in judged.warnings[0].message


def test_roles_that_were_not_swapped_are_a_caveat():
    percents = [-20, -21, -19, -22, -18, -20]
    always = comparison(percents, before_first=(True,) * 6)
    swapped = comparison(percents, before_first=(True, False) * 3)
    assert [caveat.code for caveat in judge(always).warnings] == ["unbalanced"]
    assert judge(swapped).warnings == ()


def test_a_ratio_that_drifts_is_a_caveat():
    assert [caveat.code for caveat in judge(comparison([-10, -12, -14, -16, -18, -20])).warnings] == ["trend"]


def test_more_launches_do_settle_it():
    """The promise is kept: with as many launches as it asked for, most campaigns reach a verdict."""
    rng = np.random.default_rng(3)
    first = judge(comparison(rng.normal(2, 3, 9)))
    assert first.verdict is Verdict.UNKNOWN
    launches = first.launches + first.more_launches
    settled = [judge(comparison(rng.normal(2, 3, launches))).verdict for _ in range(100)]
    assert settled.count(Verdict.REGRESSED) >= 60
    assert Verdict.IMPROVED not in settled


def test_an_effect_at_the_floor_is_never_settled():
    noise = np.random.default_rng(6).normal(0, 0.6, 30)
    judged = judge(comparison(1.0 + noise - np.median(noise)))
    assert judged.verdict is Verdict.UNKNOWN
    assert judged.more_launches is None and "would not settle it" in judged.reason


def launch_ratios(rng, launches, effect=0.0):
    """What a shared two-core machine showed: 0.6 % from launch to launch, 0.2 % by role, at times a neighbour."""
    role = 0.002 * np.where(np.arange(launches) % 2, 1, -1)
    neighbour = np.where(rng.random(launches) < 0.05, rng.normal(0, 0.05, launches), 0)
    return effect + role + neighbour + rng.normal(0, 0.006, launches)


@pytest.mark.parametrize("launches", [6, 9, 12])
def test_identical_code_comes_out_as_no_change(launches):
    rng = np.random.default_rng(launches)
    verdicts = [judge(comparison(100 * np.expm1(launch_ratios(rng, launches)))).verdict for _ in range(500)]
    alarms = verdicts.count(Verdict.IMPROVED) + verdicts.count(Verdict.REGRESSED)
    assert alarms <= 5
    assert Verdict.INVALID not in verdicts


def test_however_loud_the_machine_false_alarms_keep_to_five_percent():
    rng = np.random.default_rng(0)
    verdicts = [judge(comparison(rng.normal(0, 15, 9))).verdict for _ in range(400)]
    alarms = verdicts.count(Verdict.IMPROVED) + verdicts.count(Verdict.REGRESSED)
    assert 0 < alarms / 400 <= 0.06


def test_a_change_of_two_percent_is_found_with_nine_launches():
    rng = np.random.default_rng(2)
    found = [judge(comparison(100 * np.expm1(launch_ratios(rng, 9, 0.02)))).verdict for _ in range(200)]
    assert found.count(Verdict.REGRESSED) >= 190
