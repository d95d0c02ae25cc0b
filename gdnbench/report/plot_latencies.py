"""How inter-token latencies lie before and after."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter

from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.report import plotting
from gdnbench.values.serving import Distribution

MOST_BESIDE = 2
"""Plots in one row: more would be too narrow for their numbers."""
WIDE = 5
"""The greatest time by the least, beyond which the axis is logarithmic; within, it would have too few numbers."""
SHORTEST = 5
"""% of the gaps that are left out."""
DECADES = 100
"""The same, beyond which it has room for powers of ten alone."""
LINES = {BEFORE: ("-", plotting.CONTROL, 2.4), AFTER: ("--", plotting.BETTER, 1.8)}


def latency_distributions(distributions: Sequence[Distribution], title: str, path: Path) -> None:
    """The share of gaps between tokens that are shorter than so many milliseconds; one plot for each concurrency."""
    concurrencies = sorted({one.concurrency for one in distributions})
    # Tokens that come in one read of the socket have microseconds between them: decades of axis for a few of them.
    shown = [value for one in distributions for value in one.quantiles_ms[SHORTEST:] if value > 0]
    least = min(shown, default=1)
    spread = max(shown, default=1) / least
    columns = min(len(concurrencies), MOST_BESIDE)
    rows = math.ceil(len(concurrencies) / columns)
    size = plotting.WIDTH, 0.8 + 2.4 * rows
    figure, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False, sharey=True)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    for axes in grid.flat[len(concurrencies) :]:
        axes.set_visible(False)
    for axes, concurrency in zip(grid.flat, concurrencies, strict=False):
        for one in distributions:
            if one.concurrency == concurrency and one.role in LINES:
                style, colour, width = LINES[one.role]
                axes.plot(one.quantiles_ms, range(101), style, color=colour, linewidth=width, label=one.role)
        if spread > WIDE:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1,) if spread > DECADES else (1, 2, 5)))
            axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(left=least)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.tick_params(axis="both", labelsize=9)
        axes.set_title(f"concurrency {concurrency}", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#dddddd", linewidth=0.6)
    axis = f"milliseconds between tokens, but for the shortest {SHORTEST} %" + (" (log)" if spread > WIDE else "")
    figure.supxlabel(axis, fontsize=9)
    figure.supylabel("% of gaps that are shorter", fontsize=9)
    grid[0][0].legend(fontsize=9, frameon=False)
    plotting.save(figure, path)
