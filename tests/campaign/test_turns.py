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


@pytest.mark.parametrize("launch", [1, 3, 5])
def test_each_second_launch_reverses_all_orders_of_the_one_before(launch: int) -> None:
    assert creation(ROLES, launch + 1) == creation(ROLES, launch)[::-1]
    assert [turn[::-1] for turn in turns(ROLES, launch, 5)] == list(turns(ROLES, launch + 1, 5))


@pytest.mark.parametrize("launches", [2, 4, 6, 10, 12])
def test_before_is_created_first_as_often_as_any_other(launches: int) -> None:
    for role in ROLES[1:]:
        orders = [creation(ROLES, launch) for launch in range(1, launches + 1)]
        assert sum(order.index("before") < order.index(role) for order in orders) == launches / 2


def test_the_first_turn_follows_the_order_of_creation() -> None:
    for launch in range(1, 7):
        assert next(turns(ROLES, launch, 1)) == creation(ROLES, launch)
