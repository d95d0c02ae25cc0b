"""40654 where the bound is made: it never falls below the truth, and is exact where it is said to be.

Asynchronous speculation is played through in small: a step is prepared before the host knows which drafts of the last
one were accepted, so it takes all of them; the correction arrives a step later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gdn_impl.pr40654 import common, proposer, runner_v1, runner_v2
from gdnbench.devices.base import CpuDevice
from gdnbench.devices.traced import TracedDevice
from gdnbench.drivers.bound_producers import V1RunnerDriver, V2PostProcessingDriver, V2PreparationDriver
from gdnbench.drivers.bound_proposer import LoopDriver, PreparationDriver
from gdnbench.probes.equality import compare
from gdnbench.values.scenarios import named
from strategies import steps

CPU = torch.device("cpu")
DEPTH = 4
PADDING = 3
MODEL_LEN = 100

PARTS = (V1RunnerDriver, V2PreparationDriver, V2PostProcessingDriver, PreparationDriver, LoopDriver)


@dataclass
class Step:
    """What the scheduler asks of each row, what was computed before, and which drafts are going to be rejected."""

    scheduled: np.ndarray
    drafts: np.ndarray
    rejected: np.ndarray
    computed: np.ndarray
    prefills: np.ndarray


@st.composite
def lives(draw):
    """The steps of up to four requests from their first chunk on: prefill in chunks, then speculation."""
    prompts = np.array(draw(st.lists(st.integers(1, 20), min_size=1, max_size=4)), np.int32)
    computed = np.zeros_like(prompts)
    history = []
    for _ in range(draw(st.integers(1, 10))):
        prefills = computed < prompts
        chunks = np.array([draw(st.integers(1, 8)) for _ in prompts], np.int32)
        drafts = np.where(prefills, 0, [draw(st.integers(0, DEPTH)) for _ in prompts]).astype(np.int32)
        rejected = np.array([draw(st.integers(0, int(most))) for most in drafts], np.int32)
        scheduled = np.where(prefills, np.minimum(chunks, prompts - computed), drafts + 1).astype(np.int32)
        history.append(Step(scheduled, drafts, rejected, computed.copy(), prefills))
        computed = computed + scheduled - rejected
    return prompts, history


def v1_bound(believed, step, runner=runner_v1.After, asynchronous=True):
    """The common metadata of a padded step of a V1 runner that believes `believed` tokens to be computed."""
    rows = len(believed)
    made = runner(16, asynchronous, CPU)
    made.computed[:rows] = torch.from_numpy(believed)
    made.optimistic_seq_lens.fill_(99)  # what an earlier step left
    made.add_lengths(step.scheduled)
    table = torch.ones(16, 1, dtype=torch.int32)
    slots = torch.zeros(0, dtype=torch.int64)
    (metadata,) = made.metadata(rows, rows + PADDING, 0, int(step.scheduled.max()), [table], slots)
    return metadata


class TestRunnerV1:
    @given(lives())
    def test_40654_the_bound_never_falls_below_the_truth(self, life):
        _, history = life
        believed = np.zeros_like(history[0].computed)
        unknown = np.zeros_like(believed)
        for step in history:
            metadata = v1_bound(believed, step)
            bound = metadata.seq_lens_cpu_upper_bound.numpy()
            truth = step.computed + step.scheduled
            rows = len(truth)
            assert (bound[:rows] >= truth).all()
            assert (bound[:rows] - truth == unknown).all(), "the slack is what the last step rejected, no more"
            assert (bound[:rows] == truth)[step.prefills].all()
            assert (bound[rows:] == 0).all()
            assert metadata.max_seq_len == bound.max()
            believed = believed - unknown + step.scheduled
            unknown = step.rejected

    @given(lives())
    def test_40654_the_bound_is_exact_without_asynchronous_speculation(self, life):
        for step in life[1]:
            metadata = v1_bound(step.computed, step, asynchronous=False)
            bound = metadata.seq_lens_cpu_upper_bound
            assert bound[: len(step.computed)].tolist() == (step.computed + step.scheduled).tolist()
            assert bound is metadata.seq_lens_cpu

    @given(lives())
    def test_before_40654_a_consumer_gets_the_host_copy_or_nothing(self, life):
        step = life[1][-1]
        for asynchronous in (True, False):
            metadata = v1_bound(step.computed, step, runner_v1.Before, asynchronous)
            assert not hasattr(metadata, "seq_lens_cpu_upper_bound")
            assert (metadata._seq_lens_cpu is None) == asynchronous

    def test_each_group_has_its_own_table_and_padded_rows_the_null_block(self):
        runner = runner_v1.After(8, True, CPU)
        runner.add_lengths(np.ones(2, np.int32))
        tables = [torch.full((8, 2), group, dtype=torch.int32) for group in (5, 6)]
        groups = runner.metadata(2, 4, 4, 1, tables, torch.zeros(4, dtype=torch.int64))
        assert [group.block_table_tensor[:, 0].tolist() for group in groups] == [[5, 5, 0, 0], [6, 6, 0, 0]]


def v2_runner(kind, rows, prompts):
    runner = kind(16, 256, MODEL_LEN, CPU)
    for row in range(rows):
        runner.requests.add(row, 0, int(prompts[row]))
    return runner


def v2_prepared(runner, step):
    rows = len(step.scheduled)
    scheduled = dict(enumerate(step.scheduled.tolist()))
    drafts = {row: count for row, count in enumerate(step.drafts.tolist()) if count}
    return runner.prepare(scheduled, drafts, rows + PADDING, int(step.scheduled.sum()))


class TestRunnerV2:
    @given(lives(), st.booleans())
    def test_40654_the_bound_never_falls_below_the_truth(self, life, pools):
        prompts, history = life
        rows = len(prompts)
        runner = v2_runner(runner_v2.After, rows, prompts)
        rejected = np.zeros_like(prompts)
        for step in history:
            batch = v2_prepared(runner, step)
            bound = batch.seq_lens_bound.numpy()
            truth = (step.computed + step.scheduled)[batch.slots]
            assert (bound[:rows] >= truth).all()
            assert (bound[:rows] - truth == rejected[batch.slots]).all(), "no rejection is ever made good"
            assert (bound[:rows] == truth)[step.prefills[batch.slots]].all()
            assert (bound[rows:] == 0).all()
            (metadata,) = runner.metadata(batch, [torch.zeros(0)], [torch.zeros(0)])
            assert metadata.seq_lens_cpu_upper_bound.tolist() == bound.tolist()
            assert metadata.max_seq_len == bound.max()
            if pools:
                runner.postprocess_pooling(batch)
            else:
                runner.postprocess(batch)
            rejected = rejected + step.rejected

    @given(lives())
    def test_before_40654_the_longest_row_may_be_as_long_as_the_model_allows(self, life):
        prompts, history = life
        runner = v2_runner(runner_v2.Before, len(prompts), prompts)
        batch = v2_prepared(runner, history[0])
        (metadata,) = runner.metadata(batch, [torch.zeros(0)], [torch.zeros(0)])
        assert batch.seq_lens_bound is None
        assert not hasattr(metadata, "seq_lens_cpu_upper_bound")
        assert metadata.max_seq_len == MODEL_LEN

    @given(lives())
    def test_prefills_are_counted_as_before_40654(self, life):
        prompts, history = life
        runners = [v2_runner(kind, len(prompts), prompts) for kind in (runner_v2.Before, runner_v2.After)]
        for step in history:
            for runner in runners:
                runner.postprocess(v2_prepared(runner, step))
            before, after = (runner.requests.computed_prefill for runner in runners)
            assert (before == after).all()
            assert (before <= runners[0].requests.prefill_len).all()

    @pytest.mark.parametrize("finish", [runner_v2.After.postprocess, runner_v2.After.postprocess_pooling])
    def test_40654_a_step_advances_the_mirror_by_the_scheduled_tokens(self, finish):
        runner = runner_v2.After(4, 16, MODEL_LEN, CPU)
        runner.requests.add(1, 7, 5)
        runner.requests.add(3, 9, 5)
        batch = runner.prepare({1: 3, 3: 4}, {1: 2, 3: 3}, 2, 7)
        assert batch.seq_lens_bound.tolist() == [10, 13]
        assert runner.requests.computed[[1, 3]].tolist() == [7, 9]
        finish(runner, batch)
        assert runner.requests.computed[[1, 3]].tolist() == [10, 13]
        assert runner.requests.computed[[0, 2]].tolist() == [0, 0]

    def test_a_slot_given_to_a_new_request_forgets_the_old_one(self):
        requests = runner_v2.MirroredRequests(2)
        requests.add(0, 0, 50)
        requests.advance(np.array([0]), np.array([50]))
        requests.add(0, 3, 9)
        assert requests.bound(np.array([0]), np.array([2]), 1).tolist() == [5]

    def test_rows_are_ordered_by_their_tokens(self):
        runner = runner_v2.After(8, 16, MODEL_LEN, CPU)
        batch = runner.prepare({0: 5, 1: 1, 2: 3, 3: 1}, {2: 2}, 6, 10)
        assert batch.slots.tolist() == batch.slots_device.tolist() == [1, 3, 2, 0]
        assert batch.query_start_loc.tolist() == [0, 1, 2, 5, 10, 10, 10]
        assert batch.logits_starts.tolist() == [0, 1, 2, 5, 6]


@st.composite
def drafted(draw):
    """Rows as the drafter gets them: tokens, lengths, drafts, and what was sampled."""
    rows = draw(st.lists(st.tuples(st.integers(0, 50), st.integers(0, DEPTH)), min_size=1, max_size=5))
    drafts = [count for _, count in rows]
    sampled = [draw(st.integers(1, count + 1)) for count in drafts]
    return [context for context, _ in rows], drafts, sampled


def target_step(device, contexts, drafts, known=True, slack=0, kind=common.After):
    """The target's metadata; `slack` is how much the host believes too much, `known` whether it has exact copies."""
    lengths = torch.tensor(contexts, dtype=torch.int32) + torch.tensor(drafts, dtype=torch.int32) + 1
    starts = torch.tensor([0, *np.cumsum(np.array(drafts) + 1)], dtype=torch.int32)
    bound = lengths + slack
    return kind(
        query_start_loc=device.put(starts),
        query_start_loc_cpu=starts,
        seq_lens=device.put(lengths),
        num_reqs=len(drafts),
        num_actual_tokens=int(starts[-1]),
        max_query_len=max(drafts) + 1,
        max_seq_len=int(bound.max()),
        block_table_tensor=device.put(torch.ones(len(drafts), 1, dtype=torch.int32)),
        slot_mapping=device.put(torch.arange(int(starts[-1])) * 2),
        _seq_lens_cpu=bound if known else None,
        _num_computed_tokens_cpu=torch.tensor(contexts, dtype=torch.int32) if known else None,
        **({"seq_lens_cpu_upper_bound": bound} if kind is common.After else {}),
    )


class TestProposer:
    @given(drafted())
    def test_40654_preparation_takes_rejected_tokens_off_the_bound(self, rows):
        contexts, drafts, sampled = rows
        step = target_step(CpuDevice(), contexts, drafts)
        batch, remaining = proposer.After(64, MODEL_LEN, CPU).prepare(step, sampled, drafts)
        truth = [context + got for context, got in zip(contexts, sampled, strict=True)]
        assert batch.seq_lens_cpu_upper_bound.tolist() == batch.seq_lens.tolist() == truth
        assert batch.max_seq_len == max(truth)
        starts = step.query_start_loc_cpu.tolist()
        kept = [start + i for start, got in zip(starts, sampled, strict=False) for i in range(got)]
        assert remaining.tolist() == kept
        assert batch.slot_mapping.tolist() == [2 * token for token in kept]
        assert batch.query_start_loc.tolist() == [0, *np.cumsum(sampled)]

    @given(drafted(), st.integers(0, 3), st.integers(2, 6))
    def test_40654_each_further_pass_adds_one_to_the_bound(self, rows, slack, depth):
        contexts, drafts, sampled = rows
        step = target_step(CpuDevice(), contexts, drafts, known=False, slack=slack)
        bound = step.seq_lens_cpu_upper_bound.clone()
        rejected = torch.tensor(drafts, dtype=torch.int32) + 1 - torch.tensor(sampled, dtype=torch.int32)
        count = 0
        for batch in proposer.After(64, MODEL_LEN, CPU).passes(step, rejected, depth):
            count += 1
            truth = [context + got + count for context, got in zip(contexts, sampled, strict=True)]
            assert batch.seq_lens.tolist() == truth
            assert batch.seq_lens_cpu_upper_bound.tolist() == (bound + count).tolist()
            assert (batch.seq_lens_cpu_upper_bound >= batch.seq_lens).all()
            assert batch._seq_lens_cpu is None
        assert count == depth - 1

    @given(drafted(), st.integers(2, 6))
    def test_40654_adds_two_where_copy_and_bound_are_one_tensor(self, rows, depth):
        contexts, drafts, _ = rows
        steps = {
            kind: target_step(CpuDevice(), contexts, drafts, kind=metadata)
            for kind, metadata in ((proposer.Before, common.Before), (proposer.After, common.After))
        }
        lengths = steps[proposer.After].seq_lens.clone()
        for kind, step in steps.items():
            *_, last = kind(64, MODEL_LEN, CPU).passes(step, None, depth)
            assert last is step
            assert last.seq_lens.tolist() == (lengths + depth - 1).tolist()
        assert steps[proposer.Before].seq_lens_cpu.tolist() == (lengths + depth - 1).tolist()
        assert steps[proposer.After].seq_lens_cpu.tolist() == (lengths + 2 * (depth - 1)).tolist()

    def test_a_row_that_the_model_cannot_lengthen_starts_anew_and_the_bound_still_holds(self):
        step = target_step(CpuDevice(), [MODEL_LEN - 2], [0], known=False)
        for batch, length in zip(proposer.After(8, MODEL_LEN, CPU).passes(step, None, 4), (100, 1, 2), strict=True):
            assert batch.seq_lens.tolist() == [length]
            assert batch.seq_lens_cpu_upper_bound.item() >= length
            assert batch.max_seq_len == MODEL_LEN

    @pytest.mark.parametrize(
        ("kind", "metadata", "waits"), [(proposer.Before, common.Before, 1), (proposer.After, common.After, 0)]
    )
    def test_40654_preparation_no_longer_asks_the_device_for_a_withheld_copy(self, kind, metadata, waits):
        device = TracedDevice()
        with device.active(), torch.inference_mode():
            step = target_step(device, [5, 9], [2, 0], known=False, kind=metadata)
            drafter = kind(64, MODEL_LEN, device.torch_device)
            with device.record() as trace:
                drafter.prepare(step, [1, 1], [2, 0])
        assert trace.costs().d2h == waits


class TestEqualMetadata40654:
    """All but the bound, and what it alone makes known, is as before."""

    @pytest.mark.parametrize(
        ("driver", "scenario"),
        [(driver, scenario) for driver in PARTS for scenario in named() if driver.refuses(scenario) is None],
        ids=lambda value: getattr(value, "part", None) or value.name,
    )
    def test_on_named_scenarios(self, driver, scenario):
        assert compare(driver("before", scenario, CpuDevice()), driver("after", scenario, CpuDevice())) == []

    @given(scenario=steps)
    def test_on_random_scenarios(self, scenario):
        for driver in PARTS:
            if driver.refuses(scenario) is None:
                assert compare(driver("before", scenario, CpuDevice()), driver("after", scenario, CpuDevice())) == []

    @given(scenario=steps)
    def test_the_bound_handed_on_is_what_the_host_believes(self, scenario):
        driver = V1RunnerDriver if scenario.runner == "V1" else V2PreparationDriver
        after = driver("after", scenario, CpuDevice())
        inputs = after.inputs()
        fields = after.fields(inputs, after.run(inputs))
        bound = fields["seq_lens_cpu_upper_bound"].numpy()
        believed = after.arrays.seq_lens_bound
        if scenario.runner == "V2":
            believed = believed[after.order][: after.rows_padded]
        assert (bound == believed).all()
        assert (bound >= fields["seq_lens"].numpy()).all()
