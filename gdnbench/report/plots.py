"""Plots by matplotlib: readable at the width of a comment, in grey, and on dark pages (the ground is white)."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from gdnbench.values.verdicts import StepResult, StepRow, Verdict

MARKERS = {
    Verdict.IMPROVED: ("v", "#0b6e3c"),
    Verdict.REGRESSED: ("^", "#b3261e"),
    Verdict.SAME: ("s", "#444444"),
    Verdict.UNKNOWN: ("o", "#8a6d00"),
    Verdict.INVALID: ("x", "#000000"),
}
CONTROL = ("D", "#7a7a7a")


def step_ratios(result: StepResult, title: str, path: Path) -> None:
    """After against before for each scenario, with intervals, the floor, and the control below; written to `path`."""
    rows = [row for row in result.rows if row.judgement.ratio is not None]
    control = [result.control] if result.control is not None and result.control.judgement.ratio is not None else []
    figure, axes = plt.subplots(figsize=(8, 1.6 + 0.3 * (len(rows) + len(control))), layout="constrained")
    places = list(range(len(rows) + len(control)))[::-1]
    for place, row in zip(places, rows, strict=False):
        _draw(axes, place, row, *MARKERS[row.judgement.verdict])
    for row in control:
        _draw(axes, 0, row, *CONTROL)
    floor = rows[0].metric.floor_percent if rows else 0.0
    axes.axvspan(-floor, floor, color="#dddddd", zorder=0)
    axes.axvline(0, color="#444444", linewidth=0.8, zorder=1)
    names = [f"{row.scenario}{' *' if row.primary else ''}" for row in rows] + ["the before side against itself"] * len(
        control
    )
    axes.set_yticks(places, names, fontsize=9)
    axes.set_ylim(-0.7, len(places) - 0.3)
    axes.set_xlabel("change of step time, % (grey: the floor; bars: 95 % intervals; *: primary)")
    axes.set_title(title, fontsize=11, loc="left")
    seen = dict.fromkeys(row.judgement.verdict for row in rows)
    handles = [
        axes.plot([], [], marker=MARKERS[verdict][0], color=MARKERS[verdict][1], linestyle="", label=verdict.value)[0]
        for verdict in seen
    ]
    handles += [axes.plot([], [], marker=CONTROL[0], color=CONTROL[1], linestyle="", label="control (A/A)")[0]] * len(
        control
    )
    figure.legend(handles=handles, loc="outside lower right", ncols=len(handles), fontsize=9, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".partial.png")
    figure.savefig(aside, dpi=110, metadata={"Software": None})
    plt.close(figure)
    aside.replace(path)


def _draw(axes: Axes, place: int, row: StepRow, marker: str, colour: str) -> None:
    judgement = row.judgement
    assert judgement.ratio is not None
    if judgement.interval is not None:
        low, high = ((end - 1) * 100 for end in judgement.interval)
        axes.plot([low, high], [place, place], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=2)
    axes.plot([(judgement.ratio - 1) * 100], [place], marker=marker, color=colour, markersize=7, zorder=3)
