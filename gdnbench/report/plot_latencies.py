"""How inter-token latencies lie before and after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import pyplot as plt

from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.report import plotting
from gdnbench.values.serving import Distribution

LINES = {BEFORE: ("-", plotting.CONTROL, 2.4), AFTER: ("--", plotting.BETTER, 1.8)}


def latency_distributions(distributions: Sequence[Distribution], title: str, path: Path) -> None:
    """The share of gaps between tokens that are shorter than so many milliseconds; one plot for each concurrency."""
    concurrencies = sorted({one.concurrency for one in distributions})
    figure, grid = plt.subplots(
        1, len(concurrencies), figsize=(plotting.WIDTH, 3.2), layout="constrained", squeeze=False, sharey=True
    )
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    for axes, concurrency in zip(grid[0], concurrencies, strict=True):
        for one in distributions:
            if one.concurrency == concurrency and one.role in LINES:
                style, colour, width = LINES[one.role]
                axes.plot(one.quantiles_ms, range(101), style, color=colour, linewidth=width, label=one.role)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("{x:g}")
        axes.tick_params(axis="x", which="both", labelsize=8)
        axes.set_title(f"concurrency {concurrency}", fontsize=10)
        axes.set_xlabel("milliseconds between tokens (log)", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#dddddd", linewidth=0.6)
    grid[0][0].set_ylabel("% of gaps that are shorter", fontsize=9)
    grid[0][0].legend(fontsize=9, frameon=False)
    plotting.save(figure, path)
