"""The rule for shifts, by what it does with series that are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gdnbench.stats.shifts import RULE, Standing, Watch
from gdnbench.stats.simulated_nights import FLOOR, Nights, follow

NOISE = 0.02


def quiet(count: int, seed: int = 0) -> np.ndarray:
    """Nights at level 0."""
    return NOISE * np.random.default_rng(seed).standard_normal(count)


def one_series(*nights: float, floor: float = FLOOR) -> list[Standing]:
    """One series, a run a night; how it stands after each night that is judged."""
    watch = Watch(np.array([floor]))
    return [watch.night(np.array([value])) for value in nights][RULE.history :]


def found(standings: list[Standing]) -> list[int]:
    """The nights in which a shift was found, counted from the first that is judged."""
    return [number for number, standing in enumerate(standings) if standing.found[0]]


def test_a_large_step_is_found_without_reruns_and_put_where_it_is() -> None:
    values = np.concatenate([quiet(40), 0.12 + quiet(10, 1)])
    standings = one_series(*values)
    (night,) = found(standings)
    first = night + RULE.history - standings[night].nights[0] + 1
    assert night + RULE.history <= 42 and first == 40
    assert standings[night].earliest[0] >= standings[night].nights[0] >= standings[night].latest[0]


def test_a_single_night_never_makes_a_shift_whatever_it_says() -> None:
    for value in (-3.0, -0.3, 0.3, 3.0):
        assert found(one_series(*quiet(60), value, *quiet(30, 2))) == []


def test_a_lucky_night_does_not_become_the_baseline() -> None:
    """After a night that was 30 % faster, usual nights are no step back, and the level is where it was."""
    values = quiet(80)
    lucky = values.copy()
    lucky[50] = -0.3
    usual, after = Watch(np.array([FLOOR])), Watch(np.array([FLOOR]))
    for one, other in zip(values, lucky, strict=True):
        plain, standing = usual.night(np.array([one])), after.night(np.array([other]))
        assert not standing.found.any()
    # Both are held against all nights before; one lucky night among 79 may move that by 3 scatters / 79 and no more.
    assert abs(float(plain.change[0] - standing.change[0])) < 4 * NOISE / 70


def test_after_a_shift_the_baseline_begins_anew() -> None:
    """The new level is accepted: nothing more is found there, and a step back is a shift of its own."""
    standings = one_series(*quiet(40), *(0.1 + quiet(40, 1)), *quiet(40, 2))
    nights = [night + RULE.history for night in found(standings)]
    assert len(nights) == 2
    assert 40 <= nights[0] <= 43 and 80 <= nights[1] <= 84
    assert standings[nights[1] - RULE.history].change[0] < 0


def test_an_effect_below_its_floor_is_no_shift() -> None:
    tiny = 0.001 * np.random.default_rng(0).standard_normal(100)
    values = tiny + np.where(np.arange(100) < 50, 0.0, 0.03)
    assert found(one_series(*values, floor=0.02)) != []
    assert found(one_series(*values, floor=0.04)) == []


def test_nothing_is_judged_without_history() -> None:
    watch = Watch(np.array([FLOOR]))
    for value in (0.0, 5.0, -5.0, *quiet(RULE.history - 3)):
        assert len(watch.night(np.array([value])).rows) == 0


def test_reruns_clear_a_suspect_or_make_its_shift_plain() -> None:
    def nights_until_found(level: float, reruns: int) -> int | None:
        """Of nights whose first run is suspect and whose reruns are at a level; None: three were not enough."""
        watch = Watch(np.array([FLOOR]))
        for value in quiet(60):
            watch.night(np.array([value]))
        for night in range(3):
            runs = np.concatenate([[0.06], level + quiet(reruns, night)])
            standing = watch.night(runs[:1])
            for count in range(2, reruns + 2):
                if not standing.suspect[0]:
                    break
                standing = watch.again(np.array([0]), runs[None, :count])
            if standing.found[0]:
                return night + 1
            if level == 0:
                assert not standing.suspect[0]
        return None

    assert nights_until_found(0.0, 4) is None
    assert nights_until_found(0.06, 4) == 2
    assert nights_until_found(0.06, 0) == 3


def test_series_that_end_early_come_last_and_stay_as_they_were() -> None:
    watch = Watch(np.full(3, FLOOR))
    for number in range(60):
        standing = watch.night(quiet(3 if number < 30 else 2, number))
    assert list(standing.rows) == [0, 1]
    assert (watch.scatter > 0).all()


def test_the_error_is_split_over_the_series_of_a_night() -> None:
    def limit(family: int) -> float:
        watch = Watch(np.array([FLOOR]))
        for value in quiet(30):
            watch.night(np.array([value]))
        return float(watch.night(np.array([0.0]), family).limit[0])

    assert limit(1) == limit(RULE.fewest) < limit(2 * RULE.fewest) < limit(20_000)


def test_a_single_night_never_makes_a_shift_whatever_its_reruns_say() -> None:
    """However long the baseline and few the series: four reruns of one night may all share what was wrong with it."""
    watch = Watch(np.array([FLOOR]))
    for value in quiet(300):
        watch.night(np.array([value]))
    watch.night(np.array([0.5]))
    for count in range(2, 6):
        standing = watch.again(np.array([0]), np.full((1, count), 0.5))
        assert standing.suspect[0] and not standing.found[0]
    assert watch.night(np.array([0.5])).found[0]


@pytest.mark.parametrize("shape", ["normal", "heavy", "outliers"])
def test_false_shifts_are_rare_whatever_the_noise(shape: str) -> None:
    """900 series for 140 nights after their history: at one a week in 2,000 series, 9 are allowed."""
    outcome = follow(Nights(900, 150, shape=shape, seed=4))
    assert len(outcome.rows) <= 9
    assert 0 < outcome.suspects <= outcome.reruns <= 4 * outcome.suspects


def test_a_step_of_five_percent_is_found_in_three_nights() -> None:
    at = np.random.default_rng(0).integers(60, 100, 600)
    outcome = follow(Nights(600, 110, step=0.05, at=at, seed=5))
    assert (outcome.delays(at) <= 3).mean() > 0.88
    inside = [
        first <= at[row] <= last
        for row, night, first, last in zip(outcome.rows, outcome.night, outcome.earliest, outcome.latest, strict=True)
        if night >= at[row]
    ]
    assert np.mean(inside) > 0.95


@pytest.mark.slow
def test_the_acceptance_of_four_hundred_nights() -> None:
    """2,000 series: at most one false shift a week in all; 5 % at 2 % noise within 3 nights in 90 % of cases."""
    nights = Nights(2000, 400, seed=11)
    weeks = (nights.nights - RULE.history) / 7
    outcome = follow(nights)
    assert len(outcome.rows) <= weeks
    assert outcome.reruns <= 4 * outcome.suspects
    at = np.random.default_rng(0).integers(30, 397, 2000)
    assert (follow(replace(nights, step=0.05, at=at)).delays(at) <= 3).mean() >= 0.9
