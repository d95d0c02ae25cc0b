"""The switch inside the server: which side builds, held from a step's begin to its end, and what is counted of it.

This is the hot path. It touches host integers and the mapped file alone, never a tensor: nothing is asked of a device.
Counts are written in each build, not at the end of a step: there, after the model ran, caches are cold, and the same
stores took twice as long in a live engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from time import perf_counter_ns
from typing import Any, Protocol

from gdnbench.plugin import layout
from gdnbench.plugin.control import Control
from gdnbench.plugin.sides import Side
from gdnbench.plugin.staging import is_staged
from gdnbench.values.coverage import Kind

BUCKETS_PER_E = 1 / log(layout.BUCKET_RATIO)
LAST_BUCKET = layout.BUCKETS - 1
PACE = range(300)
"""A loop of a few microseconds, the same in every step: what it takes tells the processor's pace at that moment."""

DECODE, PREFILL, MIXED, SPECULATIVE = (
    layout.cell_at(0, kind, False) - layout.role_at(0)
    for kind in (Kind.DECODE, Kind.PREFILL, Kind.MIXED, Kind.SPECULATIVE)
)


class Comparing(Protocol):
    """Builds with both sides: see `gdnbench.plugin.comparison`."""

    def __call__(self, builder: Any, sides: Sequence[Side], arguments: Sequence[Any]) -> tuple[Any, int]: ...


class Switch:
    """One per process that builds.

    Args:
        control: the mapped file.
        compare: builds with both sides; gives what the engine gets, and bits of the fields that differed.
        forget: drops what variants remember between steps.
    """

    __slots__ = (
        "_alternates",
        "_base",
        "_began",
        "_built",
        "_command",
        "_commands",
        "_compare",
        "_compares",
        "_decodes",
        "_forget",
        "_in_step",
        "_known",
        "_observes",
        "_phase",
        "_roles",
        "_side",
        "_words",
    )

    def __init__(self, control: Control, compare: Comparing, forget: Callable[[], None]) -> None:
        self._roles = len(control.roles)
        self._commands = self._words = control.words
        self._compare = compare
        self._forget = forget
        self._known: set[Any] = set()
        self._in_step = False
        self._built = self._phase = self._began = 0
        self._alternates = self._observes = self._decodes = False
        self._side = -1
        self._latch(self._commands[layout.COMMAND])

    def count_aside(self) -> None:
        """From now on counts go to memory that nobody reads: of several workers the first speaks for all."""
        self._words = memoryview(bytearray(layout.file_size(self._roles))).cast("Q")

    def begin(self) -> None:
        """A step begins: whatever the command is now holds until it ends."""
        words = self._words
        command = self._commands[layout.COMMAND]
        if command != self._command:
            self._latch(command)
        words[self._base + layout.BEGUN] += 1
        self._built = 0
        self._in_step = True
        self._began = started = perf_counter_ns()
        for _ in PACE:
            pass
        words[self._base + layout.PACED] += perf_counter_ns() - started
        words[self._base + layout.PACES] += 1
        if self._alternates:
            self._phase = (self._phase + 1) % layout.PHASES
            self._observes = self._phase == 0
            self._decodes = False

    def end(self) -> None:
        """A step has come back."""
        words, base = self._words, self._base
        self._in_step = False
        words[base + layout.ENDED] += 1
        if built := self._built:
            words[base + layout.BUILT] += 1
            words[base + layout.STAMPED] += built
        if self._alternates and self._decodes:
            at = base + layout.PHASE_AT + 2 * self._phase
            words[at] += 1
            words[at + 1] += int(log(perf_counter_ns() - self._began) * layout.LOG_UNITS)
        if self._commands[layout.COMMAND] != self._command:
            words[base + layout.MIXED] += 1
            words[base + layout.STRAYED] += built

    def build(self, builder: Any, sides: Sequence[Side], arguments: Sequence[Any]) -> Any:
        """One build of one builder by the side whose turn it is.

        Args:
            builder: vLLM's.
            sides: its sides, as `make_sides` gives them.
            arguments: of its `build`, all five.
        """
        if not self._in_step:
            return self._outside(sides, arguments)
        if self._compares:
            return self._compared(builder, sides, arguments)
        if not self._observes:
            metadata = sides[self._side](*arguments)
            if self._alternates and not metadata.num_prefills:
                self._decodes = True
            return metadata
        side = sides[self._side]
        started = perf_counter_ns()
        metadata = side(*arguments)
        took = perf_counter_ns() - started

        if metadata.num_prefills:
            cell = MIXED if metadata.num_decodes or metadata.num_spec_decodes else PREFILL
        else:
            self._decodes = True
            cell = SPECULATIVE if metadata.num_spec_decodes else DECODE
            if builder.use_full_cuda_graph and is_staged(builder, metadata):
                cell += layout.CELL_WORDS
        words, base = self._words, self._base
        cell += base
        bucket = int(log(took | 1) * BUCKETS_PER_E)
        words[cell] += took
        words[cell + 1 + (bucket if bucket < LAST_BUCKET else LAST_BUCKET)] += 1
        if builder not in self._known:
            self._known.add(builder)
            words[layout.GROUPS] = len(self._known)
        self._built += 1
        return metadata

    def _latch(self, command: int) -> None:
        """Takes a command over."""
        words = self._words
        role = command & 0xFF
        nobody = role == layout.NOBODY
        side = self._roles if nobody else role
        self._command = command
        self._base = layout.role_at(side)
        self._observes = bool(command & layout.OBSERVE)
        self._compares = bool(command & layout.COMPARE)
        self._alternates = bool(command & layout.ALTERNATE)
        if side != self._side:
            self._forget()
        self._side = side
        block = command >> layout.BLOCK_SHIFT
        # Requests of one length take a number of steps that threes may divide: each place of a request gets each phase.
        self._phase = block % layout.PHASES
        if block != words[layout.BLOCK]:
            for number in range(self._roles + 1):
                words[layout.role_at(number) + layout.STAMPED] = 0
            words[layout.BLOCK] = block

    def _outside(self, sides: Sequence[Side], arguments: Sequence[Any]) -> Any:
        """A build outside of a step, as profile runs and captures have: by the command as it is, counted apart."""
        command = self._commands[layout.COMMAND]
        if command != self._command:
            self._latch(command)
        self._words[self._base + layout.OUTSIDE] += 1
        return sides[self._side](*arguments)

    def _compared(self, builder: Any, sides: Sequence[Side], arguments: Sequence[Any]) -> Any:
        words, base = self._words, self._base
        metadata, differing = self._compare(builder, sides, arguments)
        words[base + layout.COMPARED] += 1
        if differing:
            words[base + layout.DIFFERENT] += 1
            words[base + layout.FIELDS] |= differing
        return metadata
