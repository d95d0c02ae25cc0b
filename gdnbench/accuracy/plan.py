"""The plan of an accuracy run: who answers what, in which servers. It is a file, to be resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gdnbench.accuracy.tasks import Task, find_task
from gdnbench.campaign.turns import AFTER, BEFORE, CONTROL
from gdnbench.serving.plan import Compared, ServerSetting
from gdnbench.values.errors import UserError

SCHEMA = 1

Backend = Literal["local-completions", "vllm"]

ORDER = (BEFORE, AFTER, CONTROL)
"""A/B/A: the before side comes again at the end, so what drifts meanwhile shows between its two runs."""


@dataclass(frozen=True, slots=True)
class AccuracyPlan(Compared):
    """One comparison of answers.

    Attributes:
        sides: the variant of each role, in the order in which they run, each in a server of its own.
        releases: the vLLM of each role's server.
        server: the setting.
        task, data, shots: what is asked: see `gdnbench.accuracy.tasks.find_task`.
        limit: only so many documents; None for all.
        concurrency: requests in flight.
        floor: the smallest difference that matters, as a fraction.
        backend: how lm-eval asks: a server by `local-completions`, or vLLM in its own process.
    """

    sides: Mapping[str, str]
    releases: Mapping[str, str]
    server: ServerSetting
    task: str
    data: str | None
    shots: int | None
    limit: int | None
    concurrency: int
    floor: float
    backend: Backend

    @property
    def launches(self) -> int:
        """Servers: one for each role."""
        return len(self.sides)

    def role(self, number: int) -> str:
        """Whose turn it is in run `number`, from 1."""
        return tuple(self.sides)[number - 1]

    def find_task(self) -> Task:
        """The task, its files where they lie now."""
        return find_task(self.task, None if self.data is None else Path(self.data), self.shots)

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "kind": "accuracy", **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AccuracyPlan:
        """The plan that `to_json` wrote.

        Raises:
            UserError: written by another version, or damaged.
        """
        values = dict(data)
        if values.pop("schema", None) != SCHEMA or values.pop("kind", None) != "accuracy":
            raise UserError("this is no accuracy run of this version of gdnbench")
        try:
            values["server"] = ServerSetting.from_json(values["server"])
            plan = cls(**values)
        except (KeyError, TypeError, AttributeError):
            raise UserError("the plan is damaged: keys are missing or unknown") from None
        if BEFORE not in plan.sides:
            raise UserError("the plan is damaged: it has no side `before`")
        return plan
