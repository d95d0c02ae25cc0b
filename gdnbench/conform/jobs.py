"""What conformance is asked, and what it answers: one job and one row for each part of each side of a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from gdn_impl.catalog import CATALOG
from gdnbench.drivers.registry import PARTS, Part

SIDES = ("before", "after")

SEEN = "seen: "
"""In front of what was met of the foreign, as against what is listed."""


@dataclass(frozen=True, slots=True)
class Job:
    """One part of one side, against one release.

    Attributes:
        change, side, part: what is compared.
        release: what it is compared with, such as `0.29.0`.
        foreign: what else is listed to differ between the change's two releases, one line each.
        random: random scenarios besides the named ones.
        seed: of the first random scenario.
        golden: whether to answer with the release's results on the named scenarios, too.
    """

    change: int
    side: str
    part: Part
    release: str
    foreign: tuple[str, ...] = ()
    random: int = 300
    seed: int = 0
    golden: bool = False

    @property
    def compares_operations(self) -> bool:
        """Whether operations are compared, or fields alone."""
        return self.side in self.part.compares_operations

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Job:
        """From what `as_dict` gave, by way of JSON."""
        part: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in given["part"].items()
        }
        return cls(**{**given, "part": Part(**part), "foreign": tuple(given["foreign"])})


@dataclass(slots=True)
class Row:
    """What one job found. Counts are over all scenarios, devices and calls.

    Attributes:
        drivable: whether the release's code can be driven on a CPU; where not, `reason` says why.
        scenarios: how many were compared.
        field_mismatches: fields whose values differ, or that only one of both has.
        operation_mismatches: steps whose operations differ, in kind, arguments or order.
        foreign: what is listed as foreign, and what of it was seen; never counted as a mismatch.
        first_mismatch: the first one in full, empty where there is none.
    """

    change: int
    side: str
    part: str
    release: str
    drivable: bool = True
    reason: str = ""
    scenarios: int = 0
    field_mismatches: int = 0
    operation_mismatches: int = 0
    foreign: list[str] = field(default_factory=list)
    first_mismatch: str = ""

    @property
    def conforms(self) -> bool:
        """Whether nothing differs, and something was compared where it could be."""
        compared = self.scenarios > 0 or not self.drivable
        return compared and not (self.field_mismatches or self.operation_mismatches)

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def of(cls, job: Job) -> Row:
        """The row of a job that found nothing yet."""
        drivable = job.part.oracle is not None
        reason = "" if drivable else job.part.reason
        row = cls(job.change, job.side, job.part.name, job.release, drivable, reason)
        row.foreign.extend(job.foreign)
        if drivable and not job.compares_operations:
            row.foreign.append(f"operations are not compared: {job.part.uncompared}")
        return row


def jobs(changes: Iterable[int], *, random: int = 300, seed: int = 0, golden: bool = False) -> list[Job]:
    """The jobs of some changes: each part, on both sides."""
    return [
        Job(change, side, part, release, (*part.foreign, *CATALOG[change].foreign), random, seed, golden)
        for change in changes
        for part in PARTS[change]
        for side, release in zip(SIDES, CATALOG[change].releases, strict=True)
    ]
