"""What a night measured, and what it has to say: kept apart, so that a red night still leaves data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from gdnbench.values.shifts import Shift
from gdnbench.values.verdicts import Json, Verdict


class PartState(StrEnum):
    """What became of a part of a night."""

    MEASURED = "measured"
    SKIPPED = "skipped"
    """A finished run answers the same question: same sources, libraries and machine."""
    FAILED = "failed"
    LEFT_OUT = "left out"
    """It did not fit into the budget."""
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class PartOutcome:
    """One part of a night.

    Attributes:
        name: of the part.
        state: what became of it.
        why: of that state, one line; empty for what was measured.
        seconds: that it took.
        runs: names of its runs in the history, reruns included; of a skipped part, of the run that answers it.
        verdict: of its first run; None where there is none.
        expected: verdicts that the plan expects of it, which are no news.
    """

    name: str
    state: PartState
    why: str = ""
    seconds: float = 0.0
    runs: tuple[str, ...] = ()
    verdict: Verdict | None = None
    expected: frozenset[Verdict] = frozenset()

    def to_json(self) -> Json:
        return {
            "part": self.name,
            "state": self.state.value,
            "why": self.why,
            "seconds": round(self.seconds, 1),
            "runs": list(self.runs),
            "verdict": None if self.verdict is None else self.verdict.value,
            "expected": sorted(verdict.value for verdict in self.expected),
        }


@dataclass(frozen=True, slots=True)
class Night:
    """A night.

    Attributes:
        name: when it began, which every run of it carries in its settings.
        plan: the name of its plan.
        budget_s: the time that it had, seconds.
        seconds: the time that it took.
        outcomes: a part each, in the order of the plan.
        alerts: the parts whose verdict asks for attention.
        shifts: of the history, that no night told before.
    """

    name: str
    plan: str
    budget_s: float
    seconds: float
    outcomes: tuple[PartOutcome, ...]
    alerts: tuple[PartOutcome, ...]
    shifts: tuple[Shift, ...] = ()

    @property
    def worse(self) -> tuple[Shift, ...]:
        """The shifts that ask for attention: for the worse, and nobody has said why."""
        return tuple(one for one in self.shifts if one.worse and one.is_open)

    def of(self, *states: PartState) -> tuple[PartOutcome, ...]:
        """The parts that came to this."""
        return tuple(one for one in self.outcomes if one.state in states)

    def to_json(self) -> Json:
        counts = Counter(one.state for one in self.outcomes)
        return {
            "night": self.name,
            "plan": self.plan,
            "budget_s": self.budget_s,
            "seconds": round(self.seconds, 1),
            "measuring": {
                **{state.value: counts[state] for state in PartState},
                "parts": [one.to_json() for one in self.outcomes],
            },
            "alerting": {
                "alerts": [one.to_json() for one in self.alerts],
                "shifts": [one.to_json() for one in self.shifts],
            },
        }


def alerts(outcomes: Collection[PartOutcome], fail_on: Collection[Verdict]) -> tuple[PartOutcome, ...]:
    """The parts whose verdict is named and was not expected; of skipped parts too, for what they found still holds."""
    return tuple(
        one
        for one in outcomes
        if one.state in (PartState.MEASURED, PartState.SKIPPED)
        and one.verdict in fail_on
        and one.verdict not in one.expected
    )
