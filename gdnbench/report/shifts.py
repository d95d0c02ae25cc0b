"""Shifts for the reader: a row for each, one in full, and what is suspect."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gdnbench.history.shifts import Found
from gdnbench.report.console import wide_console
from gdnbench.report.numbers import change, figure, interval
from gdnbench.values.shifts import Changed, Shift, ShiftState

STYLES: dict[ShiftState, str] = {"new": "bold red", "confirmed": "red", "acknowledged": "yellow", "resolved": "dim"}
MOST_COMMITS = 20
"""That are shown of one shift."""


def shifts_json(shifts: Sequence[Shift], found: Found) -> str:
    """The newest first."""
    return json.dumps(
        {
            "shifts": [shift.to_json() for shift in reversed(shifts)],
            "suspects": [suspect.to_json() for suspect in found.suspects],
            "series": found.series,
            "reruns": found.reruns,
            "skipped": [{"file": one.name, "reason": one.reason, "damaged": one.damaged} for one in found.skipped],
        }
    )


def print_shifts(shifts: Sequence[Shift], found: Found) -> None:
    """A row for each shift, the newest first, then how many there are in all."""
    console = wide_console(180)
    if shifts:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("id", "since", "series", "before", "after", "change", "95 % interval", "", "state"):
            right = name in ("before", "after", "change", "95 % interval")
            table.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=name == "id")
        for shift in reversed(shifts):
            table.add_row(
                shift.id,
                shift.since.strftime("%Y-%m-%d"),
                Text(str(shift.series)),
                Text(_level(shift, shift.before)),
                Text(_level(shift, shift.after)),
                _change(shift),
                "exact" if shift.interval is None else _interval(shift),
                shift.way,
                Text(shift.state, STYLES[shift.state]),
            )
        console.print(table)
    states = Counter(shift.state for shift in found.shifts)
    counts = ", ".join(f"{count:,} {state}" for state, count in states.items()) or "none"
    _say(console, f"shifts in {found.series:,} series: {counts}; suspect now: {len(found.suspects):,}", "dim")
    _say(console, f"runs that measured a suspect night again: {found.reruns:,}", "dim")


def print_shift(shift: Shift) -> None:
    """One shift, and between what it happened."""
    console, blame = wide_console(180), shift.blame
    _say(console, f"{shift.id} {shift.state}", STYLES[shift.state])
    _say(console, str(shift.series))
    amount = "" if shift.change is None else f": {_change(shift)}"
    ends = "" if shift.interval is None else f" ({_interval(shift)})"
    facts = {
        "level": f"{_level(shift, shift.before)} -> {_level(shift, shift.after)}{amount}{ends}, {shift.way}",
        "since": f"{shift.first_after}, {shift.since.isoformat(timespec='minutes')}",
        "before": shift.last_before,
        "range": f"{blame.runs[0]} .. {blame.runs[-1]}, {len(blame.runs) - 1} nights" if blame.runs else "",
        "commits": _commits(blame.commits),
        "libraries": _changed(blame.libraries),
        "machine": _changed(blame.machine),
        "reruns": str(shift.reruns),
        "reason": shift.reason,
    }
    for name, value in facts.items():
        if value:
            _say(console, f"{name:<11}{value}")
    if not (len(blame.commits) > 1 or blame.libraries or blame.machine):
        _say(console, "nothing that runs say of themselves differs in the range", "dim")


def in_one_line(shift: Shift) -> str:
    """What shifted, by how much, and how sure that is."""
    return f"{shift.state} shift for the {shift.way}: {shift.series}: {_change(shift)}"


def _level(shift: Shift, level: float) -> str:
    if shift.interval is None and level == int(level):
        return f"{level:,.0f} {shift.unit}"
    return f"{figure(level)} {shift.unit}"


def _change(shift: Shift) -> str:
    return change(None if shift.change is None else 1 + shift.change)


def _interval(shift: Shift) -> str:
    low, high = shift.interval or (0.0, 0.0)
    return interval((1 + low, 1 + high))


def _commits(commits: Sequence[str]) -> str:
    short = [commit[:12] for commit in commits]
    if len(short) <= MOST_COMMITS:
        return " ".join(short)
    return f"{' '.join(short[: MOST_COMMITS // 2])} ... {' '.join(short[-MOST_COMMITS // 2 :])} ({len(short):,})"


def _changed(facts: Sequence[Changed]) -> str:
    return ", ".join(f"{one.name} {one.before or 'none'} -> {one.after or 'none'}" for one in facts)


def _say(console: Console, text: str, style: str | None = None) -> None:
    console.print(Text(text), style=style, soft_wrap=True)
