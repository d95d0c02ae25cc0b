"""Paired ratios with their intervals, floor and control, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from gdnbench.report import plotting
from gdnbench.values.metrics import ITL, OUTPUT_THROUGHPUT, TPOT, TTFT
from gdnbench.values.serving import ServeResult
from gdnbench.values.verdicts import Judgement, StepResult, Verdict

MARKERS = {
    Verdict.IMPROVED: ("v", plotting.BETTER),
    Verdict.REGRESSED: ("^", plotting.WORSE),
    Verdict.SAME: ("s", plotting.NEUTRAL),
    Verdict.UNKNOWN: ("o", "#8a6d00"),
    Verdict.INVALID: ("x", "#000000"),
}
CONTROL = ("D", plotting.CONTROL)


@dataclass(frozen=True, slots=True)
class Line:
    """One comparison in a plot; those of a control have its marker, whatever their verdict."""

    name: str
    judgement: Judgement
    control: bool = False

    @property
    def marker(self) -> tuple[str, str]:
        """Shape and colour."""
        return CONTROL if self.control else MARKERS[self.judgement.verdict]


def step_ratios(result: StepResult, title: str, path: Path) -> None:
    """After against before for each scenario, with intervals, the floor, and the control below; written to `path`."""
    lines = [Line(f"{row.scenario}{' *' if row.primary else ''}", row.judgement) for row in result.rows]
    if result.control is not None:
        lines.append(Line("the before side against itself", result.control.judgement, control=True))
    floor = result.rows[0].metric.floor_percent if result.rows else 0.0
    _draw(lines, floor, "change of step time, % (grey: the floor; bars: 95 % intervals; *: primary)", title, path)


def serving_ratios(result: ServeResult, title: str, path: Path) -> None:
    """The same of a live server: at each concurrency tok/s, its control, and the means of the latencies."""
    lines = []
    for row in result.primary:
        at = f"concurrency {row.concurrency}"
        lines.append(Line(f"{at}: tok/s *", row.judgement))
        control = result.control(row)
        if control is not None:
            lines.append(Line(f"{at}: tok/s of the same code", control.judgement, control=True))
        for metric in (TTFT, TPOT, ITL):
            mean = result.row(row.concurrency, metric, "mean")
            lines.append(Line(f"{at}: {metric.tag.upper()}, mean", mean.judgement))
    what = (
        "change, %; more tok/s and shorter times are better\n(grey: floor of tok/s; bars: 95 % intervals; *: primary)"
    )
    _draw(lines, OUTPUT_THROUGHPUT.floor_percent, what, title, path)


def _draw(lines: Sequence[Line], floor: float, what: str, title: str, path: Path) -> None:
    """Lines that have a ratio, the first on top; written aside first."""
    lines = [line for line in lines if line.judgement.ratio is not None]
    figure, axes = plotting.begin(1.6 + 0.3 * len(lines), title)
    places = list(range(len(lines)))[::-1]
    for place, line in zip(places, lines, strict=True):
        _draw_line(axes, place, line)
    axes.axvspan(-floor, floor, color="#dddddd", zorder=0)
    axes.axvline(0, color="#444444", linewidth=0.8, zorder=1)
    axes.set_yticks(places, [line.name for line in lines], fontsize=9)
    axes.set_ylim(-0.7, len(places) - 0.3)
    axes.set_xlabel(what, fontsize=9)
    labels = {line.marker: "control (A/A)" if line.control else line.judgement.verdict.value for line in lines}
    by_control = sorted(labels, key=lambda marker: marker == CONTROL)
    handles = [
        axes.plot([], [], marker=marker[0], color=marker[1], linestyle="", label=labels[marker])[0]
        for marker in by_control
    ]
    figure.legend(handles=handles, loc="outside lower right", ncols=max(len(handles), 1), fontsize=9, frameon=False)
    plotting.save(figure, path)


def _draw_line(axes: Axes, place: int, line: Line) -> None:
    judgement, (marker, colour) = line.judgement, line.marker
    assert judgement.ratio is not None
    if judgement.interval is not None:
        low, high = ((end - 1) * 100 for end in judgement.interval)
        axes.plot([low, high], [place, place], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=2)
    axes.plot([(judgement.ratio - 1) * 100], [place], marker=marker, color=colour, markersize=7, zorder=3)
