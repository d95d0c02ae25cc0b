"""A recording: many launches of one variant against itself and against handicaps of known size, kept to be replayed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gdnbench.values.errors import UserError
from gdnbench.values.verdicts import Verdict

SCHEMA = 1
CONTROL = "control"
"""The name of the comparison whose sides are identical code."""

_LONGEST_TEXT = 500
_TIMES = 1e-6, 1e9
_MOST_LOG_RATIO = 10.0


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
class WholeCampaign:
    """A campaign that was run and judged from end to end, rather than drawn from a recording.

    Attributes:
        handicap: of its after side, or `control` where both sides were identical code.
        launches: how many it had.
        verdict: what it came to.
        ratio: after / before.
        seconds: how long its launches took together.
    """

    handicap: str
    launches: int
    verdict: Verdict
    ratio: float
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return {
            "handicap": self.handicap,
            "launches": self.launches,
            "verdict": self.verdict.value,
            "ratio": self.ratio,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class Recording:
    """Launches in the order in which they ran, each with the same comparisons.

    Attributes:
        variant, scenario, metric: what was measured, by name; the metric is a tag.
        launches: comparison's name (`control`, `+2%`, ...) to its pair, for each launch.
        environment: where it was recorded: device, library versions, machine, whatever identifies it.
        seconds: how long each launch took; empty where that is not known.
        whole: the whole campaigns that were run besides.
    """

    variant: str
    scenario: str
    metric: str
    launches: tuple[Mapping[str, RecordedPair], ...]
    environment: Mapping[str, str]
    seconds: tuple[float, ...] = ()
    whole: tuple[WholeCampaign, ...] = ()

    @property
    def handicaps(self) -> tuple[str, ...]:
        """The names of the other comparisons, in their order."""
        return tuple(name for name in self.launches[0] if name != CONTROL) if self.launches else ()

    def to_json(self) -> dict[str, Any]:
        """A pair leaves `before` out where it is the control's: usually one before side serves all comparisons."""
        return {
            "schema": SCHEMA,
            "variant": self.variant,
            "scenario": self.scenario,
            "metric": self.metric,
            "environment": dict(self.environment),
            "seconds": list(self.seconds),
            "whole": [campaign.to_json() for campaign in self.whole],
            "launches": [dict(_launch_json(launch)) for launch in self.launches],
        }


def _launch_json(launch: Mapping[str, RecordedPair]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, pair in launch.items():
        own = {"log_ratio": pair.log_ratio, "before": list(pair.before), "after": list(pair.after)}
        if name != CONTROL and pair.before == launch[CONTROL].before:
            del own["before"]
        yield name, own


def from_json(data: Any) -> Recording:
    """The recording that `to_json` gave.

    Raises:
        RecordingError: with one line that names the launch at fault.
    """
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise RecordingError(f"not a recording of schema {SCHEMA}: record it anew with `gdnbench calibrate`")
    try:
        recording = Recording(
            variant=_text(data["variant"]),
            scenario=_text(data["scenario"]),
            metric=_text(data["metric"]),
            launches=tuple({_text(name): _pair(launch, name) for name in launch} for launch in data["launches"]),
            environment={_text(key): _text(value) for key, value in data["environment"].items()},
            seconds=_numbers(data["seconds"]),
            whole=tuple(_whole(one) for one in data["whole"]),
        )
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        what = f"{type(error).__name__} at {error}"
        raise RecordingError(f"a damaged recording: {what[:200]}; record it anew") from None
    _check(recording)
    return recording


def _text(value: Any) -> str:
    """Names are printed, so nothing may hide in them."""
    text = str(value)
    if len(text) > _LONGEST_TEXT or not text.isprintable():
        raise ValueError("a name that is too long or not printable")
    return text


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _pair(launch: Any, name: str) -> RecordedPair:
    own = launch[name]
    before = own["before"] if "before" in own else launch[CONTROL]["before"]
    return RecordedPair(float(own["log_ratio"]), _numbers(before), _numbers(own["after"]))


def _whole(data: Any) -> WholeCampaign:
    verdict, figures = Verdict(data["verdict"]), _numbers([data["ratio"], data["seconds"]])
    if not all(math.isfinite(figure) and figure > 0 for figure in figures):
        raise ValueError("a whole campaign's ratio or seconds")
    return WholeCampaign(_text(data["handicap"]), int(data["launches"]), verdict, *figures)


def _check(recording: Recording) -> None:
    if len(recording.seconds) not in (0, len(recording.launches)) or not all(0 < s < 1e9 for s in recording.seconds):
        raise RecordingError("a damaged recording: not every launch has its seconds; record it anew")
    for number, launch in enumerate(recording.launches, start=1):
        if CONTROL not in launch or launch.keys() != recording.launches[0].keys():
            raise RecordingError(f"a damaged recording: launch {number} lacks a comparison; record it anew")
        for name, pair in launch.items():
            times = (*pair.before, *pair.after)
            if not pair.before or not pair.after or not all(_TIMES[0] <= time <= _TIMES[1] for time in times):
                raise RecordingError(f"a damaged recording: launch {number}, {name}: a time is missing or not positive")
            if not abs(pair.log_ratio) <= _MOST_LOG_RATIO:
                raise RecordingError(f"a damaged recording: launch {number}, {name}: the ratio is not a number")
