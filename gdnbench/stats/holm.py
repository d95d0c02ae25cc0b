"""Holm's correction: the error over several rows together, stepwise and without assuming them independent."""

from __future__ import annotations

from collections.abc import Sequence


def adjust(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the order given: reject those <= alpha, and any false rejection has probability <= alpha.

    Source: S. Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    adjusted = [0.0] * len(p_values)
    so_far = 0.0
    by_size = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for place, i in enumerate(by_size):
        so_far = max(so_far, min(1.0, (len(p_values) - place) * p_values[i]))
        adjusted[i] = so_far
    return adjusted
