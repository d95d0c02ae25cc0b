"""Faults that end a server, for tests of what the harness does then. Those that break metadata: `gdn_impl.faults`."""

from __future__ import annotations

import time
from collections.abc import Callable

from gdn_impl import faults
from gdnbench.values.errors import UserError

Strike = Callable[[], None]


def _crash() -> None:
    raise RuntimeError("fault:crash was told to fail in this build")


def _hang() -> None:
    while True:
        time.sleep(3600)


ENDINGS: dict[str, Strike] = {"crash": _crash, "hang": _hang}
"""What happens in one build of a KV group."""


def check(name: str) -> None:
    """Make sure that a server can run `fault:NAME`.

    Raises:
        UserError: there is no such fault, or a server on a CPU cannot express it.
    """
    if name in ENDINGS:
        return
    fault = faults.find(name)
    if fault is None:
        near = faults.near(name)
        hint = f"did you mean fault:{near}?" if near else f"known: {', '.join([*faults.FAULTS, *ENDINGS])}"
        raise UserError(f"unknown variant fault:{name}: {hint}")
    if not fault.live:
        raise UserError(f"fault:{name}: a server on a CPU cannot express it: {fault.why_not}")
