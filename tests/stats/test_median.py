import math

import numpy as np
import pytest

from gdnbench.stats.median import best_p, centre, fewest, interval, rank, sign_test, trend_test


def test_the_interval_of_the_median_at_known_sizes():
    values = [float(i) for i in range(1, 13)]
    assert [rank(n) for n in (0, 1, 5, 6, 8, 9, 12, 15, 17)] == [0, 0, 0, 1, 1, 2, 3, 4, 5]
    assert interval(values[:5]) is None
    assert interval(values[:6]) == (1.0, 6.0)
    assert interval(values[:9]) == (2.0, 8.0)
    assert interval(list(reversed(values))) == (3.0, 10.0)


def test_fewest_launches_for_one_row_and_for_sixteen():
    assert (fewest(0.05), fewest(0.05 / 16)) == (6, 10)
    assert best_p(6) == sign_test([0.1] * 6) == 2 / 64


def test_no_values_say_nothing():
    assert sign_test([]) == 1.0 and interval([]) is None and trend_test([]) == 1.0


def test_a_zero_counts_against_either_side():
    assert sign_test([0.0] * 20) == 1.0
    assert sign_test([1.0] * 8 + [0.0]) == sign_test([1.0] * 8 + [-1.0]) == pytest.approx(20 / 512)


def test_the_test_rejects_exactly_where_the_interval_excludes_zero():
    rng = np.random.default_rng(0)
    both = set()
    for n in range(6, 25):
        for _ in range(50):
            values = np.round(rng.normal(rng.choice([0, 0.7, -0.7]), 1, n), 1).tolist()  # rounded: ties and zeros
            low, high = interval(values)
            excluded = low > 0 or high < 0
            assert (sign_test(values) <= 0.05) is excluded
            both.add(excluded)
    assert both == {True, False}


def skewed(rng, n):
    return rng.exponential(1, n) - math.log(2)


def heavy_tailed(rng, n):
    return rng.standard_t(2, n)


def two_humped(rng, n):
    return rng.choice([-2.0, 2.0], n) + rng.normal(0, 0.3, n)


def disturbed(rng, n):
    return rng.normal(0, 1, n) * np.where(rng.random(n) < 0.1, 10, 1)


@pytest.mark.parametrize("launches", [6, 9, 12, 20])
@pytest.mark.parametrize("noise", [skewed, heavy_tailed, two_humped, disturbed])
def test_coverage_of_a_true_ratio_on_a_drifting_machine(noise, launches):
    """A machine slows down by 50 % on the way and wanders by 8 %; the ratio's noise is of any shape."""
    rng = np.random.default_rng(launches)
    truth, campaigns, covered = math.log(0.93), 2000, 0
    for _ in range(campaigns):
        drift = np.linspace(0, math.log(1.5), launches) + rng.normal(0, 0.08, launches).cumsum()
        before = 20e-6 * np.exp(drift + rng.normal(0, 0.1, launches))
        after = before * np.exp(truth + 0.01 * noise(rng, launches))
        low, high = interval(np.log(after / before).tolist())
        covered += low <= truth <= high
    assert covered / campaigns >= 0.94


def test_coverage_where_every_launch_has_noise_of_its_own():
    """The noise grows tenfold during the campaign: independent values around one median suffice."""
    rng = np.random.default_rng(1)
    spreads = np.linspace(0.1, 1, 12)
    covered = 0
    for _ in range(2000):
        low, high = interval((spreads * rng.exponential(1, 12) - spreads * math.log(2)).tolist())
        covered += low <= 0 <= high
    assert covered / 2000 >= 0.94


def test_a_steady_rise_is_a_trend_and_disorder_is_none():
    assert trend_test([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == pytest.approx(2 / math.factorial(6))
    assert trend_test([6.0, 5.0, 4.0, 3.0, 2.0, 1.0]) == pytest.approx(2 / math.factorial(6))
    assert trend_test([3.0, 1.0, 2.0, 5.0, 4.0, 0.0, 7.0]) == pytest.approx(0.5619, abs=1e-4)
    assert trend_test([1.0] * 12) == 1.0


def test_the_trend_of_many_values_agrees_with_scipy():
    scipy = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(5)
    for n in (60, 100, 300):
        values = rng.normal(0, 1, n) + np.linspace(0, 0.7, n)
        expected = scipy.kendalltau(range(n), values, method="exact").pvalue
        assert trend_test(values.tolist()) == pytest.approx(expected, rel=0.05, abs=1e-6)


def test_the_centre_is_deaf_to_a_few_wild_values_and_moves_with_all_of_them():
    values = [0.9, 1.0, 1.1, 1.2, 0.8]
    assert centre(values) == pytest.approx(1.0)
    assert centre([*values, 1000.0]) == pytest.approx(1.05)
    assert centre([value + 3 for value in values]) == pytest.approx(4.0)
    assert centre([-value for value in values]) == pytest.approx(-1.0)
    assert centre([2.5]) == 2.5
    with pytest.raises(ValueError, match="no values"):
        centre([])


def test_the_centre_of_symmetric_noise_is_less_noisy_than_the_median():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(400, 48))
    assert np.std([centre(one) for one in samples]) < 0.9 * np.std(np.median(samples, axis=1))
