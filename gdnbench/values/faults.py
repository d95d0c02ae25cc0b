"""What the checks of this harness say of faults that were put in on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gdnbench.values.verdicts import Json

Check = Literal["equality", "exact cost", "accuracy"]
"""In the order in which they are asked: the first that sees a fault is named."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One fault, or one sound variant that nothing may object to.

    Attributes:
        fault: its name; of a sound variant its spelling.
        what: goes wrong, one line.
        source: where it happened.
        by: the first check that saw it; None if none did.
        seen: what that check saw, one line.
        accuracy_before, accuracy_after: shares of right answers of the sound and the broken side; None where no server
            was asked.
        accuracy: what the answers said, one line, or why no server was asked.
        lost: states that were read from the wrong block, in words; empty where none were or nobody looked.
    """

    fault: str
    what: str
    source: str
    by: Check | None
    seen: str
    accuracy_before: float | None = None
    accuracy_after: float | None = None
    accuracy: str = ""
    lost: str = ""

    @property
    def caught(self) -> bool:
        return self.by is not None

    def to_json(self) -> Json:
        return {**asdict(self), "caught": self.caught}


@dataclass(frozen=True, slots=True)
class FaultTable:
    """All of them.

    Attributes:
        rows: faults.
        sound: variants that are right; each must pass all checks.
        identity: server, task and machine of the answers; empty where none was asked.
    """

    rows: tuple[FaultRow, ...]
    sound: tuple[FaultRow, ...]
    identity: Mapping[str, Any]

    @property
    def holds(self) -> bool:
        """Every fault is caught, and nothing else."""
        return all(row.caught for row in self.rows) and not any(row.caught for row in self.sound)

    def to_json(self) -> Json:
        return {
            "rows": [row.to_json() for row in self.rows],
            "sound": [row.to_json() for row in self.sound],
            "holds": self.holds,
            "identity": dict(self.identity),
        }
