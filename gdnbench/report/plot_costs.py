"""The exact costs of a step as a waterfall."""

from __future__ import annotations

from pathlib import Path

from gdnbench.report import plotting
from gdnbench.report.waterfall import Waterfall

MOST = 14
"""Steps that are drawn one by one; the others are one together."""


def cost_waterfall(costs: Waterfall, title: str, path: Path) -> None:
    """Operations before, what each kind of operation takes away or adds, operations after; written to `path`."""
    falls = [(f"{one.operation} ({one.kind})", one.change) for one in costs.falls]
    if len(falls) > MOST:
        rest = falls[MOST - 1 :]
        falls = [*falls[: MOST - 1], (f"{len(rest)} others", sum(change for _, change in rest))]
    names = ["before", *(name for name, _ in falls), "after"]
    figure, axes = plotting.begin(1.3 + 0.3 * len(names), title)
    places = list(range(len(names)))[::-1]
    axes.barh(places[0], costs.before, color=plotting.CONTROL)
    level = costs.before
    for place, (_, change) in zip(places[1:-1], falls, strict=True):
        better = change < 0
        axes.barh(
            place,
            abs(change),
            left=min(level, level + change),
            color=plotting.BETTER if better else plotting.WORSE,
            hatch=None if better else "//",
            edgecolor="white",
        )
        axes.annotate(
            f"{change:+d}",
            (max(level, level + change), place),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
        level += change
    axes.barh(places[-1], costs.after, color=plotting.NEUTRAL)
    for place, value in ((places[0], costs.before), (places[-1], costs.after)):
        axes.annotate(str(value), (value, place), (4, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set_yticks(places, names, fontsize=9)
    axes.set_xlim(0, 1.12 * max(costs.before, costs.after, 1))
    axes.set_xlabel(f"operations of one step of {costs.scenario}, views aside (hatched: added)", fontsize=9)
    plotting.save(figure, path)
