"""A recording: many launches of one variant against itself and against handicaps of known size, kept to be replayed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gdnbench.values.errors import UserError

SCHEMA = 1
CONTROL = "control"
"""The name of the comparison whose sides are identical code."""


class RecordingError(UserError):
    """A recording that cannot be read; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class RecordedPair:
    """Both sides of one comparison in one launch.

    Attributes:
        log_ratio: ln(after / before): the median over pairs of blocks.
        before, after: the median of each block, in the metric's unit, in the order measured.
    """

    log_ratio: float
    before: tuple[float, ...]
    after: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """Launches in the order in which they ran, each with the same comparisons.

    Attributes:
        variant, scenario, metric: what was measured, by name; the metric is a tag.
        launches: comparison's name (`control`, `+2%`, ...) to its pair, for each launch.
        environment: where it was recorded: device, library versions, machine, whatever identifies it.
    """

    variant: str
    scenario: str
    metric: str
    launches: tuple[Mapping[str, RecordedPair], ...]
    environment: Mapping[str, str]

    @property
    def handicaps(self) -> tuple[str, ...]:
        """The names of the other comparisons, in their order."""
        return tuple(name for name in self.launches[0] if name != CONTROL) if self.launches else ()

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "variant": self.variant,
            "scenario": self.scenario,
            "metric": self.metric,
            "environment": dict(self.environment),
            "launches": [
                {
                    name: {"log_ratio": pair.log_ratio, "before": list(pair.before), "after": list(pair.after)}
                    for name, pair in launch.items()
                }
                for launch in self.launches
            ],
        }


def from_json(data: Any) -> Recording:
    """The recording that `to_json` gave.

    Raises:
        RecordingError: with one line that names the launch at fault.
    """
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise RecordingError(f"not a recording of schema {SCHEMA}: record it anew with `gdnbench calibrate`")
    try:
        recording = Recording(
            variant=str(data["variant"]),
            scenario=str(data["scenario"]),
            metric=str(data["metric"]),
            launches=tuple(
                {
                    str(name): RecordedPair(
                        float(pair["log_ratio"]),
                        tuple(float(value) for value in pair["before"]),
                        tuple(float(value) for value in pair["after"]),
                    )
                    for name, pair in launch.items()
                }
                for launch in data["launches"]
            ),
            environment={str(key): str(value) for key, value in data["environment"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordingError(f"a damaged recording: {type(error).__name__} at {error}; record it anew") from None
    _check(recording)
    return recording


def _check(recording: Recording) -> None:
    for number, launch in enumerate(recording.launches, start=1):
        if CONTROL not in launch or launch.keys() != recording.launches[0].keys():
            raise RecordingError(f"a damaged recording: launch {number} lacks a comparison; record it anew")
        for name, pair in launch.items():
            times = (*pair.before, *pair.after)
            if not pair.before or not pair.after or not all(math.isfinite(time) and time > 0 for time in times):
                raise RecordingError(f"a damaged recording: launch {number}, {name}: a time is missing or not positive")
            if not math.isfinite(pair.log_ratio):
                raise RecordingError(f"a damaged recording: launch {number}, {name}: the ratio is not a number")
