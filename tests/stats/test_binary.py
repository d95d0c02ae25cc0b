import math

import numpy as np
import pytest

from gdnbench.stats.binary import Flips, detectable, detectable_unpaired
from gdnbench.values.verdicts import Verdict


@pytest.mark.parametrize(("lost", "gained", "p"), [(12, 27, 0.024), (9, 5, 0.42), (6, 0, 0.031), (0, 0, 1.0)])
def test_exact_mcnemar(lost, gained, p):
    assert Flips(lost, gained, 1319).p_value == pytest.approx(p, abs=0.0005 if p < 0.1 else 0.005)
    assert Flips(gained, lost, 1319).p_value == Flips(lost, gained, 1319).p_value


def likelihood(flips: Flips, lost: float, difference: float) -> float:
    """The log likelihood of a share of losses under a true difference."""
    chances = lost, lost + difference, 1 - 2 * lost - difference
    seen = flips.lost, flips.gained, flips.documents - flips.lost - flips.gained
    return sum(n * math.log(p) if n else 0.0 for n, p in zip(seen, chances, strict=True))


@pytest.mark.parametrize("flips", [Flips(12, 27, 1319), Flips(3, 20, 100), Flips(0, 9, 60), Flips(8, 9, 17)])
def test_the_interval_ends_where_the_score_test_rejects(flips):
    """At either end the most likely share of losses, found by search, gives a score of 1.96."""
    for end in flips.interval():
        low, high = max(0.0, -end), (1 - end) / 2
        shares = np.linspace(low, high, 200001)[1:-1]
        best = max(shares[:: len(shares) // 2000], key=lambda lost: likelihood(flips, lost, end))
        near = shares[abs(shares - best) <= (high - low) / 1000]
        best = max(near, key=lambda lost: likelihood(flips, lost, end))
        distance = flips.difference - end
        score = distance / math.sqrt((2 * best + end - end * end) / flips.documents)
        assert abs(score) == pytest.approx(1.96, abs=0.01)


@pytest.mark.parametrize(("lost", "gained"), [(0.005, 0.005), (0.01, 0.02), (0.0, 0.01), (0.1, 0.3), (0.3, 0.3)])
def test_coverage_of_the_interval(lost, gained):
    rng = np.random.default_rng(4)
    drawn = rng.multinomial(600, [lost, gained, 1 - lost - gained], 500)
    held = 0
    for a, b, _ in drawn:
        low, high = Flips(int(a), int(b), 600).interval()
        held += low <= gained - lost <= high
    assert held / 500 >= 0.93


def test_the_interval_and_the_test_agree():
    for lost in range(12):
        for gained in range(12):
            flips = Flips(lost, gained, 200)
            low, high = flips.interval()
            assert (low > 0 or high < 0) is (flips.p_value <= 0.05)
            assert low <= flips.difference <= high


def test_all_flips_one_way_do_not_shrink_the_interval():
    low, high = Flips(0, 13, 1319).interval()
    assert low > 0.004 and high > 0.015


def test_no_documents_say_nothing():
    assert Flips(0, 0, 0).interval() == (-1.0, 1.0)
    assert Flips(0, 0, 0).verdict(floor=0.01) is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("flips", "verdict"),
    [
        (Flips(12, 27, 1319), Verdict.IMPROVED),
        (Flips(27, 12, 1319), Verdict.REGRESSED),
        (Flips(9, 5, 1319), Verdict.SAME),
        (Flips(9, 5, 100), Verdict.UNKNOWN),
        (Flips(0, 9, 1319), Verdict.UNKNOWN),  # significant, below the floor, interval beyond it
    ],
)
def test_verdicts_at_a_floor_of_one_point(flips, verdict):
    assert flips.verdict(floor=0.01) is verdict


def test_impossible_flips_are_refused():
    with pytest.raises(ValueError, match="5 \\+ 6 flips among 10"):
        Flips(5, 6, 10)


def test_what_1319_documents_can_show():
    assert detectable(1319, flips=39).significant == pytest.approx(15 / 1319)  # 12 against 27 is the last that passes
    assert detectable(1319, flips=0).significant == pytest.approx(6 / 1319)
    assert Flips(13, 26, 1319).p_value > 0.05 >= Flips(12, 27, 1319).p_value


@pytest.mark.parametrize(("documents", "flips"), [(1319, 39), (1319, 0), (300, 20), (1319, 400)])
def test_a_detectable_difference_is_found_in_four_of_five_runs(documents, flips):
    rng = np.random.default_rng(1)
    own_way = flips / 2 / documents
    there = own_way + detectable(documents, flips).with_power
    drawn = rng.multinomial(documents, [own_way, there, 1 - own_way - there], 1500)
    found = [a < b and Flips(int(a), int(b), documents).p_value <= 0.05 for a, b, _ in drawn]
    assert np.mean(found) == pytest.approx(0.8, abs=0.04)


def test_too_few_documents_show_nothing():
    assert detectable(5, 0).significant is None and detectable(5, 0).with_power is None


def test_without_pairs_much_less_can_be_shown():
    shown = detectable_unpaired(0.35, 1319)
    assert (round(shown.significant, 3), round(shown.with_power, 3)) == (0.036, 0.052)
