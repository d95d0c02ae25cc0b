"""Which runs of a history a question is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import get_args

from gdnbench.history.reading import KeptRun
from gdnbench.values.errors import UserError
from gdnbench.values.runs import RunKind


@dataclass(frozen=True, slots=True)
class Selecting:
    """Runs that fit all of it; None fits every run.

    Attributes:
        change: that their variants belong to.
        kind: what measured.
        device: `cpu`, `cuda` or `traced`, or a part of the name of the processor or GPU.
        since: the earliest position in time.

    Raises:
        UserError: there is no such kind.
    """

    change: int | None = None
    kind: str | None = None
    device: str | None = None
    since: datetime | None = None

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in get_args(RunKind):
            raise UserError(f"--kind {self.kind}: there are {', '.join(get_args(RunKind))}")

    def of(self, runs: Iterable[KeptRun]) -> tuple[KeptRun, ...]:
        """Those of the runs that fit, in their order."""
        return tuple(run for run in runs if self._fits(run))

    def _fits(self, run: KeptRun) -> bool:
        identity, since = run.identity, self.since
        if since is not None and run.position < (since if since.tzinfo is not None else since.replace(tzinfo=UTC)):
            return False
        machine = identity.machine
        return (
            self.change in (None, identity.change)
            and self.kind in (None, identity.kind)
            and (self.device in (None, machine.device) or str(self.device).lower() in machine.hardware.lower())
        )
