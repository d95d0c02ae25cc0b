"""What the decision rules of other tools would say of the same measurements. Our own implementations, NumPy alone.

Each rule takes all values of a side in one heap, whatever launch they come from, and returns `improved`, `regressed`,
or None where the tool reports no change; lower is better. They stand beside our verdicts in a calibration and decide
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from gdnbench.stats.median import rank
from gdnbench.values.verdicts import Verdict

Floats = npt.NDArray[np.float64]
Rule = Callable[[Floats, Floats], Verdict | None]


def asv(before: Floats, after: Floats, factor: float = 1.1) -> Verdict | None:
    """`asv compare` of asv 0.6.6 on results with recorded samples; its default factor is 1.1.

    The medians must differ by more than the factor, and the samples must differ: Mann-Whitney with p < 0.002, exact up
    to 20 values and normal beyond, without corrections; or where that p cannot be reached (6 against 6), the 99 %
    intervals of the medians must not overlap. One value a side is judged by the factor alone.
    """
    ratio = _ratio(np.median(before), np.median(after))
    if 1 / factor <= ratio <= factor:
        return None
    fewer = min(len(before), len(after))
    if fewer > 1:
        if 1 / math.comb(len(before) + len(after), fewer) < 0.002:
            exact = max(len(before), len(after)) <= 20
            if mann_whitney(before, after, exact=exact, corrected=False) >= 0.002:
                return None
        else:
            (low, high), (low_after, high_after) = _median_99(before), _median_99(after)
            if high >= low_after and low <= high_after:
                return None
    return _direction(ratio)


def pyperf(before: Floats, after: Floats) -> Verdict | None:
    """`pyperf compare_to` of pyperf 2.11.0: Student's two-sample t-test of the means, pooled variance, 95 %.

    Where it cannot test (one value a side, sides of unequal length, no variance) pyperf takes any difference for
    significant.
    """
    ratio = _ratio(before.mean(), after.mean())
    n = len(before)
    if n != len(after) or n == 1:
        return _direction(ratio)
    pooled = (((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum()) / (2 * n - 2)
    if pooled == 0:
        return _direction(ratio)
    t = abs(float(before.mean() - after.mean())) / math.sqrt(2 * pooled / n)
    return _direction(ratio) if t >= _student_95(2 * n - 2) else None


def benchstat(before: Floats, after: Floats) -> Verdict | None:
    """`benchstat` of golang.org/x/perf (2022 and newer): Mann-Whitney, p <= 0.05, difference of the medians.

    Exact up to 50 values a side without ties, else normal with the corrections for ties and continuity. (Benchstat is
    exact for up to 9 values with ties as well; here the normal stands in, since times in nanoseconds seldom tie.)
    """
    untied = len(np.unique(np.concatenate([before, after]))) == len(before) + len(after)
    exact = untied and max(len(before), len(after)) <= 50
    if mann_whitney(before, after, exact=exact, corrected=True) > 0.05:
        return None
    return _direction(_ratio(np.median(before), np.median(after)))


RULES: dict[str, Rule] = {
    "asv 1.1": asv,
    "asv 1.02": partial(asv, factor=1.02),
    "pyperf": pyperf,
    "benchstat": benchstat,
}


def mann_whitney(x: Floats, y: Floats, *, exact: bool, corrected: bool) -> float:
    """Two-sided p-value of "x and y are alike in rank" (Mann and Whitney 1947).

    Args:
        exact: from the distribution of U without ties, else normal.
        corrected: a tie is half a win, and the normal is corrected for ties and continuity. If not, ties are broken in
            favour of "alike", and nothing is corrected.
    """
    m, n = len(x), len(y)
    in_order = np.sort(y)
    wins = float(np.searchsorted(in_order, x, side="left").sum())
    ties = float(np.searchsorted(in_order, x, side="right").sum()) - wins
    u = wins + ties / 2 if corrected else min(max(m * n / 2, wins), wins + ties)
    u = min(u, m * n - u)
    if exact:
        return min(1.0, 2 * float(_u_cdf(m, n)[math.floor(u)]))
    total, distance = m + n, m * n / 2 - u
    variance = m * n * (total + 1) / 12
    if corrected:
        _, runs = np.unique(np.concatenate([x, y]), return_counts=True)
        variance -= m * n * float((runs.astype(float) ** 3 - runs).sum()) / (12 * total * (total - 1))
        distance = max(distance - 0.5, 0.0)
    return 1.0 if variance <= 0 else 2 * NormalDist().cdf(-distance / math.sqrt(variance))


@lru_cache(maxsize=64)
def _u_cdf(m: int, n: int) -> Floats:
    """P(U <= u) for u = 0 to m n: the largest of all values is one of the m with chance m / (m + n), and beats n."""
    row = [np.ones(1) for _ in range(n + 1)]  # against j values of y, so far for no value of x
    for i in range(1, m + 1):
        above, row = row, [np.ones(1)]
        for j in range(1, n + 1):
            chances = np.zeros(i * j + 1)
            chances[j:] += above[j] * (i / (i + j))
            chances[: i * (j - 1) + 1] += row[j - 1] * (j / (i + j))
            row.append(chances)
    return np.asarray(row[n].cumsum())


def _median_99(values: Floats) -> tuple[float, float]:
    """The 99 % interval that asv stores: of the median, or for less than 8 values of the place of Laplace noise.

    The latter's density is the distances' sum to the power of -n, so its tails beyond the values have a closed form; an
    end of the interval lies in its tail, or at the outermost value where the tail is light.
    """
    y, n = np.sort(values), len(values)
    if k := rank(n, 0.01):
        return float(y[k - 1]), float(y[-k])
    if y[0] == y[-1]:
        return float(y[0]), float(y[0])
    sums = np.array([abs(y - value).sum() for value in y])
    tails = sums[[0, -1]] ** (1.0 - n) / (n * (n - 1))
    slopes = 2.0 * np.arange(1, n) - n  # of the sum, between neighbours
    powers = sums ** (1.0 - n) / (1 - n)
    flat = np.diff(y) * sums[:-1] ** (-float(n))
    between = np.divide(np.diff(powers), slopes, out=flat, where=slopes != 0)
    share = 0.005 * (tails.sum() + between.sum())
    reach = (share * n * (n - 1)) ** (1 / (1.0 - n)) / n
    return (
        float(y.mean() - reach if tails[0] > share else y[0]),
        float(y.mean() + reach if tails[1] > share else y[-1]),
    )


_T_UP_TO_30 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_T_FROM = ((200, 1.960), (100, 1.984), (80, 1.990), (60, 2.000), (50, 2.009), (40, 2.021), (31, 2.042))


def _student_95(freedom: int) -> float:
    """The two-sided 95 % point of Student's t, in the steps of a printed table, as pyperf reads it."""
    if freedom <= 30:
        return _T_UP_TO_30[freedom - 1]
    return next(point for start, point in _T_FROM if freedom >= start)


def _ratio(before: float | np.floating[Any], after: float | np.floating[Any]) -> float:
    return float(after) / float(before)


def _direction(ratio: float) -> Verdict | None:
    if ratio == 1:
        return None
    return Verdict.IMPROVED if ratio < 1 else Verdict.REGRESSED
