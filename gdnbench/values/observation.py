"""What the harness's own watching costs in a live server."""

from __future__ import annotations

from dataclasses import dataclass

from gdnbench.values.metrics import ENGINE_STEP
from gdnbench.values.verdicts import Json, Judgement


@dataclass(frozen=True, slots=True)
class ObservationCost:
    """Steps whose builds are observed against their neighbours whose builds are not.

    Attributes:
        variant: what built.
        steps: of all launches.
        unobserved_us, observed_us: geometric means of a step's time, medians over launches.
        judgement: of observed against unobserved steps.
        control: of unobserved steps against each other.
    """

    variant: str
    steps: int
    unobserved_us: float
    observed_us: float
    judgement: Judgement
    control: Judgement

    def to_json(self) -> Json:
        return {
            "metric": ENGINE_STEP.tag,
            "unit": ENGINE_STEP.unit,
            "variant": self.variant,
            "steps": self.steps,
            "before": self.unobserved_us,
            "after": self.observed_us,
            **self.judgement.to_json(),
            "control": self.control.to_json(),
        }
