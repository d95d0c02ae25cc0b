import math

import numpy as np
import pytest

from gdnbench.stats.median import interval
from gdnbench.stats.power import MOST_LAUNCHES, launches_to_settle, normal_noise, power, smallest_detectable

FLOOR = math.log(1.01)


def test_normal_noise_has_its_spread():
    assert np.std(normal_noise(0.006)) == pytest.approx(0.006, rel=0.02)
    assert set(normal_noise(0.0)) == {0.0}


def test_power_is_what_whole_campaigns_show():
    rng = np.random.default_rng(0)
    spread, effect = 0.03, 0.035
    found = 0
    for _ in range(2000):
        ratios = rng.normal(effect, spread, 12).tolist()
        found += interval(ratios)[0] > 0 and np.median(ratios) > FLOOR
    assert power(effect, normal_noise(spread), 12, FLOOR) == pytest.approx(found / 2000, abs=0.04)
    assert 0.5 < found / 2000 < 0.95  # neither end, where any formula would agree


def test_power_ignores_the_direction():
    noise = normal_noise(0.02)
    assert power(-0.03, noise, 9, FLOOR) == power(0.03, noise, 9, FLOOR)


def test_too_few_launches_have_no_power():
    assert power(1.0, normal_noise(0.001), 5, FLOOR) == 0.0
    assert smallest_detectable(normal_noise(0.001), 5, FLOOR) == math.inf
    assert smallest_detectable(normal_noise(0.001), 9, FLOOR, alpha=0.05 / 16) == math.inf


def test_without_noise_the_floor_is_what_can_be_detected():
    assert smallest_detectable([0.0] * 6, 6, FLOOR) == pytest.approx(FLOOR)


def test_more_launches_and_less_noise_detect_smaller_effects():
    by_launches = [smallest_detectable(normal_noise(0.03), n, FLOOR) for n in (6, 9, 20, 60)]
    assert by_launches == sorted(by_launches, reverse=True)
    assert smallest_detectable(normal_noise(0.003), 6, FLOOR) < by_launches[0]


@pytest.mark.parametrize(
    "noise",
    [
        lambda rng, n: rng.normal(0, 0.02, n),
        lambda rng, n: 0.01 * rng.standard_t(3, n),
        lambda rng, n: rng.choice([-0.03, 0.03], n) + rng.normal(0, 0.005, n),
    ],
)
def test_what_a_control_of_twelve_launches_calls_detectable_is_detected(noise):
    rng = np.random.default_rng(8)
    found = []
    for _ in range(150):
        effect = smallest_detectable(noise(rng, 12).tolist(), 12, FLOOR)
        ratios = effect + noise(rng, 12)
        found.append(interval(ratios.tolist())[0] > 0 and np.median(ratios) > FLOOR)
    assert 0.65 <= np.mean(found) <= 0.95


def test_launches_to_settle_grow_with_the_noise():
    settle = [launches_to_settle(0.05, normal_noise(spread), FLOOR) for spread in (0.001, 0.05, 0.1)]
    assert settle[0] == 6
    assert settle[0] < settle[1] < settle[2] < MOST_LAUNCHES


def test_no_effect_is_settled_as_the_same_once_the_interval_fits_into_the_floor():
    assert launches_to_settle(0.0, normal_noise(0.001), FLOOR) == 6
    assert 20 < launches_to_settle(0.0, normal_noise(0.02), FLOOR) < 200


def test_an_effect_at_the_floor_is_never_settled():
    assert launches_to_settle(FLOOR, normal_noise(0.02), FLOOR) is None
