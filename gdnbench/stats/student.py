"""Quantiles of Student's t, for many degrees of freedom at once."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def two_sided(error: float, freedom: npt.ArrayLike) -> Floats:
    """What a variable of Student's t exceeds, in size, with probability `error`.

    Fisher's and Cornish's expansion about the normal quantile, four terms (Abramowitz and Stegun 26.7.5). Down to an
    error of one in a million it is at most 1 % too low at 9 degrees of freedom, and right to three digits from 15 on.
    """
    x, n = NormalDist().inv_cdf(1 - error / 2), np.asarray(freedom, dtype=np.float64)
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    found = np.full(n.shape, x)
    for power, term in enumerate(terms, start=1):
        found += term / n**power
    return found
