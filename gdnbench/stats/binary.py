"""Paired yes-or-no answers: the same documents answered by both sides. Exact McNemar, an interval, what n can show.

Only the documents on which the sides differ (flips) speak: under "no change" each flip is a fair coin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from gdnbench.stats.binomial import half_cdf, root
from gdnbench.stats.median import ALPHA, fewest, rank
from gdnbench.values.verdicts import Verdict

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Flips:
    """One paired comparison of right answers.

    Attributes:
        lost: documents that before got right and after got wrong.
        gained: the other way round.
        documents: all that both sides answered.
    """

    lost: int
    gained: int
    documents: int

    def __post_init__(self) -> None:
        if min(self.lost, self.gained) < 0 or self.lost + self.gained > self.documents:
            raise ValueError(f"{self.lost} + {self.gained} flips among {self.documents} documents")

    @property
    def difference(self) -> float:
        """Accuracy after minus before, as a fraction; 0 without documents."""
        return (self.gained - self.lost) / self.documents if self.documents else 0.0

    @property
    def p_value(self) -> float:
        """Exact McNemar, two-sided: 12 against 27 flips give 0.024."""
        flips = self.lost + self.gained
        return min(1.0, 2 * half_cdf(min(self.lost, self.gained), flips))

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        """Of the difference: Tango's score interval, widened to hold 0 wherever the exact test does not reject.

        The score interval is close to its nominal coverage even if all flips go one way, where intervals that condition
        on the number of flips are far too short. Alone it is a little bolder than the exact test, and an interval that
        excludes 0 beside a p-value above 5 % would confuse.

        Source: T. Tango, Equivalence test and confidence interval for the difference in proportions for the
        paired-sample design, 1998.
        """
        if not self.documents:
            return -1.0, 1.0
        z = NormalDist().inv_cdf(1 - alpha / 2)
        low = root(lambda at: self._score(at) - z, -1.0, self.difference)
        high = root(lambda at: self._score(at) + z, self.difference, 1.0)
        return (min(low, 0.0), max(high, 0.0)) if self.p_value > alpha else (low, high)

    def _score(self, difference: float) -> float:
        """The score statistic of "the true difference is `difference`"; it falls as the difference rises."""
        n, d = self.documents, difference
        # The most likely share of losses under that difference: the larger root of a x^2 + b x + c = 0.
        a, b, c = 2 * n, (2 * n - self.gained + self.lost) * d - self.gained - self.lost, -self.lost * d * (1 - d)
        losses = (math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
        variance = n * (2 * losses + d * (1 - d))
        distance = self.gained - self.lost - n * d
        if variance <= 0:
            return 0.0 if distance == 0 else math.copysign(math.inf, distance)
        return distance / math.sqrt(variance)

    def verdict(self, floor: float, alpha: float = ALPHA) -> Verdict:
        """The rule of sampled metrics: significant and past the floor; or the interval inside it; or unknown.

        Args:
            floor: the smallest difference of accuracy that matters, as a fraction (0.01: one point).
        """
        if self.p_value <= alpha and abs(self.difference) > floor:
            return Verdict.IMPROVED if self.difference > 0 else Verdict.REGRESSED
        low, high = self.interval(alpha)
        return Verdict.SAME if -floor <= low and high <= floor else Verdict.UNKNOWN


@dataclass(frozen=True, slots=True)
class Detectable:
    """Differences of accuracy, as fractions: what would have been significant, and what is found with 80 % power."""

    significant: float | None
    with_power: float | None


def detectable(documents: int, flips: int, alpha: float = ALPHA, power: float = 0.8) -> Detectable:
    """The smallest differences that so many documents can show, if so many of them flip by themselves.

    Args:
        documents: n, at least 1.
        flips: in both directions together: those seen, or better those of one build run twice.

    Returns:
        `significant`: the smallest difference with p <= alpha among that many flips, or among the six that are the
        fewest to reach it. `with_power`: the true difference found in a share `power` of runs, if flips by themselves
        go either way alike and the change flips documents one way on top, all of them independently (Poisson).
        None where even all documents would not do.
    """
    total = max(flips, fewest(alpha))
    significant = total - 2 * (rank(total, alpha) - 1)
    own_way = flips / 2
    most = own_way + documents
    size = int(most + 6 * math.sqrt(most)) + 1
    log_factorial = np.concatenate([[0.0], np.log(np.arange(1, size)).cumsum()])
    counts = np.arange(size)

    def poisson(mean: float) -> Floats:
        chances: Floats = (counts == 0).astype(float)
        return np.exp(counts * math.log(mean) - mean - log_factorial) if mean > 0 else chances

    # For each number of losses the fewest gains that are significant; more losses never need fewer. The tail beyond
    # them is the power.
    losses = counts[poisson(own_way) > 1e-12]
    enough, gains = [], 0
    for lost in losses.tolist():
        while gains < size and rank(lost + gains, alpha) <= lost:
            gains += 1
        enough.append(gains)

    def short_of_power(change: float) -> float:
        beyond = 1 - np.concatenate([[0.0], poisson(own_way + change).cumsum()])
        return power - float(poisson(own_way)[losses] @ beyond[enough])

    found = root(short_of_power, 0.0, float(documents))
    return Detectable(
        significant / documents if total <= documents else None,
        found / documents if short_of_power(documents) <= 0 else None,
    )


def detectable_unpaired(rate: float, documents: int, alpha: float = ALPHA, power: float = 0.8) -> Detectable:
    """The same where only two rates are known and not which documents flipped: normal, and much weaker.

    Two sides of 1,319 documents at 0.35 need 3.6 points for significance and 5.2 for 80 % power.
    """
    spread = math.sqrt(2 * rate * (1 - rate) / documents)
    z, z_power = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    return Detectable(z * spread, (z + z_power) * spread)
