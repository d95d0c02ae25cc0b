"""The GDN changes: equal metadata where it is promised, right values where it is not, and the guards they lacked."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gdn_impl import pr51565, pr51913, pr52078, pr55404
from gdn_impl.batch import CommonMetadata
from gdn_impl.builder import BuilderConfig
from gdn_impl.catalog import CATALOG
from gdnbench.devices.base import CpuDevice
from gdnbench.drivers.registry import PARTS, load
from gdnbench.probes.equality import compare
from gdnbench.values.scenarios import named, parse
from strategies import captures, steps

CPU = torch.device("cpu")


def differences(change, scenario, part=0):
    driver = load(PARTS[change][part].ours)
    with torch.inference_mode():
        return compare(driver("before", scenario, CpuDevice()), driver("after", scenario, CpuDevice()))


def batch(lengths, sequence_lens, prefilling=None, **changes):
    """Common metadata of rows with these query lengths and sequence lengths."""
    starts = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32)
    rows = len(lengths)
    fields = {
        "query_start_loc": starts.clone(),
        "query_start_loc_cpu": starts,
        "seq_lens": torch.tensor(sequence_lens, dtype=torch.int32),
        "num_reqs": rows,
        "num_actual_tokens": int(starts[-1]),
        "max_query_len": max(lengths, default=0),
        "max_seq_len": max(sequence_lens, default=0),
        "block_table_tensor": torch.arange(1, rows * 9 + 1, dtype=torch.int32).view(rows, 9),
        "slot_mapping": torch.zeros(int(starts[-1]), dtype=torch.int64),
        "seq_lens_cpu_upper_bound": torch.tensor(sequence_lens, dtype=torch.int32),
        "is_prefilling": None if prefilling is None else torch.tensor(prefilling),
    }
    return CommonMetadata(**(fields | changes))


def build(builder, common, drafts=None, speculation=0, staged=False):
    config = BuilderConfig(speculation=speculation, full_graphs=staged)
    accepted = torch.ones(common.num_reqs, dtype=torch.int32)
    drafts = None if drafts is None else torch.tensor(drafts, dtype=torch.int32)
    with torch.inference_mode():
        return builder(config, CPU).build(0, common, accepted, drafts)


class TestEqualMetadataIsPromised:
    @pytest.mark.parametrize("change", [51913, 52078])
    @pytest.mark.parametrize("scenario", [s for s in named() if not s.capture], ids=lambda s: s.name)
    def test_on_named_scenarios(self, change, scenario):
        assert CATALOG[change].promises_equal
        assert differences(change, scenario) == []

    @pytest.mark.parametrize("change", [51913, 52078])
    @given(scenario=steps)
    def test_on_random_scenarios(self, change, scenario):
        assert differences(change, scenario) == []

    @given(scenario=captures.filter(lambda s: s.staged))
    @example(scenario=parse("16q1s1k/capture"))
    @example(scenario=parse("16q9s1k/spec8/capture"))
    def test_at_capture(self, scenario):
        assert differences(55404, scenario) == []

    @given(scenario=steps)
    def test_51565_alters_nothing_but_first_chunks_of_one_token_and_padding(self, scenario):
        drafted = any(row.drafts > 0 for row in scenario.rows)
        short_first_chunk = any(row.query_len == 1 and row.computed == 0 for row in scenario.rows)
        if drafted or not (short_first_chunk or scenario.padded_rows):
            assert differences(51565, scenario) == []


class TestComputedLengths51913:
    class Watched(CommonMetadata):
        asked = 0

        def compute_num_computed_tokens(self):
            type(self).asked += 1
            return super().compute_num_computed_tokens()

    def asked(self, builder, lengths, sequence_lens, **kwargs):
        self.Watched.asked = 0
        common = batch(lengths, sequence_lens)
        common.__class__ = self.Watched
        build(builder, common, **kwargs)
        return self.Watched.asked

    @pytest.mark.parametrize("after", [pr51913.After, pr52078.After, pr55404.After, pr51565.After])
    @pytest.mark.parametrize("staged", [True, False])
    def test_a_decode_step_never_asks_for_computed_lengths_51913(self, after, staged):
        assert self.asked(after, [1] * 16, [100] * 16, staged=staged) == 0
        assert self.asked(after, [9] * 4, [100] * 4, drafts=[8] * 4, speculation=8, staged=staged) == 0

    def test_before_51913_every_step_asked(self):
        assert self.asked(pr51913.Before, [1] * 16, [100] * 16) == 1

    def test_a_prefill_still_asks(self):
        assert self.asked(pr51913.After, [1, 7], [100, 7]) == 1

    def test_groups_remember_apart(self):
        common = batch([7], [7])
        copy = common.replace()
        common.compute_num_computed_tokens()
        assert copy._computed is None


class TestDraftMask52078:
    TRUTH = (
        (None, 0),
        ([-1, -1, -1], 0),
        ([-1, 0, -1], 0),
        ([0, 0, 0], 0),
        ([2, -1, -1], 1),
        ([2, 0, -1], 2),
        ([8, 8, 8], 3),
    )

    @pytest.mark.parametrize("builder", [pr52078.Before, pr52078.After])
    @pytest.mark.parametrize(("drafts", "rows"), TRUTH)
    def test_truth_table_of_draft_edges_52078(self, builder, drafts, rows):
        lengths = [1 + max(0, n) for n in drafts or [-1, -1, -1]]
        metadata = build(builder, batch(lengths, [100] * 3), drafts, speculation=8)
        assert metadata.num_spec_decodes == rows
        assert (metadata.spec_sequence_masks is None) == (rows == 0)

    @pytest.mark.parametrize("builder", [pr52078.Before, pr52078.After])
    def test_without_speculation_drafts_are_ignored(self, builder):
        assert build(builder, batch([1, 1], [9, 9]), [1, 1], speculation=0).num_spec_decodes == 0

    @pytest.mark.parametrize("builder", [pr52078.Before, pr52078.After])
    def test_an_empty_batch_is_not_speculative(self, builder):
        mask, rows = builder(BuilderConfig(speculation=8), CPU).find_drafts(torch.empty(0, dtype=torch.int32))
        assert (mask, rows) == (None, 0)

    @given(st.lists(st.integers(-1, 8), min_size=1, max_size=12))
    def test_both_sides_find_the_same_drafts(self, drafts):
        config, tensor = BuilderConfig(speculation=8), torch.tensor(drafts, dtype=torch.int32)
        before, after = (side(config, CPU).find_drafts(tensor) for side in (pr52078.Before, pr52078.After))
        assert before[1] == after[1]
        assert (before[0] is None) == (after[0] is None)
        if before[0] is not None:
            assert torch.equal(before[0], after[0])


class TestFirstChunk51565:
    def counts(self, builder, lengths, sequence_lens, prefilling):
        metadata = build(builder, batch(lengths, sequence_lens, prefilling))
        return metadata.num_decodes, metadata.num_prefills, metadata.has_initial_state

    def test_a_first_chunk_of_one_token_is_a_prefill_51565(self):
        decodes, prefills, initial = self.counts(pr51565.After, [1, 1, 1], [100, 50, 1], [False, False, True])
        assert (decodes, prefills) == (2, 1)
        assert initial.tolist() == [True, True, False]

    def test_a_resumed_chunk_of_one_token_stays_a_decode_51565(self):
        decodes, prefills, initial = self.counts(pr51565.After, [1, 1, 1], [100, 50, 65], [False, False, True])
        assert (decodes, prefills, initial) == (3, 0, None)

    def test_before_51565_it_was_a_decode_and_read_stale_state(self):
        assert self.counts(pr51565.Before, [1, 1, 1], [100, 50, 1], [False, False, True]) == (3, 0, None)

    def test_a_batch_for_capture_stays_decodes_51565(self):
        assert self.counts(pr51565.After, [1, 1], [1, 1], None)[:2] == (2, 0)

    def test_rows_of_length_zero_leave_the_counts_51565(self):
        common = batch([1, 1, 0, 0], [50, 1, 0, 0], [False, True, False, False], num_actual_tokens=4)
        metadata = build(pr51565.After, common)
        assert (metadata.num_decodes, metadata.num_prefills) == (1, 1)
        assert (metadata.num_decode_tokens, metadata.num_prefill_tokens) == (1, 1)


class TestCapture55404:
    def test_shapes_of_host_and_device_must_agree_55404(self):
        common = batch([1, 1], [5, 5])
        common.query_start_loc = common.query_start_loc[:-1]
        with pytest.raises(AssertionError, match="different batches"):
            pr55404.After(BuilderConfig(speculation=1), CPU).build_for_capture(common)

    def test_a_batch_beyond_the_buffers_is_refused(self):
        builder = pr55404.After(BuilderConfig(max_rows=2), CPU)
        with pytest.raises(AssertionError, match="exceeds the 2 rows"):
            builder.build_for_capture(batch([1, 1, 1], [5, 5, 5]))


class TestGraphBuffers:
    def test_padding_is_harmless_and_the_buffers_persist(self):
        builder = pr51913.After(BuilderConfig(), CPU)
        with torch.inference_mode():
            first = builder.build(0, batch([1] * 4, [9] * 4))
            again = builder.build(0, batch([1, 1, 0, 0], [9, 9, 0, 0], num_actual_tokens=4))
        assert first.non_spec_state_indices_tensor.data_ptr() == again.non_spec_state_indices_tensor.data_ptr()
        assert again.non_spec_query_start_loc.tolist() == [0, 1, 2, 2, 2]

    def test_padded_speculative_rows_point_at_the_null_block(self):
        common = batch([3, 3, 0], [50, 50, 0], num_actual_tokens=9)
        metadata = build(pr52078.After, common, [2, 2, -1], speculation=2, staged=True)
        assert metadata.spec_state_indices_tensor[2].tolist() == [0, 0, 0]
        assert metadata.spec_sequence_masks.tolist() == [True, True, False]
        assert metadata.num_accepted_tokens.tolist() == [1, 1, 1]
        assert metadata.spec_query_start_loc.tolist() == [0, 3, 6, 6]

    def test_a_step_too_large_for_the_buffers_is_not_staged(self):
        config = BuilderConfig(max_rows=2)
        builder = pr51913.After(config, CPU)
        with torch.inference_mode():
            metadata = builder.build(0, batch([1] * 3, [9] * 3))
        assert metadata.non_spec_query_start_loc.data_ptr() != builder.buffers.non_spec_query_start_loc.data_ptr()


@settings(max_examples=30)
@given(steps)
def test_tokens_are_divided_without_loss(scenario):
    """Tokens of both paths are all tokens, each once; offsets of each path end at its number of tokens."""
    driver = load(PARTS[52078][0].ours)("after", scenario, CpuDevice())
    with torch.inference_mode():
        metadata = driver.run(driver.inputs())[0]
    if metadata.num_prefills and metadata.num_spec_decodes:
        both = torch.cat([metadata.spec_token_indx, metadata.non_spec_token_indx]).sort().values
        assert both.tolist() == list(range(scenario.num_tokens))
        assert metadata.spec_query_start_loc[-1] == metadata.num_spec_decode_tokens
        assert metadata.non_spec_query_start_loc[-1] == metadata.num_prefill_tokens
