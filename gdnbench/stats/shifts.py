"""The rule for shifts: many series followed night by night, all of them at once.

A night of a series is one run, and the reruns that were made because that run was suspect. Each series has a baseline
(centre and scatter of its nights) and a window: its newest nights. For every k up to the window's length the newest k
nights are held against everything before them since the last shift; the largest distance, in standard errors, counts.

- A run is clipped at 2.8 scatters from the baseline before it is used. So one run, however lucky or unlucky, can
  neither make a shift nor become the baseline; and since the scatter is that of clipped runs, their means are near
  normal even where the runs are not.
- Reruns of one night share what was wrong with that night, so they count for less than nights: five runs of one night
  as much as 2.3 nights. With at most four reruns, no single night can make a shift.
- The limit is Student's t at the error of a night, split over its series.
- After a shift the baseline begins anew with the nights after it. The scatter stays: it is the series' own.

The error that is split is not yet the rate of false shifts: the windows overlap, and the rule looks again after each
rerun. That rate is measured, in docs/shifts.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdnbench.stats.student import Floats, two_sided

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Rows = slice | Ints


@dataclass(frozen=True, slots=True)
class Rule:
    """The constants of the rule; the defaults were chosen by simulation (docs/shifts.md).

    Attributes:
        history: nights before anything is judged; not more than `window`.
        window: the longest span of newest nights that is held against the nights before it.
        memory: nights that the baseline remembers at most, so that it follows a slow drift.
        clip: how many scatters from the baseline a run counts at most.
        suspicion: standard errors from which on a series is suspect.
        error: of a night, split evenly over its series.
        fewest: series that it is split over at least: a small history is no reason for more alarms for each series.
        shared: of the variance between nights, what all runs of a night are taken to have in common.
        range: by how much the log likelihood of a night may fall short of the likeliest, for it to stay in the range
            where the shift may have happened.
    """

    history: int = 10
    window: int = 10
    memory: int = 100
    clip: float = 2.8
    suspicion: float = 1.75
    error: float = 0.05
    fewest: int = 1000
    shared: float = 0.3
    range: float = 3.0


RULE = Rule()


@dataclass(frozen=True, slots=True)
class Standing:
    """How some series stand after their newest run, one entry for each.

    Attributes:
        rows: which series.
        distance: of the newest nights from the nights before, in standard errors, 0 or more.
        limit: the distance from which on it is a shift.
        change: the effect, in the values' own unit.
        found: whether there is a shift; the baseline of such a series has begun anew.
        suspect: whether a rerun of this night would help to tell.
        nights: of a shift, how many nights ago it happened, counting the newest as 1.
        earliest, latest: the range for it, in the same count: `earliest` >= `nights` >= `latest`.
    """

    rows: Ints
    distance: Floats
    limit: Floats
    change: Floats
    found: Bools
    suspect: Bools
    nights: Ints
    earliest: Ints
    latest: Ints


class Watch:
    """Follows series through their nights.

    Series are rows. A night is given to the first so many rows, so that those with more nights come first; what is no
    valid figure is no night, and is left out by the caller.

    Args:
        floors: for each series the smallest effect worth a shift, in the unit of its values, above 0.
        rule: its constants.
    """

    def __init__(self, floors: Floats, rule: Rule = RULE) -> None:
        count, window = len(floors), (rule.window, len(floors))
        self._rule, self._floors = rule, floors
        self._nights = 0
        self._centre, self._weight = np.zeros(count), np.zeros(count)
        self._variance, self._freedom = np.zeros(count), np.zeros(count, dtype=np.int64)
        # The window, the newest night first: clipped figures, their weights (0: no night), medians of unclipped runs,
        # and what the scatter learns from a night when it leaves.
        self._figures, self._weights = np.zeros(window), np.zeros(window)
        self._medians, self._squares = np.zeros(window), np.zeros(window)
        self._base, self._base_weight = np.zeros(count), np.zeros(count)
        splits = rule.fewest * 2.0 ** np.arange(16)
        self._splits = splits
        self._limits = np.stack(
            [two_sided(rule.error / split, np.maximum(np.arange(rule.memory), 1)) for split in splits]
        )

    @property
    def scatter(self) -> Floats:
        """Of one run around the baseline, in the values' unit; 0 before there is enough history."""
        found: Floats = np.sqrt(self._variance)
        return found

    def night(self, values: Floats, family: Ints | int = 0) -> Standing:
        """The next night of the first `len(values)` series: one run of each.

        Args:
            family: how many series the error of that night is split over.
        """
        rows = slice(0, len(values))
        self._nights += 1
        if self._nights <= self._rule.history:
            self._medians[self._nights - 1, rows] = values
            if self._nights == self._rule.history:
                self._start(rows)
            return self._nothing()
        self._retire(rows)
        weights = self._weights[1:, rows]
        self._base_weight[rows] = self._weight[rows] + weights.sum(0)
        old = self._centre[rows] * self._weight[rows] + (self._figures[1:, rows] * weights).sum(0)
        self._base[rows] = old / self._base_weight[rows]
        scores = self._scores(rows, values)
        self._figures[0, rows] = self._base[rows] + scores * self.scatter[rows]
        self._weights[0, rows] = 1.0
        self._medians[0, rows] = values
        # The mean of the nights before is off itself: without this the scatter would come out too small.
        own = self._base_weight[rows] / (self._base_weight[rows] + 1)
        self._squares[0, rows] = scores**2 * self._variance[rows] * own
        return self._judge(rows, family)

    def again(self, rows: Ints, runs: Floats, family: Ints | int = 0) -> Standing:
        """The newest night of some series with one more rerun.

        Args:
            runs: a row for each of `rows`, a column for each run of this night so far: at least two, in their order.
            family: as of `night`.
        """
        if self._nights <= self._rule.history:
            return self._nothing()
        scores = self._scores(rows, runs.T)
        shared = self._rule.shared
        self._figures[0, rows] = self._base[rows] + scores.mean(0) * self.scatter[rows]
        self._weights[0, rows] = 1 / (shared + (1 - shared) / runs.shape[1])
        self._medians[0, rows] = np.median(runs, axis=1)
        return self._judge(rows, family)

    def _nothing(self) -> Standing:
        rows, numbers, no = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.bool_)
        return Standing(rows, numbers, numbers, numbers, no, no, rows, rows, rows)

    def _scores(self, rows: Rows, values: Floats) -> Floats:
        """How many scatters runs are from the baseline, clipped."""
        clip = self._rule.clip
        found: Floats = np.clip((values - self._base[rows]) / self.scatter[rows], -clip, clip)
        return found

    def _start(self, rows: slice) -> None:
        """The first baseline: centre and scatter of the first nights, clipped like all later ones."""
        values = self._medians[: self._rule.history, rows]
        smallest = self._floors[rows] / 5  # nothing is measured more finely than a fifth of what matters
        centre = np.median(values, axis=0)
        scatter = np.maximum(1.4826 * np.median(np.abs(values - centre), axis=0), smallest)
        clipped = values
        for _ in range(3):
            reach = self._rule.clip * scatter
            clipped = np.clip(values, centre - reach, centre + reach)
            scatter = np.maximum(clipped.std(axis=0, ddof=1), smallest)
        self._centre[rows], self._weight[rows] = clipped.mean(0), self._rule.history
        self._variance[rows], self._freedom[rows] = scatter**2, self._rule.history - 1

    def _retire(self, rows: slice) -> None:
        """The oldest night leaves the window for the baseline, and makes room for a new one."""
        figure, weight = self._figures[-1, rows], self._weights[-1, rows]
        is_night = weight > 0
        nights = np.minimum(self._freedom[rows] + 1, self._rule.memory)
        learnt = self._variance[rows] + (self._squares[-1, rows] - self._variance[rows]) / nights
        learnt = np.maximum(learnt, (self._floors[rows] / 5) ** 2)
        self._variance[rows] = np.where(is_night, learnt, self._variance[rows])
        self._freedom[rows] = np.minimum(self._freedom[rows] + is_night, self._rule.memory - 1)
        both = self._weight[rows] + weight
        self._centre[rows] = (self._centre[rows] * self._weight[rows] + figure * weight) / both
        self._weight[rows] = np.minimum(both, self._rule.memory)
        for kept in (self._figures, self._weights, self._medians, self._squares):
            kept[1:, rows] = kept[:-1, rows].copy()

    def _judge(self, rows: Rows, family: Ints | int) -> Standing:
        weights, figures, medians = self._weights[:, rows], self._figures[:, rows], self._medians[:, rows]
        after, sums = weights.cumsum(0), (weights * figures).cumsum(0)
        before = self._weight[rows] + after[-1] - after
        centre = (self._centre[rows] * self._weight[rows] + sums[-1] - sums) / before
        error = np.sqrt(self._variance[rows] * (1 / after + 1 / before))
        distances = np.where(weights > 0, np.abs(sums / after - centre) / error, 0.0)
        best = distances.argmax(0)
        which = np.arange(len(best))
        distance = distances[best, which]
        change = ((weights * medians).cumsum(0) / after - centre)[best, which]
        split = np.searchsorted(self._splits[:-1], family)
        limit: Floats = self._limits[split, self._freedom[rows]]
        matters = np.abs(change) >= self._floors[rows]
        found = matters & (distance > limit)
        numbers = np.arange(len(self._floors))[rows]
        places = np.ones((3, len(best)), np.int64)
        for one in np.flatnonzero(found):
            places[:, one] = self._place(int(numbers[one]), int(best[one]) + 1, float(centre[best[one], one]))
            self._restart(int(numbers[one]), int(places[0, one]))
        suspect = matters & ~found & (distance > self._rule.suspicion)
        return Standing(numbers, distance, limit, change, found, suspect, *places)

    def _place(self, row: int, nights: int, before: float) -> tuple[int, int, int]:
        """How many nights ago a shift happened, and the range for that.

        The split of the window that leaves the least around two levels: the one before, and the median of the newest
        nights. Where the rule asks whether there is a step, runs are clipped around one level, which would blur this.
        """
        own, medians = self._weights[:, row], self._medians[:, row]
        after = float(np.median(medians[:nights]))
        far = [((medians - level) ** 2 / self._variance[row]).clip(max=self._rule.clip**2) for level in (before, after)]
        left = (own * far[0])[::-1].cumsum()[::-1] - own * far[0] + (own * far[1]).cumsum()
        left = left[own > 0]
        near = np.flatnonzero(left <= left.min() + 2 * self._rule.range) + 1
        return int(left.argmin()) + 1, int(near[-1]), int(near[0])

    def _restart(self, row: int, nights: int) -> None:
        """A new baseline, of so many newest nights."""
        # A median, for these few runs are not clipped yet; it knows two thirds of what their mean would.
        self._centre[row] = np.median(self._medians[:nights, row])
        self._weight[row] = self._weights[:nights, row].sum() * 2 / np.pi
        self._weights[:, row] = 0.0
