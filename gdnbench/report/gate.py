"""`gdnbench gate` for the reader: what is compared with what, the rows that matter, and how many are equal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gdnbench.report.console import STYLES, wide_console
from gdnbench.report.numbers import change, figure, interval
from gdnbench.values.gate import EXACT, GateResult, GateRow, GateRun, Identity, Presence
from gdnbench.values.verdicts import Caveat


def print_json(result: GateResult, saved: Path | None = None) -> None:
    """One JSON object on standard output."""
    print(json.dumps({"headline": headline(result), **result.to_json(), "saved": _place(saved)}))


def print_table(result: GateResult, saved: Path | None = None) -> None:
    """The same for a person."""
    console = wide_console(width=140)
    console.print(headline(result), style=f"bold {STYLES[result.verdict]}", markup=False, highlight=False)
    _say(console, f"baseline {result.baseline}: {identity(result.before)}")
    _say(console, f"now: {identity(result.after)}")
    shown = [row for row in result.rows if row.differs]
    if shown:
        console.print(_table(shown))
    equal = len(result.rows) - len(shown)
    if equal:
        _say(console, f"{equal} {'row is' if equal == 1 else 'rows are'} the same on both sides")
    if result.unchanged:
        _say(console, "the reference builders are the baseline's, byte for byte")
    for caveat in unique(result):
        console.print(
            f"[yellow]![/] {escape(caveat.message)}: {escape(caveat.advice)}", highlight=False, soft_wrap=True
        )
    if saved is not None:
        _say(console, f"saved: {saved}")


def print_saved(run: GateRun, path: Path | None) -> None:
    """That a baseline was written, and what it holds."""
    _say(wide_console(width=140), f"{contents(run)}; {identity(run.identity)}; saved: {path}")


def print_saved_json(run: GateRun, path: Path | None) -> None:
    """The same as one JSON object."""
    print(json.dumps({"headline": contents(run), "now": run.identity.to_json(), "saved": _place(path)}))


def headline(result: GateResult) -> str:
    """The verdict, and how many rows it rests on."""
    compared = [row for row in result.rows if row.presence is Presence.COMPARED]
    counts = [f"{len(compared)} compared"]
    for word in ("regressed", "improved", "unknown", "invalid"):
        number = sum(row.verdict == word for row in compared)
        counts += [f"{number} {word}"] if number else []
    tally = result.tally
    counts += [f"{tally[one]} {one.value}" for one in Presence if one is not Presence.COMPARED and tally[one]]
    sides = sum(row.before is not None for row in result.rows), sum(row.after is not None for row in result.rows)
    return f"{result.verdict.value}: {sides[0]} vs {sides[1]} rows; {', '.join(counts)}"


def contents(run: GateRun) -> str:
    """What a run holds, in words."""
    failing = sum(cost.counts is None for cost in run.costs.values())
    text = f"{len(run.costs)} exact costs" + (f", {failing} of which fail" if failing else "")
    return text + (f", {len(run.steps)} step times" if run.steps else "")


def identity(one: Identity) -> str:
    """Where figures come from, in words."""
    return f"{one.version}, torch {one.torch}, {one.cores} cores of {one.cpu}, {one.made}"


def story(row: GateRow) -> str:
    """What there is to say of a row, one line."""
    text = _figures(row)
    return text if row.presence is Presence.COMPARED else f"{row.presence.value}: {text}"


def _figures(row: GateRow) -> str:
    if row.judgement is None:
        return "the baseline has no such row" if row.presence is Presence.NEW else "as --allow-gone says"
    if row.metric == EXACT or row.before is None or row.after is None or not row.judgement.interval:
        return row.judgement.reason
    figures = f"{figure(row.before[row.metric])} -> {figure(row.after[row.metric])} us"
    judged = row.judgement
    effect = f"{change(judged.ratio)} ({interval(judged.interval)}, {judged.launches} launches)"
    return ", ".join(filter(None, (figures, effect, judged.reason)))


def unique(result: GateResult) -> list[Caveat]:
    """Every caveat once, those of rows behind those of the whole, with a row that it stands for."""
    rows: dict[Caveat, list[GateRow]] = {}
    for row in result.rows:
        for caveat in () if row.judgement is None else row.judgement.warnings:
            rows.setdefault(caveat, []).append(row)

    def of(found: list[GateRow]) -> str:
        return f"{found[0].place}" + (f" and {len(found) - 1} more" if len(found) > 1 else "")

    own = [replace(caveat, message=f"{of(found)}: {caveat.message}") for caveat, found in rows.items()]
    return [*dict.fromkeys(result.warnings), *own]


def _table(rows: Iterable[GateRow]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("variant", "part", "scenario", "metric", "verdict"):
        table.add_column(name, overflow="fold")
    table.add_column("", overflow="fold", ratio=1)
    for row in rows:
        verdict = "-" if row.verdict is None else f"[{STYLES[row.verdict]}]{row.verdict.value}[/]"
        cells = (row.place.variant, row.place.part, row.place.scenario, row.metric)
        table.add_row(*map(escape, cells), verdict, escape(story(row)))
    return table


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _place(path: Path | None) -> str | None:
    return None if path is None else str(path)
