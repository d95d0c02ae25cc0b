"""The limit gives what the reference gives, field by field, step by step and in sequences, on the host and traced."""

from __future__ import annotations

import dataclasses
import random

import pytest
import torch

from gdn_impl.limit import Builder, LimitMetadata, forget
from gdn_impl.metadata import GDNMetadata
from gdnbench.devices.base import CpuDevice
from gdnbench.devices.traced import TracedDevice
from gdnbench.drivers.gdn import BuildDriver
from gdnbench.probes.cost import step_costs
from gdnbench.probes.equality import difference
from gdnbench.values.scenarios import named, parse, random_scenario
from sequences import sequence_step

SHARED = [field.name for field in dataclasses.fields(GDNMetadata)]
SCENARIOS = [scenario for scenario in named() if BuildDriver.refuses(scenario) is None]


class Reference(BuildDriver):
    change = 56531


def values(metadata):
    """Fields of one group, the table of convolution programs taken apart."""
    found = {name: getattr(metadata, name) for name in SHARED if name != "nums_dict"}
    for size, programs in (metadata.nums_dict or {}).items():
        found |= {f"nums_dict.{size}.{name}": value for name, value in programs.items()}
    return found


def unlike(one, other, device):
    """The first difference between the metadata of two builders, group by group."""
    for group, (left, right) in enumerate(zip(one, other, strict=True)):
        left, right = values(left), values(right)
        assert left.keys() == right.keys()
        for name in left:
            if what := difference(left[name], right[name], device):
                return f"group {group}: {name}: {what}"
    return None


def step(driver):
    with driver.device.active(), torch.inference_mode():
        return driver.run(driver.inputs())


@pytest.mark.parametrize("device", [CpuDevice(), TracedDevice()], ids=["cpu", "traced"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_named_steps(scenario, device):
    with device.active(), torch.inference_mode():
        limit, reference = (Reference(state, scenario, device) for state in ("limit", "after"))
    for _ in range(3):
        assert unlike(step(limit), step(reference), device) is None


@pytest.mark.parametrize("seed", range(120))
def test_random_steps(seed):
    scenario, device = random_scenario(random.Random(seed)), CpuDevice()
    if Reference.refuses(scenario) is not None:
        pytest.skip("not a step")
    limit, reference = (Reference(state, scenario, device) for state in ("limit", "after"))
    assert unlike(step(limit), step(reference), device) is None


@pytest.mark.parametrize("seed", range(16))
def test_sequences_of_steps_through_the_same_builders(seed):
    """Builders keep what they wrote from step to step, whatever the steps are."""
    rng, device = random.Random(seed), CpuDevice()
    depth, staged, groups = rng.choice([0, 2, 8]), rng.random() < 0.8, rng.choice([1, 3])
    kept = {}
    for number in range(60):
        scenario = sequence_step(rng, depth, staged, groups)
        sides = {state: Reference(state, scenario, device) for state in ("limit", "after")}
        for state, driver in sides.items():
            driver.builders = kept.setdefault(state, driver.builders)
        if rng.random() < 0.03:
            forget()
        found = unlike(*(step(driver) for driver in sides.values()), device)
        assert found is None, f"step {number}, {scenario.name}: {found}"


@pytest.mark.parametrize(
    ("name", "device_ops", "pinned"),
    [
        ("16q1s1k", 2, 0),
        ("q1s1k", 2, 0),
        ("13q1s1k_3pad", 2, 0),
        ("16q9s1kd8", 4, 1),
        ("15q1s1k_q2k", 8, 1),
        ("8q9s1kd8_6q1s1k_2q128", 8, 1),
    ],
)
def test_what_a_step_asks_of_the_device(name, device_ops, pinned):
    costs = step_costs(lambda device: Reference("limit", parse(name), device)).costs
    assert costs.device_ops <= device_ops
    assert costs.h2d_pinned <= pinned
    assert costs.syncs == costs.h2d_pageable == costs.d2h == 0
    if pinned == 0:
        assert costs.alloc_bytes == 0


@pytest.mark.parametrize("name", ["16q1s1k", "16q9s1kd8", "15q1s1k_q2k", "8q9s1kd8_6q1s1k_2q128"])
def test_what_a_further_group_asks(name):
    one, three = (
        step_costs(lambda device, text=text: Reference("limit", parse(text), device)).costs
        for text in (name, f"{name}/g3")
    )
    assert three.device_ops - one.device_ops <= 4
    assert three.h2d_pinned == one.h2d_pinned


def test_groups_never_share_buffers():
    scenario, device = parse("16q9s1kd8/g3"), CpuDevice()
    driver = Reference("limit", scenario, device)
    groups = step(driver)
    for name in ("spec_state_indices_tensor", "num_accepted_tokens", "spec_query_start_loc"):
        assert len({getattr(one, name).data_ptr() for one in groups}) == 3


def test_what_another_builder_wrote_is_written_again_after_forget():
    scenario, device = parse("16q9s1kd8"), CpuDevice()
    limit, reference = (Reference(state, scenario, device) for state in ("limit", "after"))
    step(limit)
    for buffer in vars(limit.builders[0].buffers).values():
        if isinstance(buffer, torch.Tensor):
            buffer.fill_(1)
    forget()
    assert Builder.latest is None
    assert unlike(step(limit), step(reference), device) is None


@pytest.mark.parametrize("name", ["16q1s1k", "16q1s1k/eager", "16q9s1kd8"])
def test_a_step_without_prefills_needs_no_bound_of_lengths(name):
    scenario, device = parse(name), CpuDevice()
    forget()
    limit, reference = (Reference(state, scenario, device) for state in ("limit", "after"))
    inputs = limit.inputs()
    for group in inputs.groups:
        group.seq_lens_cpu_upper_bound = None
    with torch.inference_mode():
        assert unlike(limit.run(inputs), step(reference), device) is None


def test_its_metadata_has_every_field_of_the_reference():
    assert set(SHARED) <= {field.name for field in dataclasses.fields(LimitMetadata)}
