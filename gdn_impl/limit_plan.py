"""What of a step depends on the batch alone: computed once, on the host, for all KV groups."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gdn_impl.batch import CommonMetadata
from gdn_impl.limit_pack import Pack
from gdn_impl.limit_prefill import Ints, add_pieces, offsets, programs_table

MOST_KEPT = 1024
"""Plans kept for steps to come; a server has a few hundred shapes of decode steps."""

Shape = tuple[tuple[int, ...], tuple[int, ...], int]
"""Of a step without prefills all that its plan depends on: offsets, drafts, tokens with padding."""


class Setting:
    """What of a builder decides a plan: one and the same for all KV groups of a server; and the plans kept for it.

    Attributes:
        speculation: drafts per step, at most.
        full_graphs: whether steps are staged for them.
        size: rows of the buffers that captured graphs read.
        device: where the metadata goes.
        kept: plans of steps without prefills, whose shapes return.
    """

    def __init__(self, speculation: int, full_graphs: bool, size: int, device: torch.device) -> None:
        self.speculation = speculation
        self.full_graphs = full_graphs
        self.size = size
        self.device = device
        self.kept: dict[Shape, Plan] = {}

    def keep(self, shape: Shape, plan: Plan) -> None:
        if len(self.kept) >= MOST_KEPT:
            self.kept.clear()
        self.kept[shape] = plan


setting = lru_cache(Setting)
"""One object for all builders of a kind, so that its identity tells."""


class Plan:
    """One step.

    Attributes:
        starts: the host's offsets of the step, which tell it from any other.
        accepted: (rows,) int32 on the device, as the runner gave it.
        setting: of the builders that it is for.
        shared: fields of the metadata that all groups have alike; whatever a step leaves empty is not among them.
        rows: with padding.
        starts_shape: of decodes: rows with a token, and rows with padding.
        decodes: in front of the prefills of a step without drafts.
        drafted: rows that take the speculative path.
        decodes_only, drafts_only: nothing else but padding.
        staged: goes through the buffers that captured graphs read.
        uniform: tokens of each row with drafts, where they are alike.
        spec_tokens: of all rows with drafts.
        spec_rows, other_rows: int64 on the device: where they stand in the batch.
    """

    __slots__ = (
        "accepted",
        "decodes",
        "decodes_only",
        "drafted",
        "drafts_only",
        "other_rows",
        "rows",
        "setting",
        "shared",
        "spec_rows",
        "spec_tokens",
        "staged",
        "starts",
        "starts_shape",
        "uniform",
    )

    other_rows: Tensor
    spec_rows: Tensor

    def __init__(self, common: CommonMetadata, setting: Setting, accepted: Tensor | None) -> None:
        self.starts = common.query_start_loc_cpu
        self.accepted = accepted
        self.setting = setting
        self.starts_shape = (-1, -1)
        self.shared: dict[str, Any] = {}
        self.rows = common.num_reqs
        self.decodes = self.drafted = self.spec_tokens = 0
        self.decodes_only = self.drafts_only = self.staged = False
        self.uniform: int | None = None

    def count(self, common: CommonMetadata, *, prefills: int, prefill_tokens: int, decode_tokens: int) -> None:
        self.shared |= {
            "num_prefills": prefills,
            "num_prefill_tokens": prefill_tokens,
            "num_decodes": self.decodes,
            "num_decode_tokens": decode_tokens,
            "num_spec_decodes": self.drafted,
            "num_spec_decode_tokens": self.spec_tokens,
            "num_actual_tokens": common.num_actual_tokens,
        }


def plan_step(common: CommonMetadata, drafts: Tensor | None, accepted: Tensor | None, setting: Setting) -> Plan:
    """The plan of a step; arguments as of the builder."""
    host = common.query_start_loc_cpu
    prefills = common.is_prefilling is not None and True in common.is_prefilling.tolist()
    # Of a row that prefills the shape does not say whether it is a first chunk: such a step has a plan of its own.
    shape: Shape | None = None
    if not prefills:
        shape = (tuple(host.tolist()), () if drafts is None else tuple(drafts.tolist()), common.num_actual_tokens)
        if (kept := setting.kept.get(shape)) is not None:
            kept.starts, kept.accepted = host, accepted
            return kept
    plan = Plan(common, setting, accepted)
    mask = None if drafts is None else drafts.numpy() >= 0
    if mask is not None and mask.any():
        _with_drafts(plan, common, mask)
    else:
        _without_drafts(plan, common, prefills)
    if shape is not None and (plan.decodes_only or plan.drafts_only):
        setting.keep(shape, plan)
    return plan


def _without_drafts(plan: Plan, common: CommonMetadata, stateless: bool) -> None:
    starts = plan.starts.numpy()
    lengths = starts[1:] - starts[:-1]
    prefills = lengths > 1
    if stateless and common.is_prefilling is not None:
        prefills |= common.is_prefilling.numpy() & (lengths > 0) & ~_initial_states(common, lengths)
    # Decodes come first in such a batch.
    boundary = int(prefills.argmax())
    if not prefills[boundary]:
        plan.decodes_only, plan.decodes = True, plan.rows
        plan.staged = plan.setting.full_graphs and plan.decodes <= plan.setting.size
        plan.starts_shape = (int(starts[-1]), plan.rows)
        plan.count(common, prefills=0, prefill_tokens=0, decode_tokens=common.num_actual_tokens)
        return
    had_state = _initial_states(common, lengths)
    plan.decodes = boundary
    decode_tokens = int(starts[boundary])
    tokens = int(starts[-1]) - decode_tokens
    prefill_lengths = lengths[boundary:]
    plan.count(
        common,
        prefills=int(np.count_nonzero(prefill_lengths)),
        prefill_tokens=tokens,
        decode_tokens=decode_tokens,
    )
    pack = Pack()
    pack.add("has_initial_state", had_state)
    programs = add_pieces(pack, prefill_lengths, lengths)
    if boundary:
        pack.add("prefill_query_start_loc", starts[boundary:] - decode_tokens)
        pack.add("prefill_has_initial_state", had_state[boundary:])
    sent = pack.send(plan.setting.device)
    plan.shared |= sent
    plan.shared["non_spec_query_start_loc"] = common.query_start_loc
    plan.shared["nums_dict"] = programs_table(programs, sent)
    if not boundary:
        plan.shared["prefill_query_start_loc"] = common.query_start_loc
        plan.shared["prefill_has_initial_state"] = sent["has_initial_state"]


def _with_drafts(plan: Plan, common: CommonMetadata, mask: npt.NDArray[np.bool_]) -> None:
    starts = plan.starts.numpy()
    lengths = starts[1:] - starts[:-1]
    spec_rows, other_rows = mask.nonzero()[0], (~mask).nonzero()[0]
    own, others = lengths.take(spec_rows), lengths.take(other_rows)
    spec_starts = offsets(own)
    plan.drafted = len(own)
    prefills = int(np.count_nonzero(others))
    plan.spec_tokens = int(spec_starts[-1])
    prefill_tokens = int(starts[-1]) - plan.spec_tokens
    plan.count(common, prefills=prefills, prefill_tokens=prefill_tokens, decode_tokens=0)
    each = own.tolist()
    if each[0] > 0 and each.count(each[0]) == len(each):
        plan.uniform = each[0]
    plan.shared["uniform_spec_sequence_length"] = plan.uniform
    plan.shared["spec_sequence_masks_cpu"] = torch.from_numpy(mask)
    if prefills == 0:
        _with_drafts_alone(plan, mask, int(starts[-1]))
        return
    tokens = mask.repeat(lengths)
    pack = Pack()
    pack.add("spec_sequence_masks", mask)
    pack.add("spec_token_indx", tokens.nonzero()[0])
    pack.add("non_spec_token_indx", (~tokens).nonzero()[0])
    pack.add("spec_query_start_loc", spec_starts)
    pack.add("has_initial_state", _initial_states(common, lengths).take(other_rows))
    pack.add("spec_rows", spec_rows)
    pack.add("other_rows", other_rows)
    pack.add("non_spec_query_start_loc", offsets(others))
    programs = add_pieces(pack, others, others)
    sent = pack.send(plan.setting.device)
    plan.spec_rows, plan.other_rows = sent.pop("spec_rows"), sent.pop("other_rows")
    plan.shared |= sent
    plan.shared["nums_dict"] = programs_table(programs, sent)
    plan.shared["prefill_query_start_loc"] = sent["non_spec_query_start_loc"]
    plan.shared["prefill_has_initial_state"] = sent["has_initial_state"]
    assert plan.accepted is not None
    plan.shared["num_accepted_tokens"] = plan.accepted.index_select(0, plan.spec_rows)


def _with_drafts_alone(plan: Plan, mask: npt.NDArray[np.bool_], tokens: int) -> None:
    plan.drafts_only = True
    plan.staged = plan.setting.full_graphs and max(plan.drafted, plan.spec_tokens) <= plan.setting.size
    plan.spec_tokens = min(plan.drafted * (plan.setting.speculation + 1), tokens)
    pack = Pack()
    pack.add("spec_sequence_masks", mask)
    pack.add("spec_token_indx", np.arange(plan.spec_tokens, dtype=np.int32))
    pack.add("non_spec_token_indx", np.empty(0, np.int32))
    plan.shared |= pack.send(plan.setting.device)


def _initial_states(common: CommonMetadata, lengths: Ints) -> npt.NDArray[np.bool_]:
    """(n,) whether the row had tokens before this step.

    The host's bound is exact for rows that prefill. A row that decodes has tokens whatever the bound says, and a bound
    is never below the truth.
    """
    assert common.seq_lens_cpu_upper_bound is not None
    had: npt.NDArray[np.bool_] = common.seq_lens_cpu_upper_bound.numpy() > lengths
    return had
