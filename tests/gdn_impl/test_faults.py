"""Builders that are broken on purpose: each is wrong in what it says, and only there."""

from __future__ import annotations

import pytest
import torch

from gdn_impl import faults
from gdn_impl.faults import FAULTS, SharedGroups, builder_class
from gdnbench.devices.base import CpuDevice
from gdnbench.drivers.choice import find_part
from gdnbench.drivers.registry import load
from gdnbench.probes.equality import compare
from gdnbench.values.scenarios import parse

DEVICE = CpuDevice()


def driver(fault: str, state: str, scenario: str):
    found = FAULTS[fault]
    with DEVICE.active():
        return load(find_part(found.change, found.part).ours)(state, parse(scenario), DEVICE)


def steps(fault: str, scenario: str, count: int = 1, state: str = "fault"):
    """The metadata of a fault's builders in `count` steps of a scenario, by step and KV group."""
    one = driver(fault, f"{state}:{fault}", scenario)
    with DEVICE.active(), torch.inference_mode():
        return [one.run(one.inputs()) for _ in range(count)]


def differing(fault: str, scenario: str) -> set[str]:
    """The fields in which broken and sound builders differ."""
    sides = [driver(fault, f"{state}:{fault}", scenario) for state in ("sound", "fault")]
    return {one.field.partition(".")[2] if "." in one.field else one.field for one in compare(*sides)}


@pytest.mark.parametrize(
    ("fault", "scenario", "fields"),
    [
        ("rotated-states", "16q1s1k", {"non_spec_state_indices_tensor"}),
        ("rotated-states", "16q1s1k/eager", {"non_spec_state_indices_tensor"}),
        ("rotated-states", "16q9s1kd8", {"spec_state_indices_tensor"}),
        ("rotated-states", "q1s1k", set()),
        ("rotated-states", "q2k", set()),
        ("stale-initial-state", "q128", {"has_initial_state", "prefill_has_initial_state"}),
        ("stale-initial-state", "16q1s1k", set()),
        ("bound-as-index", "16q9s1kd8", {"num_accepted_tokens"}),
        ("bound-as-index", "16q1s1k", set()),
        ("shared-groups", "16q1s1k/g30", {"non_spec_state_indices_tensor"}),
        ("shared-groups", "16q1s1k", set()),
        ("rotated-states-every-7", "16q1s1k", set()),
    ],
)
def test_what_a_fault_spoils(fault: str, scenario: str, fields: set[str]) -> None:
    assert differing(fault, scenario) == fields


def test_rows_without_drafts_keep_to_the_speculative_path_since_56531() -> None:
    (broken,) = steps("no-window-without-drafts", "16q1s1kd0/spec8")[0]
    (sound,) = steps("no-window-without-drafts", "16q1s1kd0/spec8", state="sound")[0]
    assert (broken.num_spec_decodes, broken.num_decodes) == (0, 16)
    assert (sound.num_spec_decodes, sound.num_decodes) == (16, 0)
    assert sound.num_accepted_tokens is not None


def test_rotated_states_reach_the_buffer_that_graphs_read() -> None:
    one = driver("rotated-states", "fault:rotated-states", "13q1s1k_3pad")
    with DEVICE.active(), torch.inference_mode():
        inputs = one.inputs()
        (metadata,) = one.run(inputs)
    states = one.builders[0].buffers.non_spec_state_indices[:16]
    assert torch.equal(metadata.non_spec_state_indices_tensor, states)
    table = inputs.groups[0].block_table_tensor[:, 0]
    assert torch.equal(states[:13], table[:13].roll(1)) or torch.equal(states[:16], table[:16].roll(1))


def test_rotation_leaves_the_block_table_alone() -> None:
    one = driver("rotated-states", "fault:rotated-states", "16q1s1k/eager")
    with DEVICE.active(), torch.inference_mode():
        inputs = one.inputs()
        before = inputs.groups[0].block_table_tensor.clone()
        one.run(inputs)
    assert torch.equal(inputs.groups[0].block_table_tensor, before)


def test_every_seventh_step_of_decodes_alone_is_rotated() -> None:
    sound = steps("rotated-states-every-7", "16q1s1k/eager", state="sound")[0][0].non_spec_state_indices_tensor
    found = [one.non_spec_state_indices_tensor for (one,) in steps("rotated-states-every-7", "16q1s1k/eager", 21)]
    assert [n for n, states in enumerate(found, 1) if not torch.equal(states, sound)] == [7, 14, 21]


def test_the_next_step_begins_with_a_first_group_of_its_own() -> None:
    first, second = steps("shared-groups", "16q1s1k/g30", 2)
    for groups in (first, second):
        assert all(one.non_spec_state_indices_tensor is groups[0].non_spec_state_indices_tensor for one in groups)
    SharedGroups.first = None


def test_every_fault_names_steps_that_its_part_meets_and_where_it_happened() -> None:
    for fault in FAULTS.values():
        part = load(find_part(fault.change, fault.part).ours)
        assert all(part.refuses(parse(name)) is None for name in fault.scenarios), fault.name
        assert fault.source.startswith(("https://github.com/vllm-project/vllm/", "made up: ")), fault.name
        assert (fault.sound is None) == (fault.broken is None)
        assert builder_class(None, f"fault:{fault.name}") is fault.broken if fault.broken else True


def test_a_name_spelled_alike_is_found() -> None:
    assert faults.near("rotated-state") == "rotated-states"
    assert faults.near("entirely else") is None
    assert faults.find("nonsense") is None
