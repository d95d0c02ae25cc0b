from __future__ import annotations

from collections import Counter

import pytest

from gdnbench.campaign.turns import ROLES, creation, turns

MORE_ROLES = (*ROLES, "+2%")


@pytest.mark.parametrize("roles", [ROLES, MORE_ROLES])
@pytest.mark.parametrize("launch", [1, 2, 7])
def test_every_role_takes_every_place_equally_often(roles: tuple[str, ...], launch: int) -> None:
    places = Counter((role, place) for turn in turns(roles, launch, 12) for place, role in enumerate(turn))
    assert set(places.values()) == {12 // len(roles)}
    assert len(places) == len(roles) ** 2


@pytest.mark.parametrize("launch", [2, 4, 6])
def test_each_second_launch_reverses_all_orders_of_the_one_before(launch: int) -> None:
    assert creation(ROLES, launch + 1) == creation(ROLES, launch)[::-1]
    assert [turn[::-1] for turn in turns(ROLES, launch, 5)] == list(turns(ROLES, launch + 1, 5))


def test_before_is_created_first_as_often_as_after() -> None:
    for role in ROLES[1:]:
        first = [
            creation(ROLES, launch).index("before") < creation(ROLES, launch).index(role) for launch in range(1, 13)
        ]
        assert sum(first) == 6


def test_the_first_turn_follows_the_order_of_creation() -> None:
    for launch in range(1, 7):
        assert next(turns(ROLES, launch, 1)) == creation(ROLES, launch)
