"""Calibration: campaigns drawn from a recording, judged by the rule, counted.

A campaign is a contiguous window of launches, since neighbours share the machine's mood, as in a real campaign.

For false alarms the two sides are identical code, and which of them is called `before` is our choice alone: naming them
the other way round in any launch gives a recording that was just as likely. So each launch's log ratio gets a random
sign, and a hundred launches yield thousands of campaigns. The price: a fault of the harness that always favours `after`
would be flipped away. Therefore the windows are also judged as they were recorded. Handicaps are not flipped: their
sign is the effect.

The bound on the false alarms is exact for draws from this recording; the recording itself holds `windows` campaigns
that do not overlap, and what it says about the machine rests on those, and on campaigns that are run whole besides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gdnbench.stats.binomial import upper_bound
from gdnbench.stats.median import interval, rank, sign_test
from gdnbench.stats.paired import decide
from gdnbench.stats.peers import RULES, Rule
from gdnbench.stats.power import effect_found, needed_effects
from gdnbench.values.metrics import METRICS, STEP_METRICS, Metric
from gdnbench.values.recordings import CONTROL, Recording, RecordingError
from gdnbench.values.verdicts import Verdict

Floats = npt.NDArray[np.float64]

ALARMS = (Verdict.IMPROVED, Verdict.REGRESSED)
SLOWER = (Verdict.REGRESSED,)


@dataclass(frozen=True, slots=True)
class PeerCalibration:
    """One other tool's rule on the same launches. Rates are shares of campaigns.

    Attributes:
        false_alarm_rate, power: both sides from the same launches, as our campaigns have them.
        false_alarm_rate_apart, power_apart: each side from launches of its own that take turns, at best as the tool
            would have them; None where the recording is shorter than two campaigns.
    """

    false_alarm_rate: float
    power: dict[str, float]
    false_alarm_rate_apart: float | None
    power_apart: dict[str, float | None]

    def to_json(self) -> dict[str, Any]:
        return {
            "false_alarm_rate": self.false_alarm_rate,
            "power": self.power,
            "false_alarm_rate_apart": self.false_alarm_rate_apart,
            "power_apart": self.power_apart,
        }


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the rule does with campaigns of `launches` launches on the machine that made the recording.

    Attributes:
        false_alarm_rate: share of campaigns of identical code that came out improved or regressed.
        false_alarm_upper: its exact one-sided 95 % upper bound.
        false_alarm_rate_as_recorded: the same over all windows without random signs.
        power: share of campaigns that found each handicap, in its right direction.
        smallest_detectable: the effect, as a fraction, that 80 % of the campaigns of identical code would have found,
            had it been there.
        campaigns: how many were drawn of each kind.
        windows: how many campaigns the recording holds that do not overlap.
        peers: other tools' rules by name.
    """

    launches: int
    campaigns: int
    windows: int
    false_alarm_rate: float
    false_alarm_upper: float
    false_alarm_rate_as_recorded: float
    power: dict[str, float]
    smallest_detectable: float | None
    peers: dict[str, PeerCalibration]

    def to_json(self, seconds_per_campaign: float | None = None) -> dict[str, Any]:
        """What `gdnbench calibrate --json` prints; the seconds are the caller's, who has a clock."""
        return {
            "false_alarm_rate": self.false_alarm_rate,
            "false_alarm_upper": self.false_alarm_upper,
            "power": self.power,
            "smallest_detectable": self.smallest_detectable,
            "campaigns": self.campaigns,
            "seconds_per_campaign": seconds_per_campaign,
            "peers": {name: peer.to_json() for name, peer in self.peers.items()},
            "launches_per_campaign": self.launches,
            "independent_windows": self.windows,
            "false_alarm_rate_as_recorded": self.false_alarm_rate_as_recorded,
        }


def calibrate(recording: Recording, launches: int, campaigns: int = 1000, seed: int = 0) -> Calibration:
    """Draw campaigns from a recording and judge them. The same arguments give the same answer.

    Args:
        recording: at least `launches` launches.
        launches: per campaign.
        campaigns: how many to draw of each kind, at least one: identical code, and each handicap.
        seed: of the draws.

    Raises:
        RecordingError: if the recording is too short, or its metric is not known.
    """
    total = len(recording.launches)
    if not 1 <= launches <= total:
        raise RecordingError(f"the recording holds {total} launches; campaigns of {launches} cannot be drawn from it")
    metric = METRICS.get(recording.metric)
    if metric not in STEP_METRICS:
        raise RecordingError(f"the recording's metric {recording.metric!r} is no step time")
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, total - launches + 1, campaigns)
    signs = rng.choice([-1.0, 1.0], (campaigns, launches))

    control = _Series(recording, CONTROL, metric)
    ratios = np.stack([control.ratios[start : start + launches] for start in starts]) * signs
    floors = np.array([control.floor(slice(start, start + launches)) for start in starts])
    alarms = sum(_judge(metric, row, floor) in ALARMS for row, floor in zip(ratios, floors, strict=True))
    recorded = [control.judge(slice(start, start + launches)) in ALARMS for start in range(total - launches + 1)]
    power = {}
    for name in recording.handicaps:
        series = _Series(recording, name, metric)
        power[name] = sum(series.judge(slice(s, s + launches)) in SLOWER for s in starts) / campaigns
    detectable = None
    if k := rank(launches):
        kth = np.sort(ratios, axis=1)[:, k - 1]
        detectable = math.expm1(effect_found(needed_effects(kth, np.median(ratios, axis=1), floors)))
    return Calibration(
        launches=launches,
        campaigns=campaigns,
        windows=total // launches,
        false_alarm_rate=alarms / campaigns,
        false_alarm_upper=upper_bound(alarms, campaigns),
        false_alarm_rate_as_recorded=sum(recorded) / len(recorded),
        power=power,
        smallest_detectable=detectable,
        peers=_peers(recording, metric, starts, signs, rng),
    )


class _Series:
    """One comparison of a recording as arrays: log ratio, and the level that the floor depends on, of each launch."""

    def __init__(self, recording: Recording, name: str, metric: Metric) -> None:
        pairs = [launch[name] for launch in recording.launches]
        self.metric = metric
        self.ratios = np.array([pair.log_ratio for pair in pairs])
        self.before = [np.array(pair.before) for pair in pairs]
        self.after = [np.array(pair.after) for pair in pairs]
        self._levels = np.array([[np.median(pair.before), np.median(pair.after)] for pair in pairs])

    def floor(self, window: slice) -> float:
        before, after = np.median(self._levels[window], axis=0)
        return self.metric.log_floor(math.sqrt(before * after))

    def judge(self, window: slice) -> Verdict:
        return _judge(self.metric, self.ratios[window], self.floor(window))

    def heaps(self, before: range, after: range, swapped: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """All block medians of either side of one campaign; in a swapped launch the sides have each other's name."""
        first = [self.after[i] if swap else self.before[i] for i, swap in zip(before, swapped, strict=True)]
        second = [self.before[i] if swap else self.after[i] for i, swap in zip(after, swapped, strict=True)]
        return np.concatenate(first), np.concatenate(second)


def _judge(metric: Metric, ratios: Floats, floor: float) -> Verdict:
    values = ratios.tolist()
    return decide(metric, float(np.median(ratios)), interval(values), sign_test(values), floor)


def _peers(
    recording: Recording, metric: Metric, starts: npt.NDArray[np.int64], signs: Floats, rng: np.random.Generator
) -> dict[str, PeerCalibration]:
    """The other rules on our campaigns, and on campaigns of twice as many launches in which the sides take turns."""
    launches = signs.shape[1]
    together = [(range(start, start + launches),) * 2 for start in starts]
    apart = []
    if len(recording.launches) >= 2 * launches:
        for start in rng.integers(0, len(recording.launches) - 2 * launches + 1, len(starts)):
            turns = range(start, start + 2 * launches, 2), range(start + 1, start + 2 * launches, 2)
            apart.append(turns if rng.random() < 0.5 else turns[::-1])
    heaps = {}
    for name in (CONTROL, *recording.handicaps):
        series = _Series(recording, name, metric)
        swapped = signs < 0 if name == CONTROL else np.zeros_like(signs, bool)
        heaps[name] = (
            [series.heaps(*sides, row) for sides, row in zip(together, swapped, strict=True)],
            [series.heaps(*sides, np.zeros(launches, bool)) for sides in apart],
        )
    return {
        tool: PeerCalibration(
            false_alarm_rate=_share(rule, heaps[CONTROL][0], ALARMS) or 0.0,
            power={name: _share(rule, heaps[name][0], SLOWER) or 0.0 for name in recording.handicaps},
            false_alarm_rate_apart=_share(rule, heaps[CONTROL][1], ALARMS),
            power_apart={name: _share(rule, heaps[name][1], SLOWER) for name in recording.handicaps},
        )
        for tool, rule in RULES.items()
    }


def _share(rule: Rule, pairs: Sequence[tuple[Floats, Floats]], verdicts: tuple[Verdict, ...]) -> float | None:
    return sum(rule(before, after) in verdicts for before, after in pairs) / len(pairs) if pairs else None
