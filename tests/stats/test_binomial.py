import pytest

from gdnbench.stats.binomial import cdf, half_cdf, lower_bound, root, upper_bound


def test_fair_coins():
    assert [half_cdf(k, 3) for k in (-1, 0, 1, 2, 3, 4)] == [0, 0.125, 0.5, 0.875, 1, 1]
    assert half_cdf(499, 1000) == pytest.approx(0.487387, abs=1e-6)
    assert half_cdf(0, 2000) == 0.0  # underflows to zero and does not fail


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.99])
def test_any_coin_agrees_with_scipy(p):
    scipy = pytest.importorskip("scipy.stats")
    for k in (0, 3, 19, 20):
        assert cdf(k, 20, p) == pytest.approx(scipy.binom.cdf(k, 20, p), rel=1e-9)


def test_coins_that_always_or_never_fall():
    assert (cdf(0, 5, 0.0), cdf(4, 5, 1.0), cdf(5, 5, 1.0), cdf(-1, 5, 0.5)) == (1.0, 0.0, 1.0, 0.0)


def test_the_bounds_of_a_rate():
    assert upper_bound(0, 1000) == pytest.approx(1 - 0.05 ** (1 / 1000), rel=1e-6)  # the "rule of three": 0.003
    assert upper_bound(5, 1000) == pytest.approx(0.010485, abs=1e-5)
    assert (upper_bound(7, 7), lower_bound(0, 7)) == (1.0, 0.0)
    assert lower_bound(7, 7) == pytest.approx(0.05 ** (1 / 7))


def test_a_root_is_found():
    assert root(lambda x: 2 - x * x, 0, 2) == pytest.approx(2**0.5)
