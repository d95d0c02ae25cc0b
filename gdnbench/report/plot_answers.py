"""Answers that changed: how many each way, beside those that change by themselves."""

from __future__ import annotations

from pathlib import Path

from gdnbench.report import plotting
from gdnbench.values.accuracy import AccuracyResult


def answer_flips(result: AccuracyResult, title: str, path: Path) -> None:
    """Lost answers to the left, gained ones to the right, for each filter, and for two runs of the same code."""
    lines = []
    for row in result.rows:
        if row.paired is not None:
            lines.append((plotting.name(row.filter), row.paired, False))
        if row.control is not None:
            lines.append((f"{plotting.name(row.filter)}, same code", row.control, True))
    figure, axes = plotting.begin(1.3 + 0.35 * len(lines), title)
    most = max((max(pair.lost, pair.gained) for _, pair, _ in lines), default=0)
    for place, (_, pair, control) in enumerate(reversed(lines)):
        for count, side, colour in ((pair.lost, -1, plotting.WORSE), (pair.gained, 1, plotting.BETTER)):
            axes.barh(
                place,
                side * count,
                color=plotting.CONTROL if control else colour,
                hatch="//" if side < 0 else None,
                edgecolor="white",
            )
            axes.annotate(
                f"{'-' if side < 0 else '+'}{count}",
                (side * count, place),
                (side * 4, 0),
                textcoords="offset points",
                va="center",
                ha="left" if side > 0 else "right",
                fontsize=9,
            )
    reach = max(most, 4) * 1.25
    axes.set_xlim(-reach, reach)
    axes.axvline(0, color=plotting.NEUTRAL, linewidth=0.8)
    axes.set_yticks(range(len(lines)), [name for name, _, _ in reversed(lines)], fontsize=9)
    documents = result.rows[0].documents if result.rows else 0
    axes.set_xlabel(
        f"answers of {documents:,} that became wrong (left, hatched) or right (right); grey: same code", fontsize=9
    )
    plotting.save(figure, path)
