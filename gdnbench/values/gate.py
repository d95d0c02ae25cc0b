"""What the gate compares and says: costs and step times of a run, and the rows of one run against another.

A row is one variant, part and scenario under one metric. A row that only one side has is never left out (`Presence`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from gdnbench.values.verdicts import Caveat, Json, Judgement, Verdict, worst

EXACT = "exact cost"
"""The metric of a row whose figures are counts."""


class Presence(StrEnum):
    """Which sides have a row, and whether it could be measured there."""

    COMPARED = "compared"
    NEWLY_FAILING = "newly failing"
    FIXED = "fixed"
    FAILING = "failing on both sides"
    GONE = "gone"
    NEW = "new"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a figure was measured: a variant, a part of its change, a scenario."""

    variant: str
    part: str
    scenario: str

    def __str__(self) -> str:
        return f"{self.variant} {self.part} {self.scenario}"


@dataclass(frozen=True, slots=True)
class Cost:
    """The exact costs at one place.

    Attributes:
        counts: by metric tag; None where the step failed.
        failure: how it failed, one line; empty where it did not.
    """

    counts: Mapping[str, int] | None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """The step time at one place: for each launch its median over blocks.

    Attributes:
        metric: its tag.
        device: `cpu` or `cuda`.
        rounds: blocks of a launch; runs with other numbers are not compared.
        microseconds: one for each launch.
    """

    metric: str
    device: str
    rounds: int
    microseconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """What was measured, by what, and where.

    Attributes:
        torch: its version; counts are comparable under one version alone.
        source: digest of the reference builders, `gdn_impl`.
        harness: digest of the code that counts.
        commit: of the checkout, None outside of one.
        changed: whether files differed from that commit.
        cpu, cores, gpu: the machine; step times are comparable on one machine alone.
        python, system: beside.
        made: when, UTC.
    """

    torch: str
    source: str
    harness: str
    commit: str | None
    changed: bool
    cpu: str
    cores: int
    gpu: str | None
    python: str
    system: str
    made: str

    def to_json(self) -> Json:
        return asdict(self)

    @property
    def version(self) -> str:
        """The commit for a person: shortened, and whether it is all."""
        if self.commit is None:
            return "no commit"
        return self.commit[:12] + (" with changed files" if self.changed else "")


@dataclass(frozen=True, slots=True)
class Selection:
    """What a run holds.

    Attributes:
        variants: their names; None for the after side of every catalogued change.
        part: of each variant's change; None for all that are measured.
        scenarios: their names.
    """

    variants: tuple[str, ...] | None
    part: str | None
    scenarios: tuple[str, ...]

    def to_json(self) -> Json:
        variants = None if self.variants is None else list(self.variants)
        return {"variants": variants, "part": self.part, "scenarios": list(self.scenarios)}

    def has(self, place: Place) -> bool:
        """Whether a place is selected."""
        return (
            (self.variants is None or place.variant in self.variants)
            and self.part in (None, place.part)
            and place.scenario in self.scenarios
        )


@dataclass(frozen=True, slots=True)
class GateRun:
    """One side of a gate: everything that was measured of one state of the code."""

    identity: Identity
    selection: Selection
    costs: Mapping[Place, Cost]
    steps: Mapping[Place, StepTimes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GateRow:
    """One row.

    Attributes:
        place: where.
        metric: `exact cost`, or the tag of a sampled metric.
        presence: which sides have it.
        before, after: the figures by tag; None where there are none.
        judgement: None where nothing is to be judged: a new row, or one that may be gone.
    """

    place: Place
    metric: str
    presence: Presence
    before: Mapping[str, float] | None
    after: Mapping[str, float] | None
    judgement: Judgement | None

    @property
    def verdict(self) -> Verdict | None:
        return None if self.judgement is None else self.judgement.verdict

    @property
    def differs(self) -> bool:
        """Whether a reader has to see it: anything but a row that both sides have, with the same figures."""
        return self.presence is not Presence.COMPARED or self.verdict is not Verdict.SAME

    def to_json(self) -> Json:
        judgement = None if self.judgement is None else self.judgement.to_json()
        return {
            "variant": self.place.variant,
            "part": self.place.part,
            "scenario": self.place.scenario,
            "metric": self.metric,
            "presence": self.presence.value,
            "before": None if self.before is None else dict(self.before),
            "after": None if self.after is None else dict(self.after),
            **(judgement or {"verdict": None}),
        }


@dataclass(frozen=True, slots=True)
class GateResult:
    """What `gdnbench gate --json` prints.

    Attributes:
        baseline: how it was named.
        before, after: what the baseline is, and what is here now.
        rows: all of them, those that a reader has to see first.
        warnings: what a reader must know beside.
    """

    baseline: str
    before: Identity
    after: Identity
    rows: tuple[GateRow, ...]
    warnings: tuple[Caveat, ...]

    @property
    def verdict(self) -> Verdict:
        return worst(row.verdict for row in self.rows if row.verdict is not None)

    @property
    def unchanged(self) -> bool:
        """Whether both sides have the same reference builders, byte for byte."""
        return self.before.source == self.after.source

    @property
    def tally(self) -> Mapping[Presence, int]:
        """How many rows there are of each presence."""
        counted = Counter(row.presence for row in self.rows)
        return {presence: counted[presence] for presence in Presence}

    def to_json(self) -> Json:
        return {
            "baseline": self.baseline,
            "verdict": self.verdict.value,
            "unchanged": self.unchanged,
            "tally": {presence.value: count for presence, count in self.tally.items()},
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "rows": [row.to_json() for row in self.rows],
            "warnings": [caveat.to_json() for caveat in self.warnings],
        }
