"""Both sides build for the same live step and are held against each other, field by field."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from gdnbench.plugin.sides import Side


class Comparison:
    """Builds with the sides before and after; see `Comparing` in `gdnbench.plugin.switch`.

    Args:
        before, after: their places among the sides.
        fields: of the release's metadata, at most 63; the place of a name is that of its bit.
    """

    def __init__(self, before: int, after: int, fields: Sequence[str]) -> None:
        self.before = before
        self.after = after
        self.fields = tuple(fields)

    def __call__(self, builder: Any, sides: Sequence[Side], arguments: Sequence[Any]) -> tuple[Any, int]:
        """What the before side built, which the engine gets, and bits of the fields in which the after side differs.

        The after side goes first, on copies of all that it is given; what it made is copied, too, before the other one
        writes into the same persistent buffers. Waits for the device: never in a block that is measured.
        """
        # A copy of its own keeps either side from finding what the other remembered about the same tensors.
        copies = [copied(argument) for argument in arguments]
        after = copied(sides[self.after](*copies))
        before = sides[self.before](*arguments)
        bits = 0
        for place, name in enumerate(self.fields):
            if not same(getattr(before, name), getattr(after, name)):
                bits |= 1 << place
        return before, bits


def copied(value: Any) -> Any:
    """A tensor's clone; a dataclass, mapping or list with all tensors in it cloned; anything else as it is."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(copied(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _copied_fields(value)
    return value


def _copied_fields(value: Any) -> Any:
    copy = object.__new__(type(value))
    for field in dataclasses.fields(value):
        object.__setattr__(copy, field.name, copied(getattr(value, field.name)))
    return copy


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same: types, shapes, dtypes, devices and contents."""
    if type(left) is not type(right):
        return False
    if isinstance(left, Tensor):
        alike = left.dtype == right.dtype and left.shape == right.shape and left.device == right.device
        return alike and torch.equal(left, right)
    if isinstance(left, Mapping):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(same(one, other) for one, other in zip(left, right, strict=True))
    if dataclasses.is_dataclass(left):
        return all(same(one, other) for one, other in zip_longest(_values(left), _values(right)))
    return bool(left == right)


def _values(value: Any) -> Iterator[Any]:
    for field in dataclasses.fields(value):
        yield getattr(value, field.name)
