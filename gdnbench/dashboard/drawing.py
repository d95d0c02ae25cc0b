"""Small pictures inside a page: the course of a series, and the nights of a history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

WIDTH, HEIGHT, EDGE = 160.0, 32.0, 3.0
MOST = 120
"""Points of one small picture; of more, the last."""


def sparkline(values: NDArray[np.float64], mark: int | None = None, way: str = "") -> Markup:
    """The course of a series, without axes, as SVG; figures stand beside it, so it says nothing to a screen reader.

    Args:
        values: in their order; NaN is left out of the line.
        mark: the point at which something happened, counted from the end, from 1.
        way: `worse` or `better`, which it became.
    """
    shown = values[-MOST:]
    known = np.isfinite(shown)
    if known.sum() < 2:
        return Markup("")
    low, high = shown[known].min(), shown[known].max()
    x = EDGE + np.arange(len(shown)) * (WIDTH - 2 * EDGE) / (len(shown) - 1)
    scale = (HEIGHT - 2 * EDGE) / (high - low) if high > low else 0.0
    y = HEIGHT - EDGE - (shown - low) * scale if scale else np.full(len(shown), HEIGHT / 2)
    line = " ".join(f"{across:.1f},{down:.1f}" for across, down in zip(x[known], y[known], strict=True))
    rule = ""
    if mark is not None and 1 <= mark <= len(shown):
        across = x[len(shown) - mark]
        rule = f'<line class="mark {way}" x1="{across:.1f}" x2="{across:.1f}" y1="0" y2="{HEIGHT:g}"/>'
    opening = f'<svg class="spark" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" aria-hidden="true">'
    return Markup(f'{opening}{rule}<polyline points="{line}"/></svg>')


def calendar(nights: Sequence[tuple[date, str]]) -> Markup:
    """Nights in weeks, a cell for each and a column for a week, as SVG; the page says the same in words.

    Args:
        nights: in a row, each with its kind: `measured`, `missing` or `invalid`.
    """
    before = nights[0][0].weekday() if nights else 0
    cells = "".join(
        f'<rect class="{kind}" x="{12 * (at // 7)}.5" y="{12 * (at % 7)}.5" width="10" height="10">'
        f"<title>{night}: {kind}</title></rect>"
        for at, (night, kind) in enumerate(nights, before)
    )
    width = 12 * ((before + len(nights) + 6) // 7)
    opening = f'<svg class="calendar" viewBox="0 0 {width} 84" width="{width}" height="84" aria-hidden="true">'
    return Markup(f"{opening}{cells}</svg>")
