"""A plan of nights: what is to be measured, each part one comparison at one level."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from gdn_impl.catalog import CATALOG
from gdnbench.drivers.choice import change_of
from gdnbench.values.scenarios import NAMED
from gdnbench.values.variants import parse
from gdnbench.values.verdicts import Verdict

Kind = Literal["cost", "step", "serve", "accuracy"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Part:
    """One comparison at one level.

    Attributes:
        kind: of measurement, as of runs.
        before, after: variants, as they are spelled.
        options: what else is asked, by the names of the plan's keys.
        value: what it is worth, against other parts, when time is short.
        minutes: that it takes as the plan has it; None to estimate it.
        again_after_s: after so many seconds it is measured again though nothing changed; None for never.
        expected: verdicts that are no news.
    """

    kind: Kind
    before: str
    after: str
    options: Mapping[str, Any] = field(default_factory=dict)
    value: float = 1.0
    minutes: float | None = None
    again_after_s: float | None = None
    expected: frozenset[Verdict] = frozenset()

    @property
    def name(self) -> str:
        """Its name in tables."""
        told = [_word(self.options[key]) for key in _TOLD if key in self.options]
        return " ".join([self.kind, self.before, "->", self.after, *told])

    @property
    def scenarios(self) -> list[str]:
        """The steps that are asked for; else those of the change, or all named ones."""
        change = CATALOG.get(change_of((parse(self.before), parse(self.after))) or 0)
        return list(self.options.get("scenarios") or (NAMED if change is None else change.scenarios))

    @property
    def digest(self) -> str:
        """Sixteen digits of what it asks, whatever it is worth and however long it takes."""
        asked = [self.kind, self.before, self.after, dict(self.options)]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


_TOLD = ("part", "device", "preset", "speculative", "task", "scenarios", "concurrency")
"""Options that a name tells, in this order."""


def _word(value: Any) -> str:
    if not isinstance(value, list | tuple):
        return str(value)
    first = " ".join(str(one) for one in value[:2])
    return first if len(value) <= 2 else f"{first} and {len(value) - 2} more"


@dataclass(frozen=True, slots=True)
class NightPlan:
    """What a night is to measure.

    Attributes:
        name: of the plan: its file's.
        budget_s: the time that it may take, seconds.
        fail_on: verdicts that are alerts, unless the command names others.
        parts: in their order.
    """

    name: str
    budget_s: float
    fail_on: frozenset[Verdict]
    parts: tuple[Part, ...]
