"""What all plots share: matplotlib without a screen, readable in grey and on dark pages, written aside and renamed."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gdnbench.values.text import flat

plt.rcParams["text.parse_math"] = False
"""Names come from outside; between dollar signs they would be taken as formulas."""

BETTER, WORSE, NEUTRAL, CONTROL = "#0b6e3c", "#b3261e", "#444444", "#7a7a7a"
WIDTH = 8.0
"""Inches; at 110 dots an inch about the width of a comment."""
NAME = 40
"""Characters of the name of a row."""


def name(text: str) -> str:
    """What a row is called, whoever named it: one line that leaves room for the plot."""
    text = flat(text)
    return text if len(text) <= NAME else f"{text[: NAME - 3]}..."


def begin(height: float, title: str) -> tuple[Figure, Axes]:
    """A figure with one plot in it."""
    figure, axes = plt.subplots(figsize=(WIDTH, height), layout="constrained")
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save(figure: Figure, path: Path) -> None:
    """Write it whole under its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".partial.png")
    figure.savefig(aside, dpi=110, metadata={"Software": None})
    plt.close(figure)
    aside.replace(path)
