"""`gdnbench serve` for the reader: headline first, then what it rests on, all else behind, and what to do next."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gdnbench.report import serving_words as words
from gdnbench.report.console import STYLES, wide_console
from gdnbench.report.numbers import change, figure, interval, share
from gdnbench.serving.again import command
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import ServeLaunch
from gdnbench.values.serving import Coverage, Part, ServeResult, ServeRow


def print_json(plan: ServePlan, launches: Sequence[ServeLaunch], result: ServeResult, journal: Path) -> None:
    """One JSON object on standard output."""
    found = {
        **result.to_json(),
        "headline": words.headline(result),
        "seconds": [launch.seconds for launch in launches],
        "journal": str(journal),
    }
    print(json.dumps(found))


def print_tables(plan: ServePlan, launches: Sequence[ServeLaunch], result: ServeResult, journal: Path) -> None:
    """The same for a person."""
    console, notes = wide_console(width=140), words.Footnotes()
    _say(console, words.headline(result), style="bold")
    _say(console, words.load(result.identity), style="dim")
    for fault in result.invalid if len(result.invalid) > 1 else ():
        _say(console, f"invalid, {fault.code}: {fault.message}", style="red")
    console.print(_rows(result, result.primary, notes, "tok/s at"))
    _say(console, f"{words.CHANGE}\ncontrol: {words.control(result)}. {words.sees(result)}", style="dim")
    console.print(_split(result))
    _say(console, words.SPLIT, style="dim")
    console.print(_coverage(result.coverage))
    _say(console, words.coverage(result))
    _say(console, "\nEverything else (secondary: judged together, and may stay unknown)", style="dim")
    console.print(_rows(result, [row for row in result.rows if not row.primary], notes, "at"))
    _say(console, words.DEFINITIONS, style="dim")
    notes.marks([words.caveat(one) for one in result.warnings])
    for text, number in notes.numbers.items():
        _say(console, f"[{number}] {text}")
    _say(console, f"Launches are kept in {journal}")
    _say(console, f"Next: {words.advice(result, command(plan))}")


def _rows(result: ServeResult, rows: Sequence[ServeRow], notes: words.Footnotes, at: str) -> Table:
    table = _table(at)
    if at == "at":
        table.add_column("figure", no_wrap=True)
    for name in ("before", "after", "change, 95 % interval", "control", "sees"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        own, control = row.judgement, result.control(row)
        table.add_row(
            str(row.concurrency),
            *([words.name(row)] if at == "at" else []),
            figure(row.before),
            figure(row.after),
            f"{change(own.ratio)} ({interval(own.interval)})",
            change(None if control is None else control.judgement.ratio),
            share(own.smallest_detectable),
            f"[{STYLES[own.verdict]}]{own.verdict.value}[/]{_marks(notes, row)}",
        )
    return table


def _marks(notes: words.Footnotes, row: ServeRow) -> str:
    """The footnotes of a row, escaped for the console."""
    return notes.marks(words.row_notes(row)).replace("[", r"\[")


def _split(result: ServeResult) -> Table:
    table = _table("split at")
    for name in ("tok/s", "builds alone", "acceptance", "rest", "step time, 95 % interval"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for one in result.decomposition:
        step = "not measured" if one.step_time is None else _part(one.step_time)
        accepted = "unknown" if one.acceptance is None else change(one.acceptance.ratio)
        verdict = "n/a" if one.verdict is None else f"[{STYLES[one.verdict]}]{one.verdict.value}[/]"
        tokens, alone = change(one.throughput.ratio), change(one.builds_alone)
        table.add_row(str(one.concurrency), tokens, alone, accepted, change(one.rest), step, verdict)
    return table


def _part(part: Part) -> str:
    return f"{change(part.ratio)} ({interval(part.interval)})"


def _coverage(coverage: Coverage) -> Table:
    table = _table("steps")
    for role in coverage.builds:
        for name in (f"{role}: builds", "mean us", "median us"):
            table.add_column(name, justify="right", no_wrap=True)
    for kind, by_role in words.kinds(coverage):
        cells = []
        for one in by_role.values():
            times = (None, None) if one is None else (one.mean_us, one.median_us)
            cells += ["0" if one is None else f"{one.builds:,}", *map(figure, times)]
        table.add_row(kind, *cells)
    return table


def _table(first: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(first, no_wrap=True)
    return table


def _say(console: Console, text: str, style: str | None = None) -> None:
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)
