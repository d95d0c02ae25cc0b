"""`gdnbench accuracy` for the reader: the headline, paired rows, lm-eval's own numbers, flips, what to do next."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gdnbench.report import accuracy_words as words
from gdnbench.report.console import STYLES, wide_console
from gdnbench.values.accuracy import AccuracyResult, AccuracyRow, Flip
from gdnbench.values.text import flat

SHOWN_FLIPS = 6
"""Of the primary filter; all of them are in the JSON."""


def print_json(result: AccuracyResult, place: Path | None) -> None:
    """One JSON object on standard output."""
    found = {**result.to_json(), "headline": words.headline(result), "journal": None if place is None else str(place)}
    print(json.dumps(found))


def print_tables(result: AccuracyResult, place: Path | None) -> None:
    """The same for a person."""
    console = wide_console(width=150)
    _say(console, words.headline(result), "bold")
    for fault in result.invalid if len(result.invalid) > 1 else ():
        _say(console, f"invalid, {fault.code}: {fault.message}", "red")
    console.print(_rows(result.rows))
    for row in result.rows:
        _say(console, words.sees(row), "dim")
    console.print(_as_printed(result.rows))
    _flips(console, result)
    if result.coverage is not None:
        ran = ", ".join(f"{role} {count:,}" for role, count in result.coverage.ran.items())
        _say(console, f"builds in {result.coverage.needs}, which run the changed code: {ran}")
    for number, caveat in enumerate(result.warnings, 1):
        _say(console, f"[{number}] {caveat.message} ({caveat.advice})")
    if place is not None:
        _say(console, f"Runs are kept in {place}")
    _say(console, f"Next: {words.advice(result)}")


def _rows(rows: Sequence[AccuracyRow]) -> Table:
    table = Table(title="the same documents on both sides", title_justify="left", box=None, pad_edge=False)
    table.add_column("filter")
    for name in ("before", "after", "difference, 95 % interval", "both right", "both wrong", "lost", "gained"):
        table.add_column(name, justify="right")
    for name in ("p (McNemar)", "same code again"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for row in rows:
        pair = row.paired
        counts = ("n/a",) * 4 if pair is None else (pair.both_right, pair.both_wrong, pair.lost, pair.gained)
        table.add_row(
            escape(row.filter),
            words.score(row.before.value),
            words.score(row.after.value),
            f"{words.points(row.difference)} ({words.interval(row.interval)})",
            *map(str, counts),
            "n/a" if row.p_value is None or pair is None else words.chance(row.p_value),
            "n/a" if row.control is None else f"-{row.control.lost} +{row.control.gained}",
            f"[{STYLES[row.verdict]}]{row.verdict.value}[/]",
        )
    return table


def _as_printed(rows: Sequence[AccuracyRow]) -> Table:
    """What a reviewer is used to: each score by itself. It throws the pairing away."""
    table = Table(title="as lm-eval prints them, unpaired", title_justify="left", box=None, pad_edge=False)
    for name in ("filter", "metric"):
        table.add_column(name)
    for name in ("documents", "before", "after", "p (unpaired)"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            escape(row.filter),
            escape(row.metric),
            f"{row.documents:,}",
            words.printed(row.before),
            words.printed(row.after),
            "n/a" if row.unpaired_p is None else words.chance(row.unpaired_p),
        )
    return table


def _flips(console: Console, result: AccuracyResult) -> None:
    if not result.rows:
        return
    own = [flip for flip in result.flips if flip.filter == result.primary.filter]
    if not own:
        return
    _say(
        console,
        f"\nflips ({result.primary.filter}), {min(len(own), SHOWN_FLIPS)} of {len(own)}; all with --json",
        "dim",
    )
    for flip in own[:SHOWN_FLIPS]:
        _say(console, _told(flip))


def _told(flip: Flip) -> str:
    return (
        f"{flip.direction}: {_short(flip.question, 90)}\n"
        f"  right {_short(words.result(flip.target), 20)}; before {_short(flip.before, 60)}; "
        f"after {_short(flip.after, 60)}"
    )


def _short(text: str, width: int) -> str:
    # What a model or a stranger wrote may hold anything, escape sequences for the terminal among it.
    line = flat(text)
    return line if len(line) <= width else f"{line[: width - 3]}..."


def _say(console: Console, text: str, style: str | None = None) -> None:
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
