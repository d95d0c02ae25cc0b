"""Sides: what each variant does in a server, and which it refuses."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from gdnbench.plugin import faults
from gdnbench.plugin.settings import PluginSettings
from gdnbench.plugin.sides import make_sides
from gdnbench.values.errors import UserError

ARGUMENTS = (0, None, None, None, False)


BUILDER = SimpleNamespace(use_full_cuda_graph=False, decode_cudagraph_max_bs=16)


def sides(variants, **rest):
    settings = PluginSettings("control", variants, **rest)
    return make_sides(settings, BUILDER, lambda *arguments: None, "0.29.0", type, type)


def test_the_servers_own_builder_goes_by_its_release_and_stands_behind_the_roles():
    given = sides({"before": "vllm@0.29.0", "after": "original"})
    assert len(given) == 3 and len(set(given)) == 1


@pytest.mark.parametrize(
    ("variant", "says"),
    [
        ("vllm@0.28.0", "is not in this server, which runs vLLM 0.29.0"),
        ("path:/src/vllm", "is not in this server"),
        ("fault:rotated-state", "did you mean fault:rotated-states?"),
        ("fault:nonsense", "known: stale-prefilling,"),
        ("fault:stale-prefilling", "a server on a CPU cannot express it"),
        ("vllm@0.29.0+3us", "how long it waits"),
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
