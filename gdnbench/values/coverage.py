"""Coverage: how many builds of each kind of step each side really ran in a live server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What a model-runner step is to the GDN metadata builder, told from the metadata that it built."""

    DECODE = "decode"
    """Decodes alone."""
    PREFILL = "prefill"
    """Prefills alone."""
    MIXED = "mixed"
    """Prefills beside decodes or beside rows with drafts."""
    SPECULATIVE = "speculative"
    """Rows with drafts alone."""


@dataclass(frozen=True, slots=True)
class Builds:
    """The builds of one kind by one side.

    Attributes:
        kind: of step.
        staged: whether the metadata was copied into the persistent buffers that a captured graph reads.
        builds: how many; each KV group of a step is one.
        mean_us, median_us: host time of one build, microseconds; None where there was none. The median is that of a
            histogram, exact to 5 %.
    """

    kind: Kind
    staged: bool
    builds: int
    mean_us: float | None
    median_us: float | None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "kind": self.kind.value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Builds:
        return cls(**{**data, "kind": Kind(data["kind"])})


def total(builds: Iterable[Builds], *kinds: Kind) -> int:
    """How many builds there were of these kinds, or of all."""
    return sum(one.builds for one in builds if not kinds or one.kind in kinds)
