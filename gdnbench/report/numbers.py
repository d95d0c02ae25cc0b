"""Figures as a reader sees them."""

from __future__ import annotations

Interval = tuple[float, float] | None

STEP_FIGURES = (
    "before, after: geometric means over all blocks; change: median over launches of ratios of blocks taken together, "
    "so not quite after / before, which may lie outside the interval of the change"
)
"""How the figures of a row of step time are made."""


def percent(ratio: float) -> str:
    """A ratio as a signed change: 0.93 -> -7.0 %; what rounds to nothing is +0.0 %."""
    return f"{round((ratio - 1) * 100, 1) + 0.0:+.1f} %"


def in_words(ratio: float) -> str:
    """A ratio as a person says it: 0.93 -> 7.0 % less."""
    return f"{abs(ratio - 1) * 100:.1f} % {'less' if ratio < 1 else 'more'}"


def change(ratio: float | None) -> str:
    """The same, where there may be none."""
    return "n/a" if ratio is None else percent(ratio)


def interval(ends: Interval) -> str:
    """Of a ratio, as changes."""
    return "n/a" if ends is None else f"{percent(ends[0])} to {percent(ends[1])}"


def share(value: float | None) -> str:
    """A fraction in percent."""
    return "n/a" if value is None else f"{value * 100:.1f} %"


def figure(value: float | None) -> str:
    """A measured value with as many decimals as it can carry: 197.5, 15.80, 0.004."""
    if value is None:
        return "n/a"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def of_limit(multiples: tuple[float, float] | None) -> str:
    """Both sides' times as multiples of the limit's."""
    return "" if multiples is None else " -> ".join(f"{one:.1f} x" for one in multiples)
