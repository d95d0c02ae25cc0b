"""How fast this metadata can be built: what vLLM 0.32.0 gives, at the least cost that we found.

Three ideas carry it:

- What depends on the batch alone is planned once per step and shared by all KV groups (`Plan`); a group adds where its
  states lie. Only plans are shared, never a group's buffers: captured graphs of a group read its own.
- The plan is computed on the host, in NumPy, from what the host knows anyway, and reaches the device in one pinned
  copy, if it has to (`gdn_impl.limit_pack`). What repeats from step to step is not sent again.
- Persistent buffers are written where they change. What a buffer holds is remembered by the builder; `forget` drops it,
  for whoever takes over a server in which another builder wrote there.

Metadata and meaning are those of vLLM 0.32.0: first chunks of one token are prefills (51565), and rows that drafted
nothing keep to the speculative path (56531).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np
import torch
from torch import Tensor

from gdn_impl.batch import CommonMetadata
from gdn_impl.builder import BuilderConfig, GraphBuffers
from gdn_impl.limit_plan import Plan, plan_step, setting
from gdn_impl.metadata import GDNMetadata

_builders: WeakSet[Builder] = WeakSet()


def forget() -> None:
    """Drops everything that is remembered from step to step."""
    Builder.latest = None
    for builder in _builders:
        builder.written = Written()


@dataclass
class LimitMetadata(GDNMetadata):
    """With the fields that came in 0.31.0 and 0.32.0."""

    spec_sequence_masks_cpu: Tensor | None = None
    """(n,) bool on the host."""
    uniform_spec_sequence_length: int | None = None
    """Tokens of every row with drafts, where they are alike."""
    checkpoint: None = None
    """For prefix caching, which is off."""
    aiter_prefill_metadata: None = None
    """For another prefill kernel."""


@dataclass(slots=True)
class Written:
    """What persistent buffers hold.

    Attributes:
        starts: of decodes: rows with a token, and rows with padding.
        drafted: of speculative steps: rows, rows with padding, tokens of each; None where they were not uniform.
    """

    starts: tuple[int, int] = (-1, -1)
    drafted: tuple[int, int, int] | None = None


class Builder:
    """Builds the metadata of one KV group, once per step."""

    latest: ClassVar[Plan | None] = None
    """Of the step that was built last, by whichever group came first."""

    def __init__(self, config: BuilderConfig, device: torch.device, buffers: GraphBuffers | None = None) -> None:
        """A builder with buffers of its own, or with those that captured graphs read from already."""
        self.width = config.speculation + 1
        self.device = device
        self.buffers = buffers or GraphBuffers(config.graph_rows, config.speculation, device)
        self.written = Written()
        self._setting = setting(config.speculation, config.full_graphs, self.buffers.size)
        self._state_views: dict[int, Tensor] = {}
        self._start_views: dict[int, Tensor] = {}
        _builders.add(self)

    def build(
        self,
        common_prefix_len: int,
        common: CommonMetadata,
        num_accepted_tokens: Tensor | None = None,
        num_decode_draft_tokens_cpu: Tensor | None = None,
        fast_build: bool = False,
    ) -> LimitMetadata:
        """The metadata of one step; arguments as of `gdn_impl.builder.GDNBuilder.build`."""
        plan = Builder.latest
        # The host's offsets belong to one step, and the plan holds them: nobody else can have their identity.
        if plan is None or plan.starts is not common.query_start_loc_cpu or plan.setting is not self._setting:
            drafts = num_decode_draft_tokens_cpu if self.width > 1 else None
            plan = Builder.latest = plan_step(common, drafts, num_accepted_tokens, self._setting, self.device)
        metadata = object.__new__(LimitMetadata)
        own = metadata.__dict__ = plan.shared.copy()
        table = common.block_table_tensor
        if plan.decodes_only:
            states = table.select(1, 0)
            if plan.staged:
                view = self._state_views.get(plan.rows)
                if view is None:
                    view = self._remember_views(plan.rows)
                states = view.copy_(states, non_blocking=True)
                if self.written.starts != plan.starts_shape:
                    self._write_starts(plan, common)
                own["non_spec_query_start_loc"] = self._start_views[plan.rows]
            own["non_spec_state_indices_tensor"] = states
        elif plan.drafted == 0:
            states = table.select(1, 0)
            own["non_spec_state_indices_tensor"] = states
            own["prefill_state_indices"] = states[plan.decodes :] if plan.decodes else states
        elif plan.drafts_only:
            self._drafts_only(plan, common, own)
        else:
            self._drafts_and_others(plan, table, own)
        return metadata

    def build_for_capture(self, common: CommonMetadata) -> LimitMetadata:
        """The metadata that a decode graph is captured with: every row accepted all it holds."""
        size = self.buffers.size
        assert max(common.num_reqs, common.num_actual_tokens) <= size, f"batch exceeds the {size} rows of graph buffers"
        accepted = torch.diff(common.query_start_loc)
        drafts = torch.from_numpy(np.diff(common.query_start_loc_cpu.numpy()) - 1)
        return self.build(0, common, accepted, drafts)

    def _remember_views(self, rows: int) -> Tensor:
        """What graphs of so many rows read; views of one buffer are made once."""
        self._start_views[rows] = self.buffers.non_spec_query_start_loc[: rows + 1]
        view = self._state_views[rows] = self.buffers.non_spec_state_indices[:rows]
        return view

    def _write_starts(self, plan: Plan, common: CommonMetadata) -> None:
        """Offsets of decodes: row i begins at token i, up to the last row that has one; the same in most steps."""
        self._start_views[plan.rows].copy_(common.query_start_loc[: plan.rows + 1], non_blocking=True)
        self.written.starts = plan.starts_shape

    def _drafts_only(self, plan: Plan, common: CommonMetadata, own: dict[str, Any]) -> None:
        """Every row has drafts, padding aside, which stands last."""
        drafted, rows = plan.drafted, plan.rows
        states = common.block_table_tensor[:drafted, : self.width]
        accepted, starts = plan.accepted, common.query_start_loc[: drafted + 1]
        assert accepted is not None
        if not plan.staged:
            own["spec_state_indices_tensor"] = states
            own["num_accepted_tokens"] = accepted[:drafted]
            own["spec_query_start_loc"] = starts
            return
        buffers = self.buffers
        shape = (drafted, rows, plan.uniform or 0)
        same = plan.uniform is not None and self.written.drafted == shape
        buffers.spec_state_indices[:drafted].copy_(states, non_blocking=True)
        buffers.num_accepted_tokens[:drafted].copy_(accepted[:drafted], non_blocking=True)
        if not same:
            self._write_shape(plan, common, starts)
            self.written.drafted = shape if plan.uniform is not None else None
        own["spec_state_indices_tensor"] = buffers.spec_state_indices[:rows]
        own["num_accepted_tokens"] = buffers.num_accepted_tokens[:rows]
        own["spec_query_start_loc"] = buffers.spec_query_start_loc[: rows + 1]
        own["spec_sequence_masks"] = buffers.spec_sequence_masks[:rows]
        own["spec_token_indx"] = buffers.spec_token_indx[: plan.spec_tokens]
        own["non_spec_token_indx"] = buffers.non_spec_token_indx[:0]

    def _write_shape(self, plan: Plan, common: CommonMetadata, starts: Tensor) -> None:
        """What of a speculative step depends on how many rows of which length there are, padding included."""
        buffers, drafted, rows = self.buffers, plan.drafted, plan.rows
        masks, tokens = plan.shared["spec_sequence_masks"], plan.shared["spec_token_indx"]
        buffers.spec_sequence_masks[:rows].copy_(masks[:rows], non_blocking=True)
        buffers.spec_token_indx[: plan.spec_tokens].copy_(tokens, non_blocking=True)
        # Behind the last row with drafts the batch's own offsets stand still, as the buffer's must.
        buffers.spec_query_start_loc[: rows + 1].copy_(common.query_start_loc[: rows + 1], non_blocking=True)
        if drafted < rows:
            buffers.spec_state_indices[drafted:rows].fill_(0)
            buffers.num_accepted_tokens[drafted:rows].fill_(1)

    def _drafts_and_others(self, plan: Plan, table: Tensor, own: dict[str, Any]) -> None:
        """Rows with drafts beside others: states are gathered, all else is in the plan."""
        own["spec_state_indices_tensor"] = table[:, : self.width].index_select(0, plan.spec_rows)
        states = table.select(1, 0).index_select(0, plan.other_rows)
        own["non_spec_state_indices_tensor"] = own["prefill_state_indices"] = states
