"""Cold starts inside what was measured: the first samples against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

SLOW = 3.0
"""So many times slower than the rest typically is a cold start; samples of one load differ by less."""
FEWEST = 5


def slow_start(times: Sequence[float]) -> tuple[int, float] | None:
    """How many samples at the start are slower than every later one, and how many times slower than typical.

    None where there are too few to tell, or no such start.
    """
    if len(times) < FEWEST:
        return None
    for first in range(max(len(times) // 4, 1), 0, -1):
        rest = times[first:]
        if min(times[:first]) > max(rest) and min(times[:first]) > SLOW * median(rest) > 0:
            return first, median(times[:first]) / median(rest)
    return None
