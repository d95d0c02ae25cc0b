"""What of a step depends on the batch alone: computed once, on the host, for all KV groups."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gdn_impl.batch import PAD_SLOT_ID, CommonMetadata
from gdn_impl.limit_pack import Pack
from gdn_impl.prefill import CHUNK, CONVOLUTION_BLOCK, LEAST_PROGRAMS

Ints = npt.NDArray[np.int32]


class Setting(NamedTuple):
    """What of a builder decides a plan: one and the same for all KV groups of a server."""

    speculation: int
    """Drafts per step, at most."""
    full_graphs: bool
    size: int
    """Rows of the buffers that captured graphs read."""


@lru_cache
def setting(speculation: int, full_graphs: bool, size: int) -> Setting:
    """One object for all builders of a kind, so that its identity tells."""
    return Setting(speculation, full_graphs, size)


class Plan:
    """One step.

    Attributes:
        starts: the host's offsets of the step, which tell it from any other.
        setting: of the builders that it is for.
        shared: fields of the metadata that all groups have alike; whatever a step leaves empty is not among them.
        rows: with padding.
        real_tokens: without padding.
        starts_shape: of decodes: rows with a token, and rows with padding.
        decodes: in front of the prefills of a step without drafts.
        drafted: rows that take the speculative path.
        decodes_only, drafts_only: nothing else but padding.
        staged: goes through the buffers that captured graphs read.
        uniform: tokens of each row with drafts, where they are alike.
        spec_tokens: of all rows with drafts.
        accepted: (rows,) int32 on the device, as the runner gave it.
        spec_rows, other_rows: int64 on the device: where they stand in the batch.
    """

    __slots__ = (
        "accepted",
        "decodes",
        "decodes_only",
        "drafted",
        "drafts_only",
        "other_rows",
        "real_tokens",
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

    def __init__(self, common: CommonMetadata, setting: Setting) -> None:
        self.starts = common.query_start_loc_cpu
        self.setting = setting
        self.starts_shape = (-1, -1)
        self.shared: dict[str, Any] = {}
        self.rows = common.num_reqs
        self.real_tokens = 0
        self.decodes = self.drafted = self.spec_tokens = 0
        self.decodes_only = self.drafts_only = self.staged = False
        self.uniform: int | None = None
        self.accepted: Tensor | None = None


def plan_step(
    common: CommonMetadata,
    drafts: Tensor | None,
    accepted: Tensor | None,
    setting: Setting,
    device: torch.device,
) -> Plan:
    """The plan of a step; arguments as of the builder."""
    plan = Plan(common, setting)
    mask = None if drafts is None else drafts.numpy() >= 0
    if mask is not None and mask.any():
        assert accepted is not None
        _with_drafts(plan, common, setting, mask, accepted, device)
    else:
        _without_drafts(plan, common, setting, device)
    return plan


def _counts(
    plan: Plan, common: CommonMetadata, *, prefills: int, prefill_tokens: int, decode_tokens: int, spec: int
) -> None:
    plan.shared |= {
        "num_prefills": prefills,
        "num_prefill_tokens": prefill_tokens,
        "num_decodes": plan.decodes,
        "num_decode_tokens": decode_tokens,
        "num_spec_decodes": plan.drafted,
        "num_spec_decode_tokens": spec,
        "num_actual_tokens": common.num_actual_tokens,
    }


def _without_drafts(plan: Plan, common: CommonMetadata, setting: Setting, device: torch.device) -> None:
    starts = common.query_start_loc_cpu.numpy()
    boundary = _boundary(common, starts)
    plan.shared["non_spec_query_start_loc"] = common.query_start_loc
    plan.real_tokens = int(starts[-1])
    if boundary is None:
        plan.decodes_only, plan.decodes = True, plan.rows
        plan.staged = setting.full_graphs and plan.decodes <= setting.size
        plan.starts_shape = (plan.real_tokens, plan.rows)
        _counts(plan, common, prefills=0, prefill_tokens=0, decode_tokens=common.num_actual_tokens, spec=0)
        return
    plan.decodes = boundary
    decode_tokens = int(starts[boundary])
    lengths = starts[boundary + 1 :] - starts[boundary:-1]
    prefills = int(np.count_nonzero(lengths))
    tokens = int(starts[boundary + prefills]) - decode_tokens
    _counts(plan, common, prefills=prefills, prefill_tokens=tokens, decode_tokens=decode_tokens, spec=0)

    pack = Pack()
    initial = _initial_states(common, starts)
    pack.add("has_initial_state", initial)
    _add_chunks(pack, lengths)
    programs = _add_programs(pack, np.diff(starts))
    if boundary:
        pack.add("prefill_query_start_loc", starts[boundary:] - decode_tokens)
    sent = pack.send(device)
    plan.shared |= sent
    plan.shared["nums_dict"] = _programs_table(programs, sent)
    if boundary:
        plan.shared["prefill_has_initial_state"] = sent["has_initial_state"][boundary:]
    else:
        plan.shared["prefill_query_start_loc"] = common.query_start_loc
        plan.shared["prefill_has_initial_state"] = sent["has_initial_state"]


def _boundary(common: CommonMetadata, starts: Ints) -> int | None:
    """The first row that is a prefill, in a batch whose decodes come first; None if none is."""
    prefilling = common.is_prefilling
    stateless = prefilling is not None and prefilling.numpy().any()
    if common.max_query_len <= 1 and not stateless:
        return None
    lengths = starts[1:] - starts[:-1]
    prefills = lengths > 1
    if stateless and prefilling is not None:
        assert common.seq_lens_cpu_upper_bound is not None
        bound = common.seq_lens_cpu_upper_bound.numpy()
        prefills = prefills | (prefilling.numpy() & (lengths > 0) & (bound <= lengths))
    first = int(prefills.argmax())
    return first if prefills[first] else None


def _with_drafts(
    plan: Plan,
    common: CommonMetadata,
    setting: Setting,
    mask: npt.NDArray[np.bool_],
    accepted: Tensor,
    device: torch.device,
) -> None:
    starts = common.query_start_loc_cpu.numpy()
    lengths = starts[1:] - starts[:-1]
    own, others = lengths[mask], lengths[~mask]
    plan.drafted = len(own)
    plan.accepted = accepted
    plan.real_tokens = int(starts[-1])
    prefills = int(np.count_nonzero(others))
    prefill_tokens = int(others.sum())
    plan.spec_tokens = plan.real_tokens - prefill_tokens
    _counts(plan, common, prefills=prefills, prefill_tokens=prefill_tokens, decode_tokens=0, spec=plan.spec_tokens)
    if len(own) and own[0] > 0 and (own == own[0]).all():
        plan.uniform = int(own[0])
    plan.shared["uniform_spec_sequence_length"] = plan.uniform
    plan.shared["spec_sequence_masks_cpu"] = torch.from_numpy(mask)

    pack = Pack()
    pack.add("spec_sequence_masks", mask)
    if prefills == 0:
        plan.drafts_only = True
        most = max(plan.drafted, plan.spec_tokens)
        plan.staged = setting.full_graphs and most <= setting.size
        plan.spec_tokens = min(plan.drafted * (setting.speculation + 1), plan.real_tokens)
        pack.add("spec_token_indx", np.arange(plan.spec_tokens, dtype=np.int32))
        pack.add("non_spec_token_indx", np.empty(0, np.int32))
        plan.shared |= pack.send(device)
        return

    tokens = np.repeat(mask, lengths)
    other_starts = _offsets(others)
    pack.add("spec_token_indx", np.flatnonzero(tokens))
    pack.add("non_spec_token_indx", np.flatnonzero(~tokens))
    pack.add("spec_query_start_loc", _offsets(own))
    pack.add("non_spec_query_start_loc", other_starts)
    pack.add("has_initial_state", _initial_states(common, starts)[~mask])
    pack.add("spec_rows", np.flatnonzero(mask))
    pack.add("other_rows", np.flatnonzero(~mask))
    _add_chunks(pack, others)
    programs = _add_programs(pack, others)
    sent = pack.send(device)
    plan.spec_rows, plan.other_rows = sent.pop("spec_rows"), sent.pop("other_rows")
    plan.shared |= sent
    plan.shared["nums_dict"] = _programs_table(programs, sent)
    plan.shared["prefill_query_start_loc"] = sent["non_spec_query_start_loc"]
    plan.shared["prefill_has_initial_state"] = sent["has_initial_state"]
    plan.shared["num_accepted_tokens"] = accepted.index_select(0, plan.spec_rows)


def _initial_states(common: CommonMetadata, starts: Ints) -> npt.NDArray[np.bool_]:
    """(n,) whether the row had tokens before this step.

    The host's bound is exact for rows that prefill. A row that decodes has tokens whatever the bound says, and a bound
    is never below the truth.
    """
    assert common.seq_lens_cpu_upper_bound is not None
    had: npt.NDArray[np.bool_] = common.seq_lens_cpu_upper_bound.numpy() > starts[1:] - starts[:-1]
    return had


def _offsets(lengths: Ints) -> Ints:
    found = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=found[1:])
    return found


def _add_chunks(pack: Pack, lengths: Ints) -> None:
    """Chunks of the delta rule: for each its row and its number within the row; and how many stand before each row."""
    counts = -(lengths // -CHUNK)
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    full = counts[counts > 0]
    rows = np.repeat(np.arange(len(full), dtype=np.int32), full)
    numbers = np.arange(len(rows), dtype=np.int32) - np.repeat(_offsets(full)[:-1], full)
    pack.add("chunk_indices", np.stack([rows, numbers], 1))
    pack.add("chunk_offsets", offsets)


def _add_programs(pack: Pack, lengths: Ints) -> dict[str, Any]:
    """Programs of the causal convolution: the row of each, and the number of its block within the row."""
    counts = -(lengths // -CONVOLUTION_BLOCK)
    rows = np.repeat(np.arange(len(counts)), counts)
    blocks = np.arange(len(rows), dtype=np.int32) - np.repeat(_offsets(counts)[:-1], counts)
    size = 2 * max(LEAST_PROGRAMS, len(rows))
    for name, values in (("batch_ptr", rows), ("token_chunk_offset_ptr", blocks)):
        padded = np.full(size, PAD_SLOT_ID, np.int32)
        padded[: len(values)] = values
        pack.add(name, padded)
    return {
        "nums": torch.from_numpy(counts),
        "tot": len(rows),
        "mlist": torch.from_numpy(rows),
        "mlist_len": len(rows),
        "offsetlist": torch.from_numpy(blocks),
    }


def _programs_table(programs: dict[str, Any], sent: dict[str, Tensor]) -> dict[int, dict[str, Any]]:
    names = ("batch_ptr", "token_chunk_offset_ptr")
    return {CONVOLUTION_BLOCK: programs | {name: sent[name] for name in names}}
