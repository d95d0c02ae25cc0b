"""Names of runs: `00000042-20261101T020000Z-step-1f3c9a2be0d47788`.

First a number that is one more than the largest that its writer saw, then when the measurement began, what measured,
and sixteen digits of the digest of the run's token. Two writers at once may take the same number; the digits differ.
One measurement has one token, so keeping it twice gives the same digits.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from gdnbench.oracle.cache import ASIDE
from gdnbench.values.runs import Run

_NAME = re.compile(r"(?P<sequence>\d{8,15})-(?P<started>\d{8}T\d{6}Z)-(?P<kind>[a-z]{1,20})-(?P<digits>[0-9a-f]{16})")
_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True, order=True)
class RunName:
    """A name, read; in order of number, then time."""

    sequence: int
    started: datetime
    kind: str
    digits: str

    def __str__(self) -> str:
        return f"{self.sequence:08d}-{self.started.strftime(_TIME)}-{self.kind}-{self.digits}"


def parse_name(text: str) -> RunName | None:
    """The name that a directory has; None if it is none of a run."""
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    try:
        started = datetime.strptime(match["started"], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
    return RunName(int(match["sequence"]), started, match["kind"], match["digits"])


def is_aside(text: str) -> bool:
    """Whether a directory is one that somebody was still writing."""
    return text.startswith(ASIDE)


def name_for(run: Run, present: Iterable[str]) -> tuple[RunName, bool]:
    """The name under which a run is kept, and whether it is there already.

    Args:
        present: names of everything in the history.
    """
    known = [name for text in present if (name := parse_name(text)) is not None]
    digits = hashlib.sha256(run.token.encode()).hexdigest()[:16]
    for name in known:
        if (name.digits, name.kind) == (digits, run.identity.kind):
            return name, True
    sequence = 1 + max((name.sequence for name in known), default=0)
    return RunName(sequence, run.identity.when, run.identity.kind, digits), False
