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
        builder.setting.kept.clear()


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


class Views:
    """Of a group's buffers, what graphs of one shape read; each view is made once.

    Args:
        rows: with padding.
        drafted: rows with drafts.
        spec_tokens: of those.
    """

    def __init__(self, buffers: GraphBuffers, rows: int, drafted: int = 0, spec_tokens: int = 0) -> None:
        if drafted == 0:
            states = buffers.non_spec_state_indices[:rows]
            self.states = states.view(rows, 1)
            self.starts = buffers.non_spec_query_start_loc[: rows + 1]
            self.fields = {"non_spec_state_indices_tensor": states, "non_spec_query_start_loc": self.starts}
            return
        self.states = buffers.spec_state_indices[:drafted]
        self.accepted = buffers.num_accepted_tokens[:drafted]
        self.starts = buffers.spec_query_start_loc[: rows + 1]
        self.masks = buffers.spec_sequence_masks[:rows]
        self.tokens = buffers.spec_token_indx[:spec_tokens]
        self.fields = {
            "spec_state_indices_tensor": buffers.spec_state_indices[:rows],
            "num_accepted_tokens": buffers.num_accepted_tokens[:rows],
            "spec_query_start_loc": self.starts,
            "spec_sequence_masks": self.masks,
            "spec_token_indx": self.tokens,
            "non_spec_token_indx": buffers.non_spec_token_indx[:0],
        }


class Builder:
    """Builds the metadata of one KV group, once per step."""

    latest: ClassVar[Plan | None] = None
    """Of the step that was built last, by whichever group came first."""

    def __init__(self, config: BuilderConfig, device: torch.device, buffers: GraphBuffers | None = None) -> None:
        """A builder with buffers of its own, or with those that captured graphs read from already."""
        self.width = config.speculation + 1
        self.buffers = buffers or GraphBuffers(config.graph_rows, config.speculation, device)
        self.written = Written()
        self.setting = setting(config.speculation, config.full_graphs, self.buffers.size, device)
        self._views: dict[tuple[int, int, int], Views] = {}
        self._columns = torch.arange(self.width, device=device)
        self._first = self._columns[:1]
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
        if plan is None or plan.starts is not common.query_start_loc_cpu or plan.setting is not self.setting:
            drafts = num_decode_draft_tokens_cpu if self.width > 1 else None
            plan = Builder.latest = plan_step(common, drafts, num_accepted_tokens, self.setting)
        metadata = object.__new__(LimitMetadata)
        own = metadata.__dict__ = plan.shared.copy()
        if plan.decodes_only:
            self._decodes_only(plan, common, own)
        elif plan.drafts_only:
            self._drafts_only(plan, common, own)
        elif plan.drafted == 0:
            states = common.block_table_tensor.select(1, 0)
            own["non_spec_state_indices_tensor"] = states
            own["prefill_state_indices"] = states[plan.decodes :] if plan.decodes else states
        else:
            table = common.block_table_tensor
            rows = table if table.shape[1] == self.width else table[:, : self.width]
            own["spec_state_indices_tensor"] = rows.index_select(0, plan.spec_rows)
            states = table.select(1, 0).index_select(0, plan.other_rows)
            own["non_spec_state_indices_tensor"] = own["prefill_state_indices"] = states
        return metadata

    def build_for_capture(self, common: CommonMetadata) -> LimitMetadata:
        """The metadata that a decode graph is captured with: every row accepted all it holds."""
        size = self.buffers.size
        assert max(common.num_reqs, common.num_actual_tokens) <= size, f"batch exceeds the {size} rows of graph buffers"
        accepted = torch.diff(common.query_start_loc)
        drafts = torch.from_numpy(np.diff(common.query_start_loc_cpu.numpy()) - 1)
        return self.build(0, common, accepted, drafts)

    def _decodes_only(self, plan: Plan, common: CommonMetadata, own: dict[str, Any]) -> None:
        """No row has drafts or prefills."""
        if not plan.staged:
            own["non_spec_query_start_loc"] = common.query_start_loc
            own["non_spec_state_indices_tensor"] = common.block_table_tensor.select(1, 0)
            return
        views = self._views.get((plan.rows, 0, 0)) or self._remember_views(plan)
        torch.index_select(common.block_table_tensor, 1, self._first, out=views.states)
        if self.written.starts != plan.starts_shape:
            # Row i begins at token i, up to the last row that has one: the same in most steps.
            views.starts.copy_(common.query_start_loc, non_blocking=True)
            self.written.starts = plan.starts_shape
        own |= views.fields

    def _drafts_only(self, plan: Plan, common: CommonMetadata, own: dict[str, Any]) -> None:
        """Every row has drafts, padding aside, which stands last."""
        drafted, rows, table, accepted = plan.drafted, plan.rows, common.block_table_tensor, plan.accepted
        assert accepted is not None
        if drafted < rows:
            table, accepted = table[:drafted], accepted[:drafted]
        if not plan.staged:
            own["spec_state_indices_tensor"] = table[:, : self.width]
            own["num_accepted_tokens"] = accepted
            own["spec_query_start_loc"] = common.query_start_loc[: drafted + 1]
            return
        views = self._views.get((rows, drafted, plan.spec_tokens)) or self._remember_views(plan)
        torch.index_select(table, 1, self._columns, out=views.states)
        views.accepted.copy_(accepted, non_blocking=True)
        shape = None if plan.uniform is None else (drafted, rows, plan.uniform)
        if shape is None or self.written.drafted != shape:
            self._write_shape(plan, common, views)
            self.written.drafted = shape
        own |= views.fields

    def _write_shape(self, plan: Plan, common: CommonMetadata, views: Views) -> None:
        """What of a speculative step depends on how many rows of which length there are, padding included."""
        views.masks.copy_(plan.shared["spec_sequence_masks"], non_blocking=True)
        views.tokens.copy_(plan.shared["spec_token_indx"], non_blocking=True)
        # Behind the last row with drafts the batch's own offsets stand still, as the buffer's must.
        views.starts.copy_(common.query_start_loc, non_blocking=True)
        if plan.drafted < plan.rows:
            self.buffers.spec_state_indices[plan.drafted : plan.rows].fill_(0)
            self.buffers.num_accepted_tokens[plan.drafted : plan.rows].fill_(1)

    def _remember_views(self, plan: Plan) -> Views:
        key = plan.rows, plan.drafted, plan.spec_tokens
        views = self._views[key] = Views(self.buffers, *key)
        return views
