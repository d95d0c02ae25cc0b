"""What the same questions, answered by both sides, say: scores, flips, what is wrong, and what this size can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gdnbench.values.serving import Coverage, Fault
from gdnbench.values.verdicts import Caveat, Json, Verdict, finite, worst

Direction = Literal["lost", "gained"]
"""`lost`: right before, wrong after."""


@dataclass(frozen=True, slots=True)
class Score:
    """A share of right answers, and its standard error, both as lm-eval prints them; fractions."""

    value: float
    stderr: float | None


@dataclass(frozen=True, slots=True)
class Paired:
    """The same documents on both sides.

    Attributes:
        both_right, both_wrong: documents on which the sides agree.
        lost: right before, wrong after.
        gained: wrong before, right after.
    """

    both_right: int
    both_wrong: int
    lost: int
    gained: int

    @property
    def documents(self) -> int:
        return self.both_right + self.both_wrong + self.lost + self.gained


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """One filter of a task, before against after.

    Attributes:
        metric, filter: by lm-eval's names, such as `exact_match` and `strict-match`.
        primary: whether the verdict is this row's.
        documents: on each side.
        before, after: scores.
        paired: None where the answers themselves are not known; then the row is judged unpaired, which is weaker.
        interval: 95 %, of after minus before, as a fraction; None where nothing can be said.
        p_value: of "no difference", two-sided: exact McNemar where paired, else by the normal distribution.
        unpaired_p: what a comparison of the two scores alone gives.
        significant: the smallest difference that would have been significant, as a fraction.
        with_power: the true difference that so many documents find four times in five.
        control: the before side against a second run of itself; None where there was none.
        reason: one line.
    """

    metric: str
    filter: str
    primary: bool
    documents: int
    before: Score
    after: Score
    paired: Paired | None
    interval: tuple[float, float] | None
    p_value: float | None
    unpaired_p: float | None
    significant: float | None
    with_power: float | None
    control: Paired | None
    verdict: Verdict
    reason: str = ""

    @property
    def difference(self) -> float:
        """After minus before, as a fraction."""
        return self.after.value - self.before.value

    def to_json(self) -> Json:
        return {
            "metric": self.metric,
            "filter": self.filter,
            "primary": self.primary,
            "documents": self.documents,
            "before": self.before.value,
            "after": self.after.value,
            "stderr_before": finite(self.before.stderr),
            "stderr_after": finite(self.after.stderr),
            "difference": self.difference,
            "ci": None if self.interval is None else list(self.interval),
            "paired": self.paired is not None,
            "p_value": finite(self.p_value),
            "unpaired_p_value": finite(self.unpaired_p),
            **(asdict(self.paired) if self.paired is not None else {}),
            "control": None if self.control is None else asdict(self.control),
            "significant_difference": finite(self.significant),
            "smallest_detectable": finite(self.with_power),
            "verdict": self.verdict.value,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Flip:
    """A document that the sides answered differently: its question, what is right, and what either side wrote."""

    filter: str
    direction: Direction
    document: str
    question: str
    target: str
    before: str
    after: str

    def to_json(self) -> Json:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class AccuracyResult:
    """A judged comparison of answers.

    Attributes:
        task: by lm-eval's name.
        sides: by role; how each is spelled, or where its folder lies.
        rows: one for each filter, the primary one first.
        flips: of all filters, in the order of the documents.
        floor: the smallest difference that matters, as a fraction.
        coverage: which steps the builders of each side met; None where lm-eval ran elsewhere.
        invalid: what is wrong; then no row has another verdict than `invalid`.
        identity: all that must be the same on both sides, and what was.
    """

    task: str
    sides: Mapping[str, str]
    rows: tuple[AccuracyRow, ...]
    flips: tuple[Flip, ...]
    floor: float
    coverage: Coverage | None
    invalid: tuple[Fault, ...]
    warnings: tuple[Caveat, ...]
    identity: Mapping[str, Any]

    @property
    def verdict(self) -> Verdict:
        """Of the primary row; `invalid` if anything is."""
        return Verdict.INVALID if self.invalid else worst(row.verdict for row in self.rows if row.primary)

    @property
    def primary(self) -> AccuracyRow:
        return next(row for row in self.rows if row.primary)

    def to_json(self) -> Json:
        return {
            "task": self.task,
            "before": self.sides["before"],
            "after": self.sides["after"],
            "verdict": self.verdict.value,
            "floor": self.floor,
            "rows": [row.to_json() for row in self.rows],
            "flips": [flip.to_json() for flip in self.flips],
            "coverage": None if self.coverage is None else self.coverage.to_json(),
            "invalid": [fault.to_json() for fault in self.invalid],
            "warnings": [caveat.to_json() for caveat in self.warnings],
            "identity": dict(self.identity),
        }
