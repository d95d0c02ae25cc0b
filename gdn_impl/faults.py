"""Builders that are broken on purpose, the way real faults were: what a harness must catch before anybody believes it.

Each is told like a change: a sound builder, and a subclass that overrides what the fault got wrong. Sources are pull
requests and issues of vllm-project/vllm.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, ClassVar

from torch import Tensor

from gdn_impl import limit, pr51565, pr52078, pr56531
from gdn_impl.batch import CommonMetadata
from gdn_impl.builder import GDNBuilder
from gdn_impl.metadata import GDNMetadata

STATES = ("non_spec_state_indices_tensor", "spec_state_indices_tensor", "prefill_state_indices")
"""The fields that say where each row's recurrent state lies."""


class RotatedStates(pr52078.After):
    """Decode rows read and write the state of their neighbour."""

    def build(self, common_prefix_len: int, common: CommonMetadata, *more: Any, **named: Any) -> GDNMetadata:
        metadata = super().build(common_prefix_len, common, *more, **named)
        self.spoil(metadata)
        return metadata

    def spoil(self, metadata: GDNMetadata) -> None:
        rotate(metadata, staged=self.config.full_graphs and metadata.num_prefills == 0)


class RotatedStatesEvery7(RotatedStates):
    """The same, only in every seventh step of decodes alone."""

    steps = 0

    def spoil(self, metadata: GDNMetadata) -> None:
        if metadata.num_prefills == 0 and metadata.num_spec_decodes == 0:
            self.steps += 1
            if self.steps % 7 == 0:
                super().spoil(metadata)


class StaleInitialState(pr52078.After):
    """Prefills always go on from whatever state lies in their page."""

    def build(self, common_prefix_len: int, common: CommonMetadata, *more: Any, **named: Any) -> GDNMetadata:
        metadata = super().build(common_prefix_len, common, *more, **named)
        for name in ("has_initial_state", "prefill_has_initial_state"):
            if (has_state := getattr(metadata, name)) is not None:
                setattr(metadata, name, has_state | True)
        return metadata


class BoundAsIndex(pr52078.After):
    """Every draft counts as accepted, as a host that does not wait believes, and that picks the state to read."""

    def build(
        self,
        common_prefix_len: int,
        common: CommonMetadata,
        num_accepted_tokens: Tensor | None = None,
        num_decode_draft_tokens_cpu: Tensor | None = None,
        fast_build: bool = False,
    ) -> GDNMetadata:
        if num_accepted_tokens is not None:
            lengths = common.query_start_loc[1:] - common.query_start_loc[:-1]
            num_accepted_tokens = lengths.clamp(1, self.speculation + 1).to(num_accepted_tokens.dtype)
        return super().build(0, common, num_accepted_tokens, num_decode_draft_tokens_cpu, fast_build)


class SharedGroups(pr52078.After):
    """Every KV group gets the states of the step's first group."""

    first: ClassVar[tuple[Tensor, GDNMetadata] | None] = None
    """The offsets of the latest step, which all its groups hold, and what its first group was given."""

    def build(self, common_prefix_len: int, common: CommonMetadata, *more: Any, **named: Any) -> GDNMetadata:
        metadata = super().build(common_prefix_len, common, *more, **named)
        kept = SharedGroups.first
        if kept is None or kept[0] is not common.query_start_loc:
            SharedGroups.first = (common.query_start_loc, metadata)
            return metadata
        for name in STATES:
            setattr(metadata, name, getattr(kept[1], name))
        return metadata


def rotate(metadata: GDNMetadata, *, staged: bool) -> None:
    """Moves the states of decode rows on by one row, in place."""
    for name, rows in (
        ("non_spec_state_indices_tensor", metadata.num_decodes),
        ("spec_state_indices_tensor", metadata.num_spec_decodes),
    ):
        states = getattr(metadata, name)
        if states is None or rows < 2:
            continue
        rotated = states.clone()  # unstaged, it may be a view of the block table
        rotated[:rows] = states[:rows].roll(1, 0)
        if staged:
            states.copy_(rotated)  # captured graphs read these very buffers
        else:
            setattr(metadata, name, rotated)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        name: as in `fault:NAME`.
        what: goes wrong, one line.
        source: where it happened, a URL; or that it was made up, and for what.
        change: the catalogued change whose parts it is driven by.
        part: of that change, by the name that drivers have.
        sound, broken: builders; None where the broken code is the catalogue's own side before, of a part that is no GDN
            builder.
        scenarios: steps that show it.
        live: whether a server on a CPU can express it.
        why_not: the reason, if it cannot.
        speculation: whether only a server that speculates can.
    """

    name: str
    what: str
    source: str
    change: int
    part: str
    scenarios: tuple[str, ...]
    sound: type[GDNBuilder] | None = None
    broken: type[GDNBuilder] | None = None
    why_not: str = ""
    speculation: bool = False

    @property
    def live(self) -> bool:
        return not self.why_not


_PULL = "https://github.com/vllm-project/vllm/pull"
_ISSUE = "https://github.com/vllm-project/vllm/issues"

FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault(
            name="stale-prefilling",
            what="padded rows keep the prefilling flag of a request that is gone: Mamba's split sees a prefill",
            source=f"{_ISSUE}/41841",
            change=41873,
            part="mamba build",
            scenarios=("13q1s1k_3pad",),
            why_not="its victim is Mamba's split under captured graphs, and a GDN server's metadata is the same",
        ),
        Fault(
            name="recycled-state",
            what="a first chunk of one token counts as a decode and goes on from its predecessor's state",
            source=f"{_ISSUE}/51562",
            change=51565,
            part="build",
            scenarios=("15q1s1k_q1s1p64",),
            sound=pr51565.After,
            broken=pr51565.Before,
            why_not="no prompt of the task is fed in a first chunk of one token",
        ),
        Fault(
            name="no-window-without-drafts",
            what="where no row drafted, the offset of the last accepted token is not applied to the states",
            source=f"{_PULL}/56531",
            change=51565,
            part="build",
            scenarios=("16q1s1kd0/spec8",),
            sound=pr56531.After,
            broken=pr56531.Before,
            why_not="a drafter of the model's own drafts in every step; n-gram, which does not, is broken before the "
            "builder is asked: see ngram-on-cpu",
        ),
        Fault(
            name="bound-as-index",
            what="the belief that every draft was accepted, an upper bound, picks the state to go on from",
            source=f"{_PULL}/40654",
            change=52078,
            part="build",
            scenarios=("16q9s1kd8",),
            sound=pr52078.After,
            broken=BoundAsIndex,
            speculation=True,
        ),
        Fault(
            name="shared-groups",
            what="further KV groups are served with the buffers of the first group",
            source=f"{_PULL}/34874",
            change=52078,
            part="build",
            scenarios=("16q1s1k/g30",),
            sound=pr52078.After,
            broken=SharedGroups,
        ),
        Fault(
            name="rotated-states",
            what="the state indices of decode rows are rotated by one, with drafts and without",
            source="made up: the plainest way to read another request's state",
            change=52078,
            part="build",
            scenarios=("16q1s1k", "16q9s1kd8"),
            sound=pr52078.After,
            broken=RotatedStates,
        ),
        Fault(
            name="rotated-states-every-7",
            what="the same, only in every seventh step of decodes alone",
            source="made up: a fault that a look at a few steps misses",
            change=52078,
            part="build",
            scenarios=("16q1s1k",),
            sound=pr52078.After,
            broken=RotatedStatesEvery7,
        ),
        Fault(
            name="stale-initial-state",
            what="prefills always go on from the state that lies in their page",
            source="made up: the opposite of 51565's care",
            change=52078,
            part="build",
            scenarios=("15q1s1k_q2k", "q128"),
            sound=pr52078.After,
            broken=StaleInitialState,
        ),
    )
}


OF_SERVERS = ("crash", "hang")
"""Faults that break no metadata but end a live server, for tests of what the harness does then."""


def find(name: str) -> Fault | None:
    """The fault of that name, if there is one."""
    return FAULTS.get(name)


def near(name: str) -> str | None:
    """The name of a fault that is spelled alike."""
    return next(iter(get_close_matches(name, FAULTS, n=1)), None)


def builder_class(change: int | None, state: str) -> type[Any]:
    """The builder that a state names: `before` or `after` of a change, `limit`, `fault:NAME`, or its `sound:NAME`."""
    if state == "limit":
        return limit.Builder
    kind, colon, name = state.partition(":")
    if not colon:
        found: type[Any] = getattr(import_module(f"gdn_impl.pr{change}"), state.capitalize())
        return found
    fault = FAULTS[name]
    builder = fault.broken if kind == "fault" else fault.sound
    assert builder is not None, f"{name} breaks no GDN builder"
    return builder
