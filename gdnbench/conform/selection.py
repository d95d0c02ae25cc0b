"""Which scenarios a part is compared on: all named ones that it can meet, and random ones."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from gdnbench.drivers.base import Driver
from gdnbench.values.scenarios import Scenario, named, random_scenario

DRAWS_PER_SCENARIO = 200
"""How many random scenarios may be refused for one that is met, before drawing ends."""


def meets(drivers: tuple[type[Driver], ...], scenario: Scenario) -> bool:
    """Whether no driver refuses the scenario."""
    return all(driver.refuses(scenario) is None for driver in drivers)


def select(drivers: tuple[type[Driver], ...], random: int, seed: int) -> list[Scenario]:
    """All named scenarios, then `random` different random ones from seed `seed` on, that every driver can meet.

    Fewer than `random`, where a part meets hardly any.
    """
    chosen = [scenario for scenario in named() if meets(drivers, scenario)]
    names = {scenario.name for scenario in chosen}
    wanted = len(chosen) + random
    for scenario in _drawn(seed, random * DRAWS_PER_SCENARIO):
        if len(chosen) == wanted:
            break
        if scenario.name not in names and meets(drivers, scenario):
            names.add(scenario.name)
            chosen.append(scenario)
    return chosen


def _drawn(seed: int, draws: int) -> Iterator[Scenario]:
    """Steps and captures in turn, each pair from a seed of its own."""
    for number in range(draws // 2):
        yield random_scenario(Random(seed + number))
        yield random_scenario(Random(seed + number), capture=True)
