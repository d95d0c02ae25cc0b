"""Sides: what each variant does in a server, and which it refuses."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
import torch

from gdnbench.plugin import faults
from gdnbench.plugin.settings import PluginSettings
from gdnbench.plugin.sides import make_sides
from gdnbench.values.errors import UserError

ARGUMENTS = (0, None, None, None, False)


def metadata(**given):
    values = {
        "num_prefills": 0,
        "num_decodes": 4,
        "num_spec_decodes": 0,
        "num_spec_decode_tokens": 0,
        "non_spec_state_indices_tensor": torch.tensor([5, 6, 7, 8], dtype=torch.int32),
        "spec_state_indices_tensor": None,
        "has_initial_state": None,
        "prefill_has_initial_state": None,
    }
    return SimpleNamespace(**{**values, **given})


BUILDER = SimpleNamespace(use_full_cuda_graph=False, decode_cudagraph_max_bs=16)


def sides(variants, builder=BUILDER, result=metadata, **rest):
    settings = PluginSettings("control", variants, **rest)
    return make_sides(settings, builder, lambda *arguments: result(), "0.29.0", type, type)


def test_the_servers_own_builder_goes_by_its_release_and_stands_behind_the_roles():
    given = sides({"before": "vllm@0.29.0", "after": "original"})
    assert len(given) == 3 and len(set(given)) == 1


@pytest.mark.parametrize(
    ("variant", "says"),
    [
        ("vllm@0.28.0", "is not in this server, which runs vLLM 0.29.0"),
        ("path:/src/vllm", "is not in this server"),
        ("fault:rotated-state", "did you mean fault:rotated-states?"),
        ("fault:nonsense", "known: rotated-states,"),
        ("vllm@0.29.0+3us", "how long it waits"),
        ("limit", "does not build"),
    ],
)
def test_what_this_server_cannot_run_is_refused_in_one_line(variant, says):
    with pytest.raises(UserError) as caught:
        sides({"before": "original", "after": variant})
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_handicapped_side_waits_as_long_as_it_was_told():
    slow, _ = sides({"before": "vllm@0.29.0+2%"}, waits={"before": 2_000_000})
    waited = []
    for _ in range(20):
        started = time.perf_counter_ns()
        slow(*ARGUMENTS)
        waited.append(time.perf_counter_ns() - started)
    assert min(waited) >= 2_000_000
    assert min(waited) < 3_000_000


def test_rotated_states_of_decodes_leave_the_block_table_and_the_prefills_alone():
    table = torch.arange(5, 10, dtype=torch.int32)
    side, _ = sides(
        {"before": "fault:rotated-states"},
        result=lambda: metadata(num_prefills=1, non_spec_state_indices_tensor=table),
    )
    assert side(*ARGUMENTS).non_spec_state_indices_tensor.tolist() == [8, 5, 6, 7, 9]
    assert table.tolist() == [5, 6, 7, 8, 9]


def test_rotated_states_reach_the_buffer_that_graphs_read():
    buffer = torch.tensor([5, 6, 7, 8, 0], dtype=torch.int32)
    side, _ = sides(
        {"before": "fault:rotated-states"},
        SimpleNamespace(use_full_cuda_graph=True, decode_cudagraph_max_bs=16),
        lambda: metadata(non_spec_state_indices_tensor=buffer[:5]),
    )
    side(*ARGUMENTS)
    assert buffer.tolist() == [8, 5, 6, 7, 0]


def test_rotated_states_of_rows_with_drafts():
    states = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)
    side, _ = sides(
        {"before": "fault:rotated-states"},
        result=lambda: metadata(
            num_decodes=0,
            num_spec_decodes=2,
            non_spec_state_indices_tensor=None,
            spec_state_indices_tensor=states,
        ),
    )
    assert side(*ARGUMENTS).spec_state_indices_tensor.tolist() == [[3, 4], [1, 2]]


def test_one_row_cannot_be_rotated():
    side, _ = sides({"before": "fault:rotated-states"}, result=lambda: metadata(num_decodes=1))
    assert side(*ARGUMENTS).non_spec_state_indices_tensor.tolist() == [5, 6, 7, 8]


def test_every_seventh_step_of_decodes_alone_is_rotated():
    counts = [{"num_prefills": 1}, *[{}] * 20]
    steps = iter(counts)
    side, _ = sides({"before": "fault:rotated-states-every-7"}, result=lambda: metadata(**next(steps)))
    broken = [
        number
        for number in range(len(counts))
        if side(*ARGUMENTS).non_spec_state_indices_tensor.tolist() != [5, 6, 7, 8]
    ]
    assert broken == [7, 14]  # step 0 has a prefill


def test_a_stale_initial_state_is_always_there():
    states = torch.tensor([True, False])
    side, _ = sides(
        {"before": "fault:stale-initial-state"},
        result=lambda: metadata(has_initial_state=states, prefill_has_initial_state=states[1:]),
    )
    result = side(*ARGUMENTS)
    assert result.has_initial_state.tolist() == [True, True] and result.prefill_has_initial_state.tolist() == [True]
    assert states.tolist() == [True, False]
    side, _ = sides({"before": "fault:stale-initial-state"})
    assert side(*ARGUMENTS).has_initial_state is None


def test_a_crash_comes_in_the_build_it_was_told():
    side, _ = sides({"before": "fault:crash"}, fault_at=3)
    for _ in range(2):
        side(*ARGUMENTS)
    with pytest.raises(RuntimeError, match="fault:crash"):
        side(*ARGUMENTS)
    side(*ARGUMENTS)


def test_a_hang_sleeps_on_and_on(monkeypatch):
    class StillAsleepError(Exception):
        pass

    naps = []

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) == 3:
            raise StillAsleepError

    monkeypatch.setattr(faults.time, "sleep", sleep)
    side, _ = sides({"before": "fault:hang"}, fault_at=2)
    side(*ARGUMENTS)
    with pytest.raises(StillAsleepError):
        side(*ARGUMENTS)


def test_each_builder_has_faults_of_its_own():
    first, _ = sides({"before": "fault:crash"}, fault_at=2)
    second, _ = sides({"before": "fault:crash"}, fault_at=2)
    first(*ARGUMENTS)
    second(*ARGUMENTS)
    with pytest.raises(RuntimeError):
        first(*ARGUMENTS)
