"""Follows each request's recurrent state from step to step: is it read from where the last step left it?

A row's state lies in a block, or, in a step with drafts, in a window of blocks: one behind each of its tokens. How many
of those tokens were accepted shows in the next step, in how far the request has come. So where the state lies is known
from the runner alone, and what the metadata makes the kernels read is known from the metadata. Wherever the two part,
the answer is wrong from that step on. Reads tensors back: for looking, never for timing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

WRITE_EVERY = 256
"""Checks between two writings of the file; the first loss is written at once."""


@dataclass(frozen=True, slots=True)
class Held:
    """Where a step left a request's state.

    Attributes:
        computed: tokens of the request that were computed before that step.
        blocks: behind each of the step's tokens; one for all where the row had no drafts.
        drafts: that the row had; -1 where it was none that speculates.
    """

    computed: int
    blocks: tuple[int, ...]
    drafts: int


@dataclass(frozen=True, slots=True)
class Loss:
    """A row that reads a state from elsewhere than where it lies.

    Attributes:
        step: of the model runner, from 1.
        group: KV group, from 0.
        request: vLLM's name for it.
        row, rows: its place in the batch, and the batch's size.
        field: of the metadata that is wrong.
        path: `plain` or `speculative`.
        reads, lies_in: cache blocks.
        accepted_before: tokens that the last step left it with.
        drafts_before, drafts_now: of the row; -1 where it was none that speculates.
    """

    step: int
    group: int
    request: str
    row: int
    rows: int
    field: str
    path: str
    reads: int
    lies_in: int
    accepted_before: int
    drafts_before: int
    drafts_now: int


class Witness:
    """One for a process.

    Args:
        path: of the file that says what was seen.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checks = 0
        self.losses = 0
        self.first: Loss | None = None
        self._step = 0
        self._runner: Any = None
        self._held: dict[int, dict[str, Held]] = {}

    def begin(self, runner: Any) -> None:
        """A step of this model runner begins."""
        self._step += 1
        self._runner = runner

    def see(self, builder: Any, arguments: tuple[Any, ...], metadata: Any) -> None:
        """What one builder made in this step.

        Args:
            arguments: of `build`: of interest are the batch and the drafts of each row.
            metadata: what it gave.
        """
        if self._runner is None:
            return  # a run of the profiler, before the first step
        common, drafts = arguments[1], arguments[3]
        held = self._held.setdefault(id(builder), {})
        group = list(self._held).index(id(builder))
        batch = self._runner.input_batch
        names = list(batch.req_ids)
        computed = [int(n) for n in batch.num_computed_tokens_cpu[: len(names)]]
        lengths = common.query_start_loc_cpu.diff().tolist()[: len(names)]
        drafted = [-1] * len(names) if drafts is None else drafts.tolist()[: len(names)]
        now: dict[str, Held] = {}
        for row, (name, place) in enumerate(zip(names, _places(metadata, drafted, lengths), strict=True)):
            if lengths[row] and place is not None:
                self._check(group, name, row, len(names), computed[row], drafted[row], place, held.get(name))
                now[name] = Held(computed[row], place.leaves, drafted[row])
        self._held[id(builder)] = now

    def _check(
        self,
        group: int,
        name: str,
        row: int,
        rows: int,
        computed: int,
        drafts: int,
        place: _Place,
        held: Held | None,
    ) -> None:
        if held is None or place.reads is None or computed <= held.computed:
            return  # new, begun again after it was preempted, or reading nothing
        came = computed - held.computed
        lies_in = held.blocks[min(came, len(held.blocks)) - 1]
        self.checks += 1
        if place.reads != lies_in:
            self.losses += 1
            if self.first is None:
                self.first = Loss(
                    step=self._step,
                    group=group,
                    request=name,
                    row=row,
                    rows=rows,
                    field=place.field,
                    path=place.path,
                    reads=place.reads,
                    lies_in=lies_in,
                    accepted_before=came,
                    drafts_before=held.drafts,
                    drafts_now=drafts,
                )
                self._write()
        if self.checks % WRITE_EVERY == 0:
            self._write()

    def _write(self) -> None:
        aside = self.path.with_suffix(".aside")
        first = None if self.first is None else asdict(self.first)
        aside.write_text(json.dumps({"checks": self.checks, "losses": self.losses, "first": first}), encoding="utf-8")
        aside.replace(self.path)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a row's kernels read a state, and where they leave one behind each of its tokens."""

    reads: int | None
    leaves: tuple[int, ...]
    field: str
    path: str


def _places(metadata: Any, drafts: list[int], lengths: list[int]) -> list[_Place | None]:
    """Of each row, in the batch's order."""
    speculative = [metadata.num_spec_decodes > 0 and own >= 0 for own in drafts]
    windows = _listed(metadata.spec_state_indices_tensor)
    accepted = _listed(metadata.num_accepted_tokens)
    blocks = _listed(metadata.non_spec_state_indices_tensor)
    initial = _listed(metadata.has_initial_state)
    found: list[_Place | None] = []
    spec, plain = iter(range(len(windows))), iter(range(len(blocks)))
    for own, length in zip(speculative, lengths, strict=True):
        at = next(spec if own else plain, None)
        if at is None:
            found.append(None)
        elif own:
            window = windows[at]
            reads = window[accepted[at] - 1]
            found.append(_Place(reads, tuple(window[:length]), "num_accepted_tokens", "speculative"))
        else:
            begins = bool(initial) and at < len(initial) and not initial[at]
            reads = None if begins else blocks[at]
            found.append(_Place(reads, (blocks[at],), "non_spec_state_indices_tensor", "plain"))
    return found


def _listed(tensor: Any) -> list[Any]:
    found: list[Any] = [] if tensor is None else tensor.tolist()
    return found


def read(path: Path) -> Mapping[str, Any] | None:
    """What a witness wrote; None if it wrote nothing."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found
