"""Binomial probabilities, summed term by term, and the exact interval of a rate. Standard library alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice


def half_cdfs(n: int) -> Iterator[float]:
    """P(X <= 0), P(X <= 1), ... for n fair coins, from whole numbers: exact but for one rounding each."""
    ways, so_far = 1, 0
    for k in range(n + 1):
        so_far += ways
        yield so_far / 2**n
        ways = ways * (n - k) // (k + 1)


@lru_cache(maxsize=4096)
def half_cdf(k: int, n: int) -> float:
    """P(X <= k) for n fair coins."""
    return next(islice(half_cdfs(n), k, None), 1.0) if k >= 0 else 0.0


def cdf(k: int, n: int, p: float) -> float:
    """P(X <= k) for n coins that fall with probability p."""
    if k >= n or p <= 0:
        return 1.0 if k >= 0 else 0.0
    if k < 0 or p >= 1:
        return 0.0
    log_p, log_q, log_all = math.log(p), math.log1p(-p), math.lgamma(n + 1)
    terms = (
        math.exp(log_all - math.lgamma(j + 1) - math.lgamma(n - j + 1) + j * log_p + (n - j) * log_q)
        for j in range(k + 1)
    )
    return min(1.0, math.fsum(terms))


def upper_bound(k: int, n: int, confidence: float = 0.95) -> float:
    """The largest rate that k hits in n trials do not rule out, one-sided (Clopper and Pearson 1934)."""
    if k >= n:
        return 1.0
    return root(lambda p: cdf(k, n, p) - (1 - confidence), 0.0, 1.0)


def lower_bound(k: int, n: int, confidence: float = 0.95) -> float:
    """The smallest rate that k hits in n trials do not rule out, one-sided (Clopper and Pearson 1934)."""
    return 1 - upper_bound(n - k, n, confidence)


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls from `low` to `high` crosses zero, by halving; an end if it does not."""
    for _ in range(60):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
