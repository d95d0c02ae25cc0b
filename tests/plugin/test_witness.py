"""A request's state is followed from step to step, and a row that reads another block is told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

from gdnbench.plugin.witness import Witness, read


def metadata(blocks=None, windows=None, accepted=None, initial=None):
    def tensor(values):
        return None if values is None else torch.tensor(values)

    return SimpleNamespace(
        num_spec_decodes=0 if windows is None else len(windows),
        spec_state_indices_tensor=tensor(windows),
        num_accepted_tokens=tensor(accepted),
        non_spec_state_indices_tensor=tensor(blocks),
        has_initial_state=tensor(initial),
    )


class Engine:
    """A runner and one builder; each step is told its rows as (request, tokens computed before, tokens now, drafts)."""

    def __init__(self, path: Path) -> None:
        self.witness = Witness(path)
        self.builder = object()

    def step(self, rows, made, builder=None):
        names, computed, lengths, drafts = zip(*rows, strict=True)
        batch = SimpleNamespace(req_ids=list(names), num_computed_tokens_cpu=np.array(computed))
        if builder is None:
            self.witness.begin(SimpleNamespace(input_batch=batch))
        starts = torch.tensor([0, *np.cumsum(lengths).tolist()])
        common = SimpleNamespace(query_start_loc_cpu=starts)
        own = None if all(one < 0 for one in drafts) else torch.tensor(drafts)
        self.witness.see(builder or self.builder, (0, common, None, own, False), made)


def test_decodes_that_go_on_from_their_own_block_are_right(tmp_path):
    engine = Engine(tmp_path / "seen.json")
    engine.step([("a", 0, 9, -1), ("b", 0, 5, -1)], metadata([4, 7], initial=[False, False]))
    for done in range(3):
        engine.step([("a", 9 + done, 1, -1), ("b", 5 + done, 1, -1)], metadata([4, 7]))
    assert (engine.witness.checks, engine.witness.losses) == (6, 0)
    assert read(tmp_path / "seen.json") is None  # too few to write


def test_a_neighbours_block_is_told(tmp_path):
    engine = Engine(tmp_path / "seen.json")
    engine.step([("a", 0, 9, -1), ("b", 0, 5, -1)], metadata([4, 7], initial=[False, False]))
    engine.step([("a", 9, 1, -1), ("b", 5, 1, -1)], metadata([7, 4]))
    found = read(tmp_path / "seen.json")
    assert found["losses"] == 1  # written at the first
    assert engine.witness.losses == 2
    first = found["first"]
    assert (first["step"], first["row"], first["rows"], first["reads"], first["lies_in"]) == (2, 0, 2, 7, 4)
    assert first["field"] == "non_spec_state_indices_tensor"


def test_accepted_drafts_move_the_state_along_the_window(tmp_path):
    engine = Engine(tmp_path / "seen.json")
    engine.step([("a", 0, 9, -1)], metadata([4], initial=[False]))
    engine.step([("a", 9, 3, 2)], metadata(windows=[[4, 5, 6]], accepted=[1]))
    engine.step([("a", 12, 3, 2)], metadata(windows=[[4, 5, 6]], accepted=[3]))  # both drafts were accepted
    engine.step([("a", 13, 3, 2)], metadata(windows=[[4, 5, 6]], accepted=[1]))  # none was
    assert (engine.witness.checks, engine.witness.losses) == (3, 0)
    engine.step([("a", 15, 3, 2)], metadata(windows=[[4, 5, 6]], accepted=[3]))  # one was, and three are said
    assert engine.witness.first.field == "num_accepted_tokens"
    assert (engine.witness.first.reads, engine.witness.first.lies_in) == (6, 5)
    assert (engine.witness.first.accepted_before, engine.witness.first.drafts_before) == (2, 2)


def test_a_row_without_a_draft_that_leaves_the_speculative_path_loses_its_state(tmp_path):
    engine = Engine(tmp_path / "seen.json")
    engine.step([("a", 0, 9, -1), ("b", 0, 9, -1)], metadata([4, 8], initial=[False, False]))
    both = [("a", 9, 3, 2), ("b", 9, 3, 2)]
    engine.step(both, metadata(windows=[[4, 5, 6], [8, 9, 10]], accepted=[1, 1]))
    mixed = metadata(blocks=[4], windows=[[8, 9, 10]], accepted=[1], initial=[True])
    engine.step([("a", 12, 1, -1), ("b", 10, 3, 2)], mixed)
    first = engine.witness.first
    assert (first.path, first.reads, first.lies_in, first.drafts_now) == ("plain", 4, 6, -1)
    assert engine.witness.losses == 1


def test_a_request_that_begins_again_is_not_lost(tmp_path):
    engine = Engine(tmp_path / "seen.json")
    engine.step([("a", 0, 9, -1)], metadata([4], initial=[False]))
    engine.step([("a", 9, 1, -1)], metadata([4]))
    engine.step([("a", 0, 10, -1)], metadata([6], initial=[False]))  # preempted: computed anew, elsewhere
    engine.step([("a", 10, 1, -1)], metadata([6]))
    assert engine.witness.losses == 0


def test_each_builder_has_blocks_of_its_own(tmp_path):
    engine = Engine(tmp_path / "seen.json")
    other = object()
    for computed, length, initial in ((0, 9, [False]), (9, 1, None)):
        engine.step([("a", computed, length, -1)], metadata([4], initial=initial))
        engine.step([("a", computed, length, -1)], metadata([40], initial=initial), builder=other)
    assert (engine.witness.checks, engine.witness.losses) == (2, 0)


def test_what_a_profiler_runs_before_the_first_step_is_not_looked_at(tmp_path):
    witness = Witness(tmp_path / "seen.json")
    witness.see(object(), (0, None, None, None, False), metadata([1]))
    assert witness.checks == 0


def test_it_writes_now_and_then(tmp_path):
    engine = Engine(tmp_path / "seen.json")
    engine.step([("a", 0, 9, -1)], metadata([4], initial=[False]))
    for done in range(300):
        engine.step([("a", 9 + done, 1, -1)], metadata([4]))
    assert read(tmp_path / "seen.json") == {"checks": 256, "losses": 0, "first": None}
