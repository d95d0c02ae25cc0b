"""Builders broken on purpose: the server's own builder first, then its result is spoilt. For tests of the harness."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from gdnbench.plugin.staging import is_staged
from gdnbench.values.errors import UserError

Break = Callable[[Any], None]
"""Spoils the metadata of one build, in place."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to be broken.

    Attributes:
        what: it does, in one line.
        make: a fresh instance for one builder, from the builder and the number of the build in which it strikes, if it
            strikes once.
    """

    what: str
    make: Callable[[Any, int], Break]


def _rotated(builder: Any, at: int) -> Break:
    def spoil(metadata: Any) -> None:
        for name, rows in (
            ("non_spec_state_indices_tensor", metadata.num_decodes),
            ("spec_state_indices_tensor", metadata.num_spec_decodes),
        ):
            states = getattr(metadata, name)
            if states is None or rows < 2:
                continue
            rotated = states.clone()  # unstaged, it may be a view of the block table
            rotated[:rows] = states[:rows].roll(1, 0)
            if is_staged(builder, metadata):
                states.copy_(rotated)  # captured graphs read these very buffers
            else:
                setattr(metadata, name, rotated)

    return spoil


def _rotated_every_7(builder: Any, at: int) -> Break:
    rotate, steps = _rotated(builder, at), 0

    def spoil(metadata: Any) -> None:
        nonlocal steps
        if metadata.num_prefills == 0 and metadata.num_spec_decodes == 0:
            steps += 1
            if steps % 7 == 0:
                rotate(metadata)

    return spoil


def _stale_initial_state(builder: Any, at: int) -> Break:
    def spoil(metadata: Any) -> None:
        for name in ("has_initial_state", "prefill_has_initial_state"):
            if (has_state := getattr(metadata, name)) is not None:
                setattr(metadata, name, has_state | True)

    return spoil


def _striking(strike: Callable[[], None]) -> Callable[[Any, int], Break]:
    """A fault that strikes once."""

    def make(builder: Any, at: int) -> Break:
        builds = 0

        def spoil(metadata: Any) -> None:
            nonlocal builds
            builds += 1
            if builds == at:
                strike()

        return spoil

    return make


def _crash() -> None:
    raise RuntimeError("fault:crash was told to fail in this build")


def _hang() -> None:
    while True:
        time.sleep(3600)


FAULTS = {
    "rotated-states": Fault("the state indices of decode rows are rotated by one, with drafts and without", _rotated),
    "rotated-states-every-7": Fault("the same, only in every seventh step of decodes alone", _rotated_every_7),
    "stale-initial-state": Fault("prefills always go on from the state that lies in their page", _stale_initial_state),
    "crash": Fault("one build fails", _striking(_crash)),
    "hang": Fault("one build never ends", _striking(_hang)),
}


def find(name: str) -> Fault:
    """The fault of that name.

    Raises:
        UserError: there is none; the line lists those that are.
    """
    if name in FAULTS:
        return FAULTS[name]
    near = get_close_matches(name, FAULTS, n=1)
    hint = f"did you mean fault:{near[0]}?" if near else f"known: {', '.join(FAULTS)}"
    raise UserError(f"unknown variant fault:{name}: {hint}")
