"""Whole campaigns beside drawn ones: do campaigns that were really run come out as those drawn from a recording do?

Drawn campaigns share their launches, whole ones share nothing: each has launches of its own, and its own measurement of
how long a handicap's wait must be. A few whole campaigns cannot confirm a rate of a few per thousand; they show that
nothing about running a campaign differs from drawing one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from gdnbench.stats.binomial import lower_bound, upper_bound
from gdnbench.stats.campaigns import ALARMS, SLOWER, Calibration
from gdnbench.values.recordings import CONTROL, WholeCampaign


@dataclass(frozen=True, slots=True)
class WholeKind:
    """The whole campaigns of one kind: identical code, or one handicap.

    Attributes:
        campaigns: how many.
        hits: how many raised a false alarm, or found the handicap.
        drawn_rate: the share of the drawn campaigns that did.
        interval: exact 95 % interval of the rate of whole campaigns, from `hits`.
        ratios: smallest, median and largest after / before.
        seconds: how long one took, the median.
    """

    campaigns: int
    hits: int
    drawn_rate: float
    interval: tuple[float, float]
    ratios: tuple[float, float, float]
    seconds: float

    @property
    def agrees(self) -> bool:
        """Whether the drawn rate is one that the whole campaigns do not rule out."""
        low, high = self.interval
        return low <= self.drawn_rate <= high

    def to_json(self) -> dict[str, Any]:
        return {
            "campaigns": self.campaigns,
            "hits": self.hits,
            "drawn_rate": self.drawn_rate,
            "interval": list(self.interval),
            "agrees": self.agrees,
            "ratios": list(self.ratios),
            "seconds": self.seconds,
        }


def agreement(calibration: Calibration, whole: Sequence[WholeCampaign]) -> dict[str, WholeKind]:
    """Whole campaigns by kind, `control` or a handicap; those of another length than the drawn ones are left out."""
    drawn = {CONTROL: calibration.false_alarm_rate, **calibration.power}
    found = {}
    for kind, rate in drawn.items():
        own = [one for one in whole if one.handicap == kind and one.launches == calibration.launches]
        if not own:
            continue
        hits = sum(one.verdict in (ALARMS if kind == CONTROL else SLOWER) for one in own)
        ratios = sorted(one.ratio for one in own)
        found[kind] = WholeKind(
            campaigns=len(own),
            hits=hits,
            drawn_rate=rate,
            interval=(lower_bound(hits, len(own), 0.975), upper_bound(hits, len(own), 0.975)),
            ratios=(ratios[0], median(ratios), ratios[-1]),
            seconds=median(one.seconds for one in own),
        )
    return found
