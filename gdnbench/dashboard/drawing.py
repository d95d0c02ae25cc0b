"""Small pictures inside a page: the course of a series, and the nights of a history."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

WIDTH, HEIGHT, EDGE = 160.0, 32.0, 3.0
MOST = 120
"""Points of one small picture; of more, the last."""


def sparkline(values: NDArray[np.float64], mark: int | None = None) -> Markup:
    """The course of a series, without axes, as SVG; figures stand beside it, so it says nothing to a screen reader.

    Args:
        values: in their order; NaN is left out of the line.
        mark: the point at which something happened, counted from the end, from 1.
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
        rule = f'<line class="mark" x1="{across:.1f}" x2="{across:.1f}" y1="0" y2="{HEIGHT:g}"/>'
    return Markup(  # noqa: S704 - numbers alone
        f'<svg class="spark" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" aria-hidden="true">{rule}<polyline points="{line}"/></svg>'
    )


def strip(kinds: list[tuple[str, str]]) -> Markup:
    """A row of cells, one for each night, as SVG; the page says the same in words.

    Args:
        kinds: of each night its class (`measured`, `missing`, `spoilt`) and its name, a date.
    """
    cell: Any = '<rect class="{}" x="{}" y="0" width="9" height="18"><title>{}: {}</title></rect>'
    cells = "".join(cell.format(kind, 11 * at, name, kind) for at, (kind, name) in enumerate(kinds))
    width = max(11 * len(kinds) - 2, 1)
    return Markup(f'<svg class="strip" viewBox="0 0 {width} 18" width="{width}" height="18" aria-hidden="true">{cells}</svg>')  # noqa: S704
