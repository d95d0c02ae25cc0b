"""41873: a padded row never prefills, whatever became of the requests before; and what it cost when one did."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gdn_impl import pr51565, pr51913
from gdn_impl.builder import BuilderConfig
from gdn_impl.pr41873 import After, Before, GuardedMambaBuilder, InputBatch, MambaBuilder, PaddedStep
from gdn_impl.split import Split, split_decodes_and_prefills

CPU = torch.device("cpu")
SLOTS = 12


def counts(most=30):
    """Tokens computed and tokens of the prompt."""
    return st.tuples(st.integers(0, most), st.integers(1, most))


@st.composite
def turns(draw):
    """Random steps of a batch: for each, who finishes (by place among the live), who joins, and which slots swap."""
    finishing = st.lists(st.integers(0, SLOTS - 1), max_size=6)
    joining = st.lists(counts(), max_size=6)
    swapping = st.lists(st.tuples(st.integers(0, SLOTS - 1), st.integers(0, SLOTS - 1)), max_size=2)
    return draw(st.lists(st.tuples(finishing, joining, swapping), min_size=1, max_size=8))


def blocks_of(request):
    return (2 * request + 1, 2 * request + 2)


class Driven:
    """A batch driven through random steps, beside a plain record of who is live and with which counts."""

    def __init__(self):
        self.batch = InputBatch(SLOTS, [2])
        self.live = {}
        self.joined = 0

    def turn(self, finishing, joining, swapping):
        for place in sorted({place for place in finishing if place < len(self.live)}, reverse=True):
            request = list(self.live)[place]
            del self.live[request]
            self.batch.remove(request)
        for computed, prompt in joining[: SLOTS - len(self.live)]:
            self.batch.add(self.joined, computed, prompt, [blocks_of(self.joined)])
            self.live[self.joined] = (computed, prompt)
            self.joined += 1
        self.batch.compact()
        for one, other in swapping:
            if max(one, other) < len(self.live):
                self.batch.swap(one, other)


def driven(history):
    result = Driven()
    for turn in history:
        result.turn(*turn)
    if not result.live:
        result.turn([], [(3, 2)], [])
    return result.batch


def padded(batch, padding, query_len=1):
    live = len(batch)
    rows = min(SLOTS, live + padding)
    tokens = rows * query_len
    return PaddedStep(live, rows, tokens, query_len, [torch.zeros(tokens, dtype=torch.int64)])


def common_metadata(side, batch, padding):
    runner = side(batch, SLOTS, CPU)
    runner.prepare(np.ones(len(batch), np.int32))
    [common] = runner.common_metadata(padded(batch, padding))
    return common


class TestInputBatch:
    @given(turns())
    def test_live_requests_come_first_with_their_own_counts_and_blocks(self, history):
        state = Driven()
        for turn in history:
            state.turn(*turn)
            batch = state.batch
            assert set(batch.requests) == set(state.live)
            assert sorted(batch.slot_of.values()) == list(range(len(state.live)))
            for request, slot in batch.slot_of.items():
                assert batch.requests[slot] == request
                assert (batch.computed[slot], batch.prompt[slot]) == state.live[request]
                assert tuple(batch.blocks[0][slot]) == blocks_of(request)

    def test_a_joiner_takes_the_lowest_vacated_slot(self):
        batch = InputBatch(4, [1])
        for request in "abcd":
            batch.add(request, 1, 1, [[1]])
        batch.remove("d")
        batch.remove("b")
        assert batch.add("e", 1, 1, [[1]]) == 1
        assert batch.requests == ("a", "e", "c", None)

    def test_compaction_moves_the_last_down_and_leaves_its_old_counts_behind(self):
        batch = InputBatch(4, [1])
        for request, computed in zip("abc", (7, 8, 2), strict=True):
            batch.add(request, computed, 5, [[computed]])
        batch.remove("a")
        batch.compact()
        assert batch.requests == ("c", "b")
        assert batch.computed.tolist() == [2, 8, 2, 0]
        assert batch.blocks[0].ravel().tolist() == [2, 8, 2, 0]

    def test_refuses_a_request_that_is_there_and_one_too_many(self):
        batch = InputBatch(1, [1])
        batch.add("a", 0, 1, [[1]])
        with pytest.raises(ValueError, match="all 1 slots are taken"):
            batch.add("b", 0, 1, [[1]])
        with pytest.raises(ValueError, match="'a' is in the batch already"):
            batch.add("a", 0, 1, [[1]])


class TestFlags:
    @given(turns(), st.integers(0, SLOTS))
    def test_pr41873_a_padded_row_never_prefills(self, history, padding):
        batch = driven(history)
        live = len(batch)
        flags = common_metadata(After, batch, padding).is_prefilling
        assert not flags[live:].any(), "pr41873: a padded row prefills; the flags must be cleared from it on"
        assert flags[:live].tolist() == (batch.computed[:live] < batch.prompt[:live]).tolist()

    @given(turns(), st.integers(0, SLOTS))
    def test_before_and_after_differ_in_flags_of_stale_padded_rows_alone(self, history, padding):
        batch = driven(history)
        before, after = (common_metadata(side, batch, padding) for side in (Before, After))
        for field in dataclasses.fields(before):
            left, right = getattr(before, field.name), getattr(after, field.name)
            if field.name == "is_prefilling":
                live, rows = len(batch), before.num_reqs
                left = left & (torch.arange(rows) < live)
                stale = (batch.computed < batch.prompt)[live:rows].any()
                assert torch.equal(before.is_prefilling, after.is_prefilling) == (not stale)
            assert torch.equal(left, right) if isinstance(left, torch.Tensor) else left == right, field.name

    @given(turns(), st.integers(0, SLOTS))
    def test_other_fields_of_padded_rows_are_neutral(self, history, padding):
        batch = driven(history)
        common = common_metadata(Before, batch, padding)
        live = len(batch)
        assert not common.seq_lens[live:].any()
        assert not common.seq_lens_cpu_upper_bound[live:].any()
        assert not common.block_table_tensor[live:].any()
        assert (common.query_start_loc[live:] == live).all()


class Story:
    """Issue 41841, told with three requests. `a` decodes from the start, `c` is moved while it still prefills."""

    A, B, C = 11, 12, 13
    """Each request's cache block."""

    def __init__(self, side, builder=MambaBuilder):
        self.batch = InputBatch(4, [1])
        self.runner = side(self.batch, 16, CPU)
        self.builder = builder(0, True, 4, CPU)
        self.batch.add("a", 20, 10, [[self.A]])
        self.batch.add("b", 20, 10, [[self.B]])
        self.step([1, 1], rows=4)  # both decode: a graph of four rows
        self.batch.add("c", 0, 8, [[self.C]])
        self.step([1, 1, 4], rows=3)  # c's first chunk: no graph
        self.batch.remove("a")
        self.batch.compact()  # c moves down, and leaves 4 of 8 behind in slot 2
        self.step([4, 1], rows=2)
        self.metadata = self.step([1, 1], rows=4)  # c and b decode: the graph of four rows again

    def step(self, query_lens, rows):
        lengths = np.array(query_lens, np.int32)
        self.runner.prepare(lengths)
        live = len(lengths)
        tokens = int(lengths.sum()) + rows - live
        step = PaddedStep(live, rows, tokens, int(lengths.max()), [torch.zeros(tokens, dtype=torch.int64)])
        [common] = self.runner.common_metadata(step)
        metadata = self.builder.build(common)
        self.batch.computed[:live] += lengths
        return metadata

    @property
    def replayed(self):
        """The cache blocks that the graph's four rows read and write."""
        return self.builder.state_indices_tensor_d[:, 0].tolist()


class TestMamba:
    def test_pr41873_before_a_replay_works_on_the_state_of_a_request_that_is_gone(self):
        story = Story(Before)
        assert (story.metadata.num_decodes, story.metadata.num_prefills) == (2, 2)
        assert story.metadata.num_prefill_tokens == 2, "tokens of padding pass for those of a prefill"
        assert story.replayed[:2] == [Story.A, Story.B], "c decodes in row 0, on the state of a"

    def test_pr41873_after_a_replay_works_on_the_states_of_its_own_rows(self):
        story = Story(After)
        assert (story.metadata.num_decodes, story.metadata.num_prefills) == (4, 0)
        assert story.replayed == [Story.C, Story.B, 0, 0], "pr41873: decode buffers were not refreshed"
        assert story.metadata.state_indices_tensor_d.data_ptr() == story.builder.state_indices_tensor_d.data_ptr()

    def test_the_rival_fix_mends_the_consumer_instead(self):
        story = Story(Before, GuardedMambaBuilder)
        assert story.replayed == [Story.C, Story.B, 0, 0]

    @given(turns(), st.integers(0, SLOTS))
    def test_the_rival_fix_splits_as_the_change_does(self, history, padding):
        batch = driven(history)
        mended = MambaBuilder(0, True, SLOTS, CPU).split(common_metadata(After, batch, padding), 1)
        rival = GuardedMambaBuilder(0, True, SLOTS, CPU).split(common_metadata(Before, batch, padding), 1)
        assert rival == mended

    @given(turns(), st.integers(0, SLOTS))
    def test_pr41873_a_padded_step_of_decodes_is_decodes_alone(self, history, padding):
        batch = driven(history)
        live = len(batch)
        batch.computed[:live] = batch.prompt[:live]
        common = common_metadata(After, batch, padding)
        split = MambaBuilder(0, True, SLOTS, CPU).split(common, 1)
        assert split == (common.num_reqs, 0, common.num_actual_tokens, 0), "pr41873: padding moved the boundary"

    def test_chunks_end_at_multiples_of_their_size_in_the_sequence(self):
        batch = InputBatch(2, [1])
        batch.add("resumed", 300, 2000, [[1]])
        batch.add("new", 0, 300, [[2]])
        runner = After(batch, 800, CPU)
        runner.prepare(np.array([500, 300], np.int32))
        step = PaddedStep(2, 2, 800, 500, [torch.zeros(800, dtype=torch.int64)])
        [common] = runner.common_metadata(step)
        metadata = MambaBuilder(0, False, 2, CPU).build(common)
        assert metadata.cu_chunk_seqlen_p.tolist() == [0, 212, 468, 500, 756, 800]
        assert metadata.seq_idx_p.tolist() == [0, 0, 0, 1, 1]
        assert metadata.last_chunk_indices_p.tolist() == [2, 4]
        assert metadata.has_initial_states_p.tolist() == [True, False]
        assert metadata.prep_initial_states


class TestGDNIsNotTheVictim:
    @given(turns(), st.integers(0, SLOTS))
    def test_its_split_gives_the_same_with_stale_and_clean_flags(self, history, padding):
        batch = driven(history)
        stale, clean = (common_metadata(side, batch, padding) for side in (Before, After))
        assert split_decodes_and_prefills(stale) == split_decodes_and_prefills(clean)
        assert split_decodes_and_prefills(stale) == Split(stale.num_reqs, 0, stale.num_actual_tokens, 0)

    @pytest.mark.parametrize("builder", [pr51913.Before, pr51565.After], ids=["0.27.0", "0.31.0"])
    @given(history=turns(), padding=st.integers(0, SLOTS))
    def test_its_builders_give_the_same_with_stale_and_clean_flags(self, builder, history, padding):
        batch = driven(history)
        stale, clean = (common_metadata(side, batch, padding) for side in (Before, After))
        builds = [builder(BuilderConfig(), CPU).build(0, common) for common in (stale, clean)]
        for field in dataclasses.fields(builds[0]):
            left, right = (getattr(build, field.name) for build in builds)
            if field.name != "nums_dict":
                assert torch.equal(left, right) if isinstance(left, torch.Tensor) else left == right, field.name
