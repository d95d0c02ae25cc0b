"""40654, the consumers: what stays equal, what a bound above the truth may change, and that nothing waits any more."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gdn_impl.pr40654 import common, cross_attention, flashmla_sparse, indexer, indexer_decode, mla, slices, splitter
from gdnbench.devices.base import CpuDevice
from gdnbench.devices.traced import TracedDevice
from gdnbench.drivers.registry import PARTS, load
from gdnbench.probes.equality import compare
from gdnbench.values.scenarios import Row, Scenario, named, parse
from strategies import steps

CPU = torch.device("cpu")
DRIVERS = {
    part.name: load(part.ours)
    for part in PARTS[40654]
    if part.ours.startswith(("gdnbench.drivers.bound_consumers", "gdnbench.drivers.bound_mla"))
}
MLA_FAMILY = ("mla", "flashmla sparse", "indexer")
ASYNC = "12q9s1kd8_2q200s1k_2q128/async"

LONE_PADDING = Scenario(
    rows=(Row(query_len=1, computed=1, prompt_len=1), Row(query_len=2, computed=1, prompt_len=1, drafts=1)),
    padded_rows=1,
    speculation=1,
    staged=True,
    asynchronous=True,
)
"""A padded row that is cut off from the row before it, whose bound fills a chunk by itself."""

every_part = pytest.mark.parametrize("part", DRIVERS)


def int32(*values):
    return torch.tensor(values, dtype=torch.int32)


def batch(query_lens, seq_lens, bound=None, **more):
    """A batch after the change; the bound is the truth where none is given."""
    starts = int32(0, *np.cumsum(query_lens))
    return common.After(
        query_start_loc=starts.clone(),
        query_start_loc_cpu=starts,
        seq_lens=int32(*seq_lens),
        num_reqs=len(query_lens),
        num_actual_tokens=sum(query_lens),
        max_query_len=max(query_lens),
        max_seq_len=max(seq_lens),
        block_table_tensor=torch.arange(len(query_lens) * 8, dtype=torch.int32).view(-1, 8),
        slot_mapping=torch.arange(sum(query_lens)),
        seq_lens_cpu_upper_bound=int32(*(bound or seq_lens)),
        **more,
    )


def run(part, state, scenario, device=None, bound=None):
    """A driver, and the fields of its first step; `bound` is added to each KV group's."""
    driver = DRIVERS[part](state, scenario, device or CpuDevice())
    with torch.inference_mode():
        inputs = driver.inputs()
        for group in inputs if bound is not None else ():
            group.seq_lens_cpu_upper_bound = bound(group.seq_lens_cpu_upper_bound)
        return driver, driver.fields(inputs, driver.run(inputs))


def trace(part, state, scenario):
    device = TracedDevice()
    with device.active(), torch.inference_mode():
        driver = DRIVERS[part](state, scenario, device)
        inputs = driver.inputs()
        with device.record() as trace:
            driver.run(inputs)
    return trace


class TestBeforeAndAfterAreEqual:
    @every_part
    @pytest.mark.parametrize("scenario", named(), ids=lambda s: s.name)
    def test_on_named_scenarios(self, part, scenario):
        if reason := DRIVERS[part].refuses(scenario):
            pytest.skip(reason)
        before, after = (DRIVERS[part](state, scenario, CpuDevice()) for state in ("before", "after"))
        assert compare(before, after) == []

    @every_part
    @given(scenario=steps)
    @settings(deadline=None, max_examples=40)
    def test_on_random_scenarios(self, part, scenario):
        assume(DRIVERS[part].refuses(scenario) is None)
        before, after = (DRIVERS[part](state, scenario, CpuDevice()) for state in ("before", "after"))
        assert compare(before, after) == []

    @every_part
    def test_every_field_is_promised_where_the_bound_is_exact(self, part):
        driver, fields = run(part, "after", parse("14q9s1kd8_2q300s1k_2q128"))
        assert len(fields) > 5
        free = {name.rpartition(".")[2] for name in fields if driver.may_differ(name)}
        assert free == ({"seq_lens_cpu_upper_bound"} if part == "slices" else set())


def raised(scenario, seed):
    """Raises the bound of rows that decode by a random number of tokens: no place in any batch is so large."""
    decoding = torch.tensor([not row.is_prefilling for row in scenario.rows] + [False] * scenario.padded_rows)
    excess = torch.from_numpy(np.random.default_rng(seed).integers(0, 100_000, len(decoding), dtype=np.int32))
    return lambda bound: bound + excess * decoding


class TestABoundAboveTheTruth:
    """Rows that decode may have any bound at or above the truth; those that prefill have the truth."""

    @pytest.mark.parametrize("part", ["split", "cross attention", "mla"])
    @given(scenario=steps, seed=st.integers(0, 99))
    @settings(deadline=None, max_examples=40)
    def test_changes_nothing(self, part, scenario, seed):
        _, told = run(part, "before", scenario)
        _, bounded = run(part, "after", scenario, bound=raised(scenario, seed))
        assert told.keys() == bounded.keys()
        for name in told:
            assert torch.equal(*map(torch.as_tensor, (told[name], bounded[name]))) if told[name] is not None else True

    @given(scenario=steps, seed=st.integers(0, 99))
    @settings(deadline=None, max_examples=40)
    def test_makes_a_micro_batch_no_shorter_than_it_is(self, scenario, seed):
        assume(DRIVERS["slices"].refuses(scenario) is None)
        _, told = run("slices", "before", scenario)
        _, bounded = run("slices", "after", scenario, bound=raised(scenario, seed))
        bounds = [name for name in bounded if name.endswith("seq_lens_cpu_upper_bound")]
        for name in bounds:
            part = name.removesuffix("seq_lens_cpu_upper_bound")
            bound, truth = bounded[name], bounded[f"{part}seq_lens"]
            assert (bound >= truth).all()
            assert bounded[f"{part}max_seq_len"] == int(bound.max()) >= told[f"{part}max_seq_len"]
        assert len(bounds) == 2 * scenario.kv_groups

    @given(scenario=steps, seed=st.integers(0, 99))
    @settings(deadline=None, max_examples=40)
    def test_makes_the_sparse_workspace_larger_and_no_more(self, scenario, seed):
        excess = raised(scenario, seed)
        driver = DRIVERS["flashmla sparse"]("after", scenario, CpuDevice())
        driver.builders[0].workspace_tokens += 10**6
        with torch.inference_mode():
            group = driver.inputs()[0]
            group.seq_lens_cpu_upper_bound = excess(group.seq_lens_cpu_upper_bound)
            result = driver.builders[0].build(group)
        prefill = result.prefill
        assume(prefill is not None)
        assert prefill.seq_lens.equal(group.seq_lens[result.split.num_decodes :])
        for chunk in prefill.chunks:
            ends = [*chunk.workspace_starts[1:].tolist(), int(chunk.chunk_tot_seqlen)]
            room = torch.tensor(ends) - chunk.workspace_starts
            assert (room >= chunk.seq_lens).all()
        assert sum(len(chunk.seq_lens) for chunk in prefill.chunks) == result.split.num_prefills

    @given(scenario=steps, seed=st.integers(0, 99))
    @example(scenario=LONE_PADDING, seed=4)
    @settings(deadline=None, max_examples=40)
    def test_moves_no_span_of_the_indexer(self, scenario, seed):
        excess = raised(scenario, seed)
        driver = DRIVERS["indexer"]("after", scenario, CpuDevice())
        with torch.inference_mode():
            group = driver.inputs()[0]
            group.seq_lens_cpu_upper_bound = excess(group.seq_lens_cpu_upper_bound)
            result = driver.builders[0].build(group)
        assume(result.prefill)
        place = result.split.num_decode_tokens
        for chunk in result.prefill:
            assert (chunk.token_start, chunk.token_end) == (place, place + len(chunk.cu_seqlen_ks))
            place = chunk.token_end
            keys, starts, ends = spans(group, chunk)
            assert int(chunk.total_seq_lens) >= len(keys)
            assert chunk.token_to_seq[: len(keys)].tolist() == keys
            assert (chunk.cu_seqlen_ks.tolist(), chunk.cu_seqlen_ke.tolist()) == (starts, ends)
        assert place == scenario.num_tokens


def spans(group, chunk):
    """By hand: the row of each key of a chunk, and where each query token's keys start and end."""
    token_starts = group.query_start_loc_cpu.tolist()
    first = max(row for row in range(group.num_reqs) if token_starts[row] <= chunk.token_start)
    keys, starts, ends = [], [], []
    for row in range(first, first + chunk.num_reqs):
        begin, length = len(keys), int(group.seq_lens[row])
        for token in range(token_starts[row], token_starts[row + 1]):
            if chunk.token_start <= token < chunk.token_end:
                starts.append(begin)
                ends.append(begin + length - (token_starts[row + 1] - token) + 1)
        keys += [row - first] * length
    return keys, starts, ends


class Bound(torch.Tensor):
    """A bound that refuses to be an index, and so does whatever is computed from it."""

    INDEXING = (
        *(torch.gather, torch.index_select, torch.take, torch.Tensor.index_select, torch.Tensor.gather),
        torch.Tensor.__index__,  # the end of a slice
    )

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        places = ()
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__):
            places = args[1] if isinstance(args[1], tuple) else (args[1],)
        if func in cls.INDEXING or any(isinstance(place, cls) for place in places):
            raise AssertionError("40654: a bound was used as an index")
        return super().__torch_function__(func, types, args, kwargs or {})


class TestABoundIsNeverAnIndex:
    @every_part
    @pytest.mark.parametrize("scenario", [s.name for s in named() if not s.capture])
    def test_by_no_consumer(self, part, scenario):
        if reason := DRIVERS[part].refuses(parse(scenario)):
            pytest.skip(reason)
        _, plain = run(part, "after", parse(scenario))
        _, guarded = run(part, "after", parse(scenario), bound=lambda bound: bound.as_subclass(Bound))
        assert plain.keys() == guarded.keys()

    @pytest.mark.parametrize("use", [lambda x, b: x[b], lambda x, b: x[: b[0]], lambda x, b: x.index_select(0, b + 0)])
    def test_or_the_guard_would_tell(self, use):
        with pytest.raises(AssertionError, match="used as an index"):
            use(torch.arange(9), int32(2, 3).as_subclass(Bound))


def waits(trace):
    """Operations for which the host waits until the device has caught up, copies from pageable memory apart.

    Those are the MLA builders' own, on both sides: chunk starts and token numbers are sent from memory not pinned.
    """
    return [str(operation) for operation in trace.operations if operation.blocks and operation.kind != "h2d_pageable"]


class TestNothingWaits:
    @every_part
    @pytest.mark.parametrize("scenario", [s.name for s in named() if not s.capture])
    def test_after_the_change(self, part, scenario):
        if reason := DRIVERS[part].refuses(parse(scenario)):
            pytest.skip(reason)
        after = trace(part, "after", parse(scenario))
        assert waits(after) == [], "40654: a consumer waits for the device again"
        assert after.costs().d2h == 0, "40654: a consumer fetches from the device again"
        if part in ("slices", "split", "cross attention", "indexer"):
            assert after.costs().syncs == 0, "40654: a consumer waits for the device again"

    @pytest.mark.parametrize("part", ["slices", "split", "cross attention", "indexer"])
    @pytest.mark.parametrize("scenario", [ASYNC, "14q1s1k_2q300s1k/v2", "14q1s1k_2q300s1k/v2/g3"])
    def test_before_it_each_group_fetched_the_lengths_where_the_host_had_none(self, part, scenario):
        assert trace(part, "before", parse(scenario)).costs().d2h == parse(scenario).kv_groups

    @pytest.mark.parametrize("part", ["slices", "split", "cross attention"])
    def test_before_it_nothing_waited_where_the_host_had_them(self, part):
        assert trace(part, "before", parse("14q1s1k_2q300s1k")).costs().syncs == 0

    @pytest.mark.parametrize("part", ["mla", "flashmla sparse"])
    @pytest.mark.parametrize("scenario", [ASYNC, "q2k", "4q512s2k", "15q1s1k_q2k"])
    def test_before_it_mla_fetched_in_every_step_with_a_prefill(self, part, scenario):
        before, after = (trace(part, state, parse(scenario)) for state in ("before", "after"))
        assert (before.costs().d2h, len(waits(before))) == (1, 1)
        assert before.costs().syncs == after.costs().syncs + 1

    @pytest.mark.parametrize("part", MLA_FAMILY)
    def test_decodes_alone_never_fetched_in_the_mla_family(self, part):
        assert trace(part, "before", parse("16q1s1k/v2")).costs().d2h == 0


class TestCommonMetadata:
    def test_a_fetched_copy_is_remembered(self):
        step = batch([1, 4], [6, 4])
        assert step.seq_lens_cpu is step.seq_lens_cpu
        assert step.num_computed_tokens_cpu.tolist() == [5, 0]
        assert step.num_computed_tokens_cpu is step.num_computed_tokens_cpu
        assert step.compute_num_computed_tokens().tolist() == [5, 0]

    def test_a_missing_bound_is_named(self):
        step = batch([1], [6])
        step.seq_lens_cpu_upper_bound = None
        with pytest.raises(AssertionError, match="no bound"):
            splitter.After().split(step)


class TestSlices:
    def test_a_request_across_the_cut_belongs_to_both_parts(self):
        step = batch([3, 5], [10, 20], bound=[12, 21])
        parts = slices.cut(np.array([3, 5], np.int32), tokens=8, rows=2)
        first, second = slices.After().split(parts, step)
        assert first.query_start_loc.tolist() == first.query_start_loc_cpu.tolist() == [0, 3, 4]
        assert first.seq_lens.tolist() == [10, 16]
        assert first.seq_lens_cpu_upper_bound.tolist() == [12, 17]
        assert (first.max_seq_len, first.max_query_len, first.num_actual_tokens) == (17, 3, 4)
        assert second.query_start_loc.tolist() == [0, 4]
        assert (second.seq_lens.tolist(), second.seq_lens_cpu_upper_bound.tolist()) == ([20], [21])
        assert (second.slot_mapping.tolist(), second.num_reqs) == ([4, 5, 6, 7], 1)
        assert step.seq_lens_cpu_upper_bound.tolist() == [12, 21]
        assert step.seq_lens.tolist() == [10, 20]

    def test_the_last_part_takes_the_padding(self):
        parts = slices.cut(np.ones(5, np.int32), tokens=8, rows=8)
        assert parts == [(slice(0, 4), slice(0, 4)), (slice(4, 8), slice(4, 8))]


def test_the_split_tells_resumed_chunks_from_first_ones():
    step = batch([1, 1, 3, 2], [5, 6, 9, 2], bound=[7, 8, 9, 2])
    assert tuple(map(int, splitter.After().split(step))) == (2, 1, 1, 2, 3, 2)


def test_cross_attention_writes_the_encoder_tokens_of_first_steps_alone():
    step = batch([1, 4], [6, 4], encoder_seq_lens=int32(40, 20), encoder_seq_lens_cpu=np.array([40, 20]))
    step.block_table_tensor = int32(1, 2, 3, 7, 8, 9).view(2, 3)
    cross = cross_attention.After(16, CPU).build(step)
    assert cross.slot_mapping.tolist() == [*range(112, 128), *range(128, 132)]
    assert (cross.batch.seq_lens.tolist(), cross.batch.max_seq_len, cross.batch.causal) == ([40, 20], 40, False)
    assert cross.batch.encoder_seq_lens_cpu.tolist() == [0, 20]
    assert step.encoder_seq_lens_cpu.tolist() == [40, 20]


def test_mla_takes_the_context_in_chunks_of_whole_pages():
    step = batch([1, 8, 8, 8], [77, 8, 108, 308], bound=[80, 8, 108, 308])
    prefill = mla.After(1, workspace_tokens=300, page_size=64, device=CPU).build(step).prefill
    context = prefill.chunked_context
    assert context.starts.tolist() == [[0] * 3, [128] * 3, [256] * 3]
    assert context.seq_lens.tolist() == [[0, 100, 128], [0, 0, 128], [0, 0, 44]]
    assert context.cu_seq_lens.tolist() == [[0, 0, 100, 228], [0, 0, 0, 128], [0, 0, 0, 44]]
    assert (context.seq_tot, context.max_seq_lens) == ([228, 128, 44], [128, 128, 44])
    assert context.token_to_seq[0].tolist() == [1] * 100 + [2] * 128
    assert context.token_to_seq[2].tolist() == [2] * 44 + [0] * 184
    assert prefill.query_start_loc.tolist() == [0, 8, 16, 24]


def test_flashmla_sparse_plans_each_chunk_from_the_workspace_s_start():
    step = batch([1, 10, 15, 20, 5], [9, 10, 15, 20, 5])
    builder = flashmla_sparse.After(1, max_model_len=6, max_rows=8, max_tokens=64, device=CPU)
    result = builder.build(step)
    assert result.prefill.workspace_starts.tolist() == [0, 10, 0, 20]
    assert [(c.req_start_idx, c.tokens_slice, int(c.chunk_tot_seqlen)) for c in result.prefill.chunks] == [
        (0, slice(1, 26), 25),
        (2, slice(26, 51), 25),
    ]
    assert result.prefill.request_ids.tolist() == [-1] + [0] * 10 + [1] * 15 + [2] * 20 + [3] * 5
    assert result.req_id_per_token.tolist() == [0] + [1] * 10 + [2] * 15 + [3] * 20 + [4] * 5


@pytest.mark.parametrize("state", [indexer.Before, indexer.After])
def test_the_indexer_cuts_rows_by_keys_and_a_large_row_by_queries(state):
    step = batch([1, 2, 3, 4], [9, 4, 3, 10])
    decode = indexer_decode.DecodeHalf(0, max_rows=8, max_tokens=64, max_blocks=8, device=CPU)
    chunks = state(decode, max_keys=12, max_scores=35, device=CPU).build(step).prefill
    assert [(c.token_start, c.token_end, c.num_reqs, bool(c.skip_kv_gather)) for c in chunks] == [
        (1, 6, 2, False),
        (6, 9, 1, False),
        (9, 10, 1, True),
    ]
    assert chunks[0].cu_seqlen_ks.tolist() == [0, 0, 4, 4, 4]
    assert chunks[0].cu_seqlen_ke.tolist() == [3, 4, 5, 6, 7]
    assert chunks[0].token_to_seq.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert chunks[1].cu_seqlen_ke.tolist() == [7, 8, 9]
    assert (chunks[2].cu_seqlen_ke.tolist(), chunks[2].cu_seq_lens.tolist()) == ([10], [0, 10])
