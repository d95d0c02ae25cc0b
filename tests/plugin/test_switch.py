"""The switch: a side is held for a whole step, and every build is counted once, where it belongs."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import pytest

from gdnbench.plugin import layout
from gdnbench.plugin.control import Control
from gdnbench.plugin.switch import Switch
from gdnbench.values.coverage import Kind

ROLES = ("before", "after")


def metadata(prefills=0, decodes=0, spec=0, spec_tokens=None):
    return SimpleNamespace(
        num_prefills=prefills,
        num_decodes=decodes,
        num_spec_decodes=spec,
        num_spec_decode_tokens=3 * spec if spec_tokens is None else spec_tokens,
    )


class Builder(SimpleNamespace):
    """Known by identity, as vLLM's are."""

    __hash__ = object.__hash__


class Engine:
    """A worker's steps, with builders that give what a test wants; the switch and the file are real."""

    def __init__(self, control: Control, groups: int = 3, graphs: bool = False) -> None:
        self.control = control
        self.forgotten = 0
        self.compared: list[object] = []
        self.differing = 0
        self.switch = Switch(control, self.compare, self.forget)
        self.graphs = graphs
        self.builders = [self.builder() for _ in range(groups)]
        self.built: list[str] = []

    def builder(self):
        return Builder(use_full_cuda_graph=self.graphs, decode_cudagraph_max_bs=16, sides=self.sides())

    def sides(self):
        def side(name):
            return lambda result, *rest: (self.built.append(name), result)[1]

        return tuple(side(name) for name in (*ROLES, "own"))

    def forget(self):
        self.forgotten += 1

    def compare(self, builder, sides, arguments):
        self.compared.append(arguments[0])
        return arguments[0], self.differing

    def step(self, result=None, between=lambda: None):
        """One step that builds for every group; `between` happens after the first build."""
        result = metadata(decodes=4) if result is None else result
        self.switch.begin()
        for number, builder in enumerate(self.builders):
            assert self.build(builder, result) is result
            if number == 0:
                between()
        self.switch.end()

    def build(self, builder, result):
        return self.switch.build(builder, builder.sides, (result, None, None, None, False))


@pytest.fixture
def control(tmp_path):
    with Control.create(tmp_path / "control", ROLES) as control:
        yield control


def test_before_any_command_the_servers_own_builder_runs_unobserved(control):
    engine = Engine(control)
    engine.step()
    snapshot = control.snapshot()
    assert engine.built == ["own"] * 3
    assert (snapshot.steps_begun, snapshot.steps_ended, snapshot.steps_built) == (1, 1, 0)
    assert snapshot.builds("before") == snapshot.builds("after") == snapshot.groups == 0


def test_the_commanded_side_builds_and_is_counted(control):
    engine = Engine(control)
    control.command("after", 1)
    engine.step()
    control.command("before", 2)
    engine.step()
    engine.step()
    snapshot = control.snapshot()
    assert engine.built == ["after"] * 3 + ["before"] * 6
    assert (snapshot.steps_begun, snapshot.steps_ended, snapshot.steps_built) == (3, 3, 3)
    assert (snapshot.builds("before"), snapshot.builds("after")) == (6, 3)
    assert (snapshot.block, snapshot.stamped("before"), snapshot.stamped("after")) == (2, 6, 0)
    assert snapshot.groups == 3
    assert snapshot.mixed_steps == snapshot.strayed_builds == snapshot.outside_builds == 0


def test_a_command_in_mid_step_waits_for_the_next_step_and_is_told(control):
    engine = Engine(control)
    control.command("before", 1)
    engine.step(between=lambda: control.command("after", 2))
    snapshot = control.snapshot()
    assert engine.built == ["before"] * 3
    assert (snapshot.mixed_steps, snapshot.strayed_builds) == (1, 3)
    assert (snapshot.builds("before"), snapshot.builds("after")) == (3, 0)
    engine.step()
    later = control.snapshot().since(snapshot)
    assert engine.built[3:] == ["after"] * 3
    assert later.mixed_steps == later.strayed_builds == 0


def test_the_next_block_of_the_same_side_in_mid_step_is_a_mixed_step_too(control):
    engine = Engine(control)
    control.command("before", 1)
    engine.step(between=lambda: control.command("before", 2))
    assert control.snapshot().mixed_steps == 1


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (metadata(decodes=16), Kind.DECODE),
        (metadata(prefills=2), Kind.PREFILL),
        (metadata(prefills=1, decodes=3), Kind.MIXED),
        (metadata(prefills=1, spec=3), Kind.MIXED),
        (metadata(spec=5), Kind.SPECULATIVE),
    ],
)
@pytest.mark.parametrize("graphs", [False, True])
def test_builds_are_told_by_kind_of_step_and_staging(control, result, kind, graphs):
    engine = Engine(control, graphs=graphs)
    control.command("before", 1)
    engine.step(result)
    (one,) = control.snapshot().coverage("before")
    assert (one.kind, one.builds) == (kind, 3)
    assert one.staged == (graphs and kind in (Kind.DECODE, Kind.SPECULATIVE))
    assert 0 < one.mean_us < 1e6 and 0 < one.median_us < 1e6


@pytest.mark.parametrize("result", [metadata(decodes=17), metadata(spec=17), metadata(spec=2, spec_tokens=18)])
def test_what_exceeds_the_graph_buffers_is_not_staged(control, result):
    engine = Engine(control, graphs=True)
    control.command("before", 1)
    engine.step(result)
    (one,) = control.snapshot().coverage("before")
    assert not one.staged


def test_a_step_that_builds_nothing_is_a_step(control):
    engine = Engine(control, groups=0)
    control.command("before", 1)
    engine.step()
    snapshot = control.snapshot()
    assert (snapshot.steps_begun, snapshot.steps_ended, snapshot.steps_built) == (1, 1, 0)


def test_unobserved_it_switches_and_counts_steps_alone(control):
    engine = Engine(control)
    control.command("after", 1, observe=False)
    engine.step()
    engine.step(between=lambda: control.command("after", 2, observe=False))
    snapshot = control.snapshot()
    assert engine.built == ["after"] * 6
    assert (snapshot.steps_begun, snapshot.steps_ended, snapshot.mixed_steps) == (2, 2, 1)
    assert snapshot.builds("after") == snapshot.steps_built == snapshot.stamped("after") == 0


def test_observation_takes_turns_from_step_to_step(control):
    engine = Engine(control)
    control.command("before", 1, alternate=True)
    before = control.snapshot()
    for _ in range(9):
        engine.step()
    snapshot = control.snapshot().since(before)
    assert engine.built == ["before"] * 27
    assert snapshot.builds("before") == 9, "three builds in every third step"
    assert [phase.steps for phase in snapshot.phases] == [3, 3, 3]
    assert all(0 < phase.log_ns / phase.steps < 25 for phase in snapshot.phases), "below a minute"
    control.command("before", 2)
    engine.step()
    later = control.snapshot().since(before)
    assert later.builds("before") == 12, "in every step again"
    assert sum(phase.steps for phase in later.phases) == 9


def test_turns_leave_out_steps_with_a_prefill_and_steps_that_build_nothing(control):
    engine = Engine(control)
    control.command("before", 1, alternate=True)
    before = control.snapshot()
    for prefills in (1, 0, 1, 0):
        engine.step(metadata(decodes=3, prefills=prefills))
        engine.switch.begin()
        engine.switch.end()
    phases = control.snapshot().since(before).phases
    assert sum(phase.steps for phase in phases) == 2


def test_each_place_of_a_request_is_observed_though_threes_divide_its_steps(control):
    engine = Engine(control)
    observed = []
    for block in range(1, 4):
        control.command("before", block, alternate=True)
        for place in range(6):
            before = control.snapshot()
            engine.step()
            if control.snapshot().since(before).builds("before"):
                observed.append(place)
    assert sorted(observed) == list(range(6))


def test_without_turns_there_are_no_phases(control):
    engine = Engine(control)
    control.command("before", 1)
    engine.step()
    assert control.snapshot().phases == ()


def test_builds_outside_of_a_step_are_counted_apart(control):
    engine = Engine(control)
    control.command("after", 1)
    result = metadata(decodes=1)
    assert engine.build(engine.builders[0], result) is result
    engine.step()
    engine.build(engine.builders[0], result)
    snapshot = control.snapshot()
    assert engine.built == ["after"] * 5
    assert (snapshot.outside_builds, snapshot.builds("after"), snapshot.stamped("after")) == (2, 3, 3)


def test_a_step_that_fails_has_begun_and_never_ends(control):
    engine = Engine(control)
    control.command("before", 1)
    engine.switch.begin()
    engine.build(engine.builders[0], metadata(decodes=1))
    snapshot = control.snapshot()
    assert (snapshot.steps_begun, snapshot.steps_ended, snapshot.builds("before")) == (1, 0, 1)


def test_compared_builds_are_not_timed(control):
    engine = Engine(control)
    control.tell({"fields": ["a", "b", "c"]})
    control.command("before", 1, compare=True)
    engine.step()
    engine.differing = 0b110
    engine.step()
    snapshot = control.snapshot()
    assert len(engine.compared) == 6 and engine.built == []
    assert (snapshot.compared, snapshot.different, snapshot.different_fields) == (6, 3, ("b", "c"))
    assert snapshot.builds("before") == snapshot.steps_built == 0 and snapshot.steps_ended == 2


def test_a_side_that_takes_over_has_forgotten_what_was_before(control):
    engine = Engine(control)
    started = engine.forgotten
    for role, block in (("before", 1), ("before", 2), ("after", 3), ("before", 4)):
        control.command(role, block)
        engine.step()
        engine.step()
    assert engine.forgotten - started == 3


def test_a_further_worker_switches_and_counts_where_nobody_reads(control):
    first, second = Engine(control), Engine(control)
    second.switch.count_aside()
    control.command("after", 1)
    for engine in (first, second):
        engine.step()
    assert second.built == ["after"] * 3
    assert (control.snapshot().builds("after"), control.snapshot().steps_begun) == (3, 1)


def test_a_build_that_takes_forever_fits_the_histogram(control, monkeypatch):
    clock = iter([0, 1000, 0, 10**15])
    monkeypatch.setattr("gdnbench.plugin.switch.perf_counter_ns", lambda: next(clock))
    engine = Engine(control, groups=1)
    control.command("before", 1)
    engine.step()
    (one,) = control.snapshot().coverage("before")
    assert one.builds == 1 and one.mean_us == 1e12


def test_a_build_of_no_time_at_all_fits_the_histogram(control, monkeypatch):
    monkeypatch.setattr("gdnbench.plugin.switch.perf_counter_ns", lambda: 5)
    engine = Engine(control, groups=1)
    control.command("before", 1)
    engine.step()
    (one,) = control.snapshot().coverage("before")
    assert one.builds == 1 and one.mean_us == 0 and one.median_us < 0.002


def test_every_word_of_a_role_has_its_own_place():
    words = [layout.BEGUN, layout.ENDED, layout.BUILT, layout.MIXED, layout.STRAYED, layout.OUTSIDE]
    words += [layout.STAMPED, layout.COMPARED, layout.DIFFERENT, layout.FIELDS]
    cells = [layout.cell_at(0, kind, staged) - layout.role_at(0) for kind in Kind for staged in (False, True)]
    assert sorted(words) == list(range(len(words))) and max(words) < min(cells)
    spans = sorted(cells)
    assert all(b - a == layout.CELL_WORDS for a, b in pairwise(spans))
    assert spans[-1] + layout.CELL_WORDS == layout.ROLE_WORDS
    assert layout.FACTS_AT[1] + layout.FACTS_SIZE <= 8 * layout.ROLES_AT
