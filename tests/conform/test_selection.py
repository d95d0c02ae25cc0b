"""Every part meets all named scenarios that it can, and as many random ones as were asked for."""

from sample_drivers import OnlyCaptures, OnlyNothing, OnlyWithoutCapture, Ours

from gdnbench.conform.selection import select
from gdnbench.values.scenarios import named, parse


def test_named_ones_come_first_then_different_random_ones() -> None:
    chosen = select((Ours, OnlyWithoutCapture), 300, seed=0)
    expected = [scenario for scenario in named() if not scenario.capture]
    assert chosen[: len(expected)] == expected
    assert len(chosen) == len(expected) + 300
    assert len({scenario.name for scenario in chosen}) == len(chosen)
    assert not any(scenario.capture for scenario in chosen)


def test_a_part_that_only_meets_captures_gets_captures() -> None:
    chosen = select((Ours, OnlyCaptures), 50, seed=0)
    assert len(chosen) == 50 + sum(scenario.capture for scenario in named())
    assert all(scenario.capture for scenario in chosen)


def test_the_seed_decides() -> None:
    assert select((Ours,), 20, seed=1) == select((Ours,), 20, seed=1) != select((Ours,), 20, seed=1000)


def test_a_part_that_meets_nothing_gets_nothing() -> None:
    assert select((Ours, OnlyNothing), 5, seed=0) == []


def test_names_carry_random_scenarios_whole() -> None:
    for scenario in select((Ours,), 300, seed=7):
        assert parse(scenario.name) == scenario
