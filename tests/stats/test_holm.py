import pytest

from gdnbench.stats.holm import adjust


def test_a_worked_example():
    # 0.01 x 4, 0.02 x 3, 0.03 x 2 and 0.04 x 1, each at least as large as the one before.
    assert adjust([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_one_row_stays_as_it_is_and_none_is_none():
    assert adjust([0.03]) == [0.03]
    assert adjust([]) == []


def test_nothing_exceeds_one():
    assert adjust([0.5, 0.6, 0.7]) == [1.0, 1.0, 1.0]


def test_ten_launches_are_the_fewest_for_sixteen_rows():
    others = [1.0] * 15
    assert adjust([2 / 2**10, *others])[0] <= 0.05 < adjust([2 / 2**9, *others])[0]
