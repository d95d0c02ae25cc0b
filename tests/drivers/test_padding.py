"""The parts of 41873 as drivers: every padded step has a past that leaves stale slots behind it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given

from gdnbench.devices.base import CpuDevice
from gdnbench.drivers.padding import AttentionMetadataDriver, InputBatchDriver, MambaBuildDriver
from gdnbench.probes.cost import step_costs
from gdnbench.probes.equality import compare
from gdnbench.values.scenarios import named, parse
from strategies import steps

PARTS = (InputBatchDriver, AttentionMetadataDriver, MambaBuildDriver)
PADDED = [scenario for scenario in named() if scenario.padded_rows]


def differing(part, scenario):
    with torch.inference_mode():
        return {d.field for d in compare(*(part(side, scenario, CpuDevice()) for side in ("before", "after")))}


@given(steps)
def test_every_padded_step_has_a_stale_row_and_nothing_else_differs(scenario):
    if AttentionMetadataDriver.refuses(scenario) is not None:
        return
    flags = {f"group{group}.is_prefilling" for group in range(scenario.kv_groups)}
    assert differing(AttentionMetadataDriver, scenario) == (flags if scenario.padded_rows else set())


@given(steps)
def test_the_batch_ends_at_the_rows_of_the_step(scenario):
    if InputBatchDriver.refuses(scenario) is not None:
        return
    driver = InputBatchDriver("after", scenario, CpuDevice())
    fields = driver.fields(None, driver.run(driver.inputs()))
    rows, arrays = len(scenario.rows), driver.arrays
    assert fields["requests"] == tuple(range(rows))
    assert fields["prompt"][:rows].tolist() == arrays.prompt_lens[:rows].tolist()
    assert fields["computed"][:rows].tolist() == (arrays.seq_lens_bound - arrays.query_lens)[:rows].tolist()
    for group, table in enumerate(arrays.block_tables):
        assert fields[f"group{group}.blocks"][:rows].tolist() == table[:rows].tolist()


@given(steps)
def test_without_padding_the_victim_sees_no_difference(scenario):
    if MambaBuildDriver.refuses(scenario) is None and not scenario.padded_rows:
        assert differing(MambaBuildDriver, scenario) == set()


@pytest.mark.parametrize("scenario", PADDED, ids=lambda scenario: scenario.name)
def test_pr41873_a_padded_decode_step_replays_on_its_own_states(scenario):
    assert "group0.replay.state_indices" in differing(MambaBuildDriver, scenario)
    driver = MambaBuildDriver("after", scenario, CpuDevice())
    fields = driver.fields(None, driver.run(driver.inputs()))
    assert fields["group0.num_prefills"] == 0, "pr41873: a padded row is a prefill"
    assert fields["group0.replay.state_indices"].tolist() == driver.arrays.block_tables[0].tolist()


def test_the_change_costs_one_host_operation_and_spares_the_victim_its_prefill_branch():
    padded, full = parse("13q1s1k_3pad"), parse("16q1s1k")

    def costs(part, side, scenario):
        return step_costs(lambda device: part(side, scenario, device)).costs

    for scenario in (padded, full):
        before, after = (costs(AttentionMetadataDriver, side, scenario) for side in ("before", "after"))
        assert after.host_ops == before.host_ops + 1
        assert after.device_ops == before.device_ops
    before, after = (costs(MambaBuildDriver, side, padded) for side in ("before", "after"))
    assert after.device_ops < before.device_ops
    assert (before.syncs > 0, after.syncs) == (True, 0)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.part)
def test_steps_that_never_had_the_fault_are_refused(part):
    assert "V2" in part.refuses(parse("16q9s1kd8/v2"))
    assert "capture" in part.refuses(parse("16q1s1k/capture"))
    assert part.refuses(parse("13q1s1k_3pad")) is None


def test_the_victim_refuses_what_its_release_pair_tells_apart():
    assert "resumed chunk" in MambaBuildDriver.refuses(parse("3q1s1k_q1s700p900"))
    assert AttentionMetadataDriver.refuses(parse("3q1s1k_q1s700p900")) is None
