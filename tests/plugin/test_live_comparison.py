"""Holding both sides of one live build against each other."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from gdnbench.plugin.comparison import Comparison, copied, same


@dataclass
class Metadata:
    count: int
    states: torch.Tensor | None = None
    programs: dict | None = None


def compare(before, after, *arguments):
    return Comparison(0, 1, ("count", "states", "programs"))(None, (before, after), arguments)


def test_equal_builds_have_no_bit_and_the_engine_gets_the_before_sides():
    made = []

    def build(states):
        made.append(Metadata(3, states[1:], {8: {"tot": 2, "rows": states.clone()}}))
        return made[-1]

    metadata, bits = compare(build, build, torch.arange(4))
    assert bits == 0
    assert metadata is made[1]  # the after side built first


@pytest.mark.parametrize(
    ("broken", "bits"),
    [
        (Metadata(4, torch.arange(3), {}), 0b001),
        (Metadata(3, torch.tensor([0, 1, 3]), {}), 0b010),
        (Metadata(3, torch.arange(3, dtype=torch.int32), {}), 0b010),
        (Metadata(3, torch.arange(2), {}), 0b010),
        (Metadata(3, None, {}), 0b010),
        (Metadata(3, torch.arange(3), {8: {"rows": torch.arange(2)}}), 0b100),
        (Metadata(3, torch.arange(3), None), 0b100),
        (Metadata(True, torch.arange(3), {}), 0b001),
    ],
)
def test_what_differs_is_named_by_its_bit(broken, bits):
    assert compare(lambda x: Metadata(3, torch.arange(3), {}), lambda x: broken, None)[1] == bits


def test_persistent_buffers_do_not_hide_a_difference():
    buffer = torch.zeros(2)

    def before(common):
        return Metadata(0, buffer.fill_(1))

    def after(common):
        return Metadata(0, buffer.fill_(2))

    metadata, bits = compare(before, after, None)
    assert bits == 0b010
    assert metadata.states.tolist() == [1, 1]


def test_neither_side_sees_what_the_other_did_to_its_inputs():
    @dataclass
    class Common:
        lengths: torch.Tensor
        remembered: torch.Tensor | None = None

    seen = []

    def build(common):
        seen.append((common.remembered, common.lengths.data_ptr()))
        common.remembered = common.lengths.add_(1)
        return Metadata(0, common.remembered)

    _, bits = compare(build, build, Common(torch.zeros(2)))
    assert bits == 0
    assert seen[0][0] is None and seen[1][0] is None
    assert seen[0][1] != seen[1][1]


def test_copies_go_down_to_every_tensor():
    value = {"a": [torch.zeros(1), (torch.ones(1), "text")], "b": Metadata(1, torch.zeros(1))}
    copy = copied(value)
    assert same(value, copy)
    value["a"][1][0].zero_()
    assert not same(value, copy)
    copy = copied(value)
    value["b"].states.fill_(7)
    assert not same(value, copy)
    assert not same([1], [1, 2]) and not same({"a": 1}, {"b": 1}) and not same(Metadata(1), Metadata(2))
