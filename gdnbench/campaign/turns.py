"""Whose turn it is: the order in which sides are created and take their blocks, from launch to launch.

Identical code differs by a fraction of a percent by where it was created and by who ran before it. So every role takes
every place: the order rotates from round to round, and each second launch reverses all orders of the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

BEFORE, AFTER, CONTROL = "before", "after", "control"
ROLES = (BEFORE, AFTER, CONTROL)
"""The roles of a comparison. Control is a second instance of the before side: what differs between them is noise."""
LIMIT = "limit"
"""The role of the fastest builder that we know, where it runs beside: what a change can still win."""


def creation(roles: Sequence[str], launch: int) -> tuple[str, ...]:
    """The order in which the sides of launch number `launch`, from 1, are created."""
    return _order(roles, launch, 0)


def turns(roles: Sequence[str], launch: int, rounds: int) -> Iterator[tuple[str, ...]]:
    """For each round of a launch the order of its blocks, one per role."""
    return (_order(roles, launch, number) for number in range(rounds))


def _order(roles: Sequence[str], launch: int, turn: int) -> tuple[str, ...]:
    pair, second = divmod(launch - 1, 2)
    first = (pair + turn) % len(roles)
    rotated = (*roles[first:], *roles[:first])
    return rotated[::-1] if second else rotated
