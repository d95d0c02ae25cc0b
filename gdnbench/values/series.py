"""Series and their points: one metric of one variant, scenario or load, device and machine, over time.

A series has one point in a run at most. Figures whose keys differ in anything are never held against each other.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from typing import Any

from gdnbench.values.metrics import Assumption, Direction
from gdnbench.values.verdicts import Json, Verdict, finite

ANYWHERE = "any"
"""The machine of exact counts: they are the same on every one."""


@dataclass(frozen=True, slots=True, order=True)
class Series:
    """The key of a series: all that must be the same for two figures to be figures of one thing.

    Library versions and commits are not in it: what they do to a figure is what a series is there to show.

    Attributes:
        variant: what was measured, as it is spelled.
        against: the variant that it is held against, where the figure is a ratio or a difference; empty where it is
            the variant's own. Both the same: identical code, the control.
        part: of the change; empty where there are no parts.
        load: the scenario of a step, `c16` for sixteen requests in flight, the task of answers.
        metric: its tag.
        statistic: how it comes from samples: `median`, `rate`, `mean`, `p99`, `count`; of answers, the filter.
        setting: what else has to be the same, such as the server and its requests: a word, and a digest.
        device: `cpu`, `cuda`, `traced` for counts of the traced accelerator; empty where that is not known.
        hardware: name of the processor or GPU; empty for counts.
        machine: which one, as `Machine.host` has it; `any` for counts.
    """

    variant: str
    against: str
    part: str
    load: str
    metric: str
    statistic: str
    setting: str
    device: str
    hardware: str
    machine: str

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that stand for the key, in file names and links."""
        return hashlib.sha256(json.dumps([getattr(self, name) for name in KEY]).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        what = self.variant if not self.against else f"{self.variant} against {self.against}"
        words = [what, self.part, self.load, self.statistic, self.metric, self.setting, self.hardware or self.device]
        return " ".join(word for word in [*words, self.machine] if word)


KEY = tuple(field.name for field in fields(Series))
"""The names of the key's fields, in their order."""


def setting(word: str, facts: Any) -> str:
    """A setting for a key: a word for a person, and eight digits of the digest of everything that it stands for.

    Args:
        facts: of JSON's types.
    """
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:8]
    return f"{word} {digest}"


@dataclass(frozen=True, slots=True)
class Point:
    """What one run says of one series.

    Attributes:
        series: its key.
        value: the figure, in `unit`; of sampled metrics the median over launches.
        unit: of the value; `ratio` for after / before, `difference` for after - before of shares.
        direction: whether lower or higher is better; of a ratio, of what it is a ratio of.
        assumption: `exact` or `sampled`.
        interval: of the value, at least 95 %; None where the launches are too few to have one.
        launches: how many it rests on.
        primary: whether the run was about it.
        verdict: where it is a comparison; None for a variant's own figure, and for the control.
        invalid: why it must not be held against others; empty where it may.
        reason: of the verdict, one line.
        smallest_detectable: the change, as a fraction, that such a run finds four times in five; None if not known.
        samples: one for each launch, in their order, in `unit`; empty where they are not known.
    """

    series: Series
    value: float
    unit: str
    direction: Direction
    assumption: Assumption
    interval: tuple[float, float] | None = None
    launches: int = 1
    primary: bool = False
    verdict: Verdict | None = None
    invalid: str = ""
    reason: str = ""
    smallest_detectable: float | None = None
    samples: tuple[float, ...] = ()

    def to_json(self) -> Json:
        """All of it but the samples."""
        low, high = self.interval or (None, None)
        return {
            "series": self.series.id,
            **{name: getattr(self.series, name) for name in KEY},
            "value": finite(self.value),
            "unit": self.unit,
            "direction": self.direction,
            "assumption": self.assumption,
            "ci_low": finite(low),
            "ci_high": finite(high),
            "launches": self.launches,
            "primary": self.primary,
            "verdict": None if self.verdict is None else self.verdict.value,
            "invalid": self.invalid,
            "reason": self.reason,
            "smallest_detectable": finite(self.smallest_detectable),
        }
