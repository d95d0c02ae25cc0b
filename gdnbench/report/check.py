"""`gdnbench check` for the reader: verdicts first, then each pair, what was read, what is odd, and what to do next."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gdnbench.ingest.lines import short
from gdnbench.ingest.names import is_count
from gdnbench.report import check_words as words
from gdnbench.report.console import STYLES, wide_console
from gdnbench.report.numbers import figure
from gdnbench.values.ingested import CheckedPair, CheckedRow, CheckResult, Record
from gdnbench.values.verdicts import Caveat, Verdict

SHOWN = 40
"""Rows of a suite; all of them are in the JSON, and how many are left out is said."""


def print_json(result: CheckResult) -> None:
    """One JSON object on standard output."""
    print(json.dumps({**result.to_json(), "headlines": words.headlines(result)}, allow_nan=False))


def print_tables(result: CheckResult) -> None:
    """The same for a person."""
    console = wide_console(width=150)
    for line in words.headlines(result):
        _say(console, line, "bold")
    _say(console, "")
    console.print(_records(result.records))
    for pair in result.pairs:
        _pair(console, pair)
    for record in result.records:
        if not any(record.source in sources for pair in result.pairs for sources in pair.sources.values()):
            _alone(console, record)
    _record_notes(console, result.records)
    _caveats(console, "", result.warnings)
    for claim in result.claims:
        boundary = f" [{claim.boundary}]" if claim.boundary else ""
        _say(console, f"claim '{short(claim.claim.text, 120)}': {claim.finding.value}: {claim.note}{boundary}")
    if any(record.kind == "serving" for record in result.records):
        _say(console, words.DEFINITIONS, "dim")
    _say(console, f"Next: {words.advice(result)}")


def _records(records: Sequence[Record]) -> Table:
    table = _table("what was read")
    for name in ("#", "side", "concurrency", "figures", "where", "what", "why this side"):
        table.add_column(name, justify="right" if name in ("#", "figures") else "left", overflow="fold")
    for number, record in enumerate(records, 1):
        table.add_row(
            str(number),
            record.side or "none",
            "" if record.concurrency is None else str(record.concurrency),
            f"{len(record.metrics):,}",
            escape(short(record.source, 120)),
            escape(short(record.form, 60)),
            escape(short(record.why or "nothing says it", 120)),
        )
    return table


def _pair(console: Console, pair: CheckedPair) -> None:
    _say(console, f"\n{words.where(pair).strip() or 'before and after'}: {pair.validity}", "bold")
    for fault in pair.reasons:
        _say(console, f"  invalid, {fault.code}: {fault.message}", "red")
    console.print(_rows(pair.rows[:SHOWN]))
    if len(pair.rows) > SHOWN:
        _say(
            console,
            f"  {len(pair.rows) - SHOWN} smaller changes are not shown; all {len(pair.rows)} with --json",
            "dim",
        )
    if pair.decomposition is not None:
        _say(console, f"  split: {words.split(pair.decomposition, pair.acceptance)}")
        _say(console, f"  {words.SPLIT}", "dim")
    _caveats(console, "", pair.warnings)


def _rows(rows: Sequence[CheckedRow]) -> Table:
    table = _table("")
    table.add_column("figure", overflow="fold")
    for name in ("before", "after", "change"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("note", overflow="fold")
    for row in rows:
        own = row.judgement
        unit = f" ({row.unit})" if row.unit else ""
        notes = [note for note in (row.note, *(caveat.message for caveat in own.warnings)) if note]
        if own.verdict is Verdict.INVALID:
            notes.insert(0, f"{own.reason.partition(':')[0]}, see above")
        elif own.reason and own.reason not in notes and (row.primary or not own.reason.startswith("too few")):
            notes.insert(0, own.reason)
        table.add_row(
            escape(short(row.name, 90) + unit),
            _figure(row.before),
            _figure(row.after),
            words.moved(row.ratio),
            f"[{STYLES[own.verdict]}]{own.verdict.value}[/]",
            escape(short("; ".join(notes), 300)),
        )
    return table


def _figure(value: float | None) -> str:
    if value is None:
        return "n/a"
    return f"{value:.4g}" if value and (abs(value) < 0.1 or abs(value) >= 1e7) else figure(value)


def _alone(console: Console, record: Record) -> None:
    """The figures of a record that has no counterpart."""
    table = _table(escape(short(record.source, 120)))
    table.add_column("figure", overflow="fold")
    table.add_column("value", justify="right")
    found = {name: f"{value:,.0f}" if is_count(name) else _figure(value) for name, value in record.metrics.items()}
    found |= record.absent
    for name, value in list(found.items())[:SHOWN]:
        table.add_row(escape(short(name, 90)), value)
    console.print(table)
    if len(found) > SHOWN:
        _say(console, f"  {len(found) - SHOWN} more figures with --json", "dim")


def _record_notes(console: Console, records: Sequence[Record]) -> None:
    for number, record in enumerate(records, 1):
        for fault in record.faults:
            _say(console, f"#{number} invalid, {fault.code}: {fault.message}", "red")
        _caveats(console, f"#{number}", record.warnings)
    sound = [str(number) for number, record in enumerate(records, 1) if _agrees(record)]
    if sound:
        _say(console, f"figures that agree with each other, as far as they can be checked: #{', #'.join(sound)}", "dim")


def _agrees(record: Record) -> bool:
    return record.kind == "serving" and len(record.metrics) > 1 and not record.faults


def _caveats(console: Console, of: str, caveats: Iterable[Caveat]) -> None:
    for caveat in caveats:
        _say(console, f"  {f'{of} ' if of else ''}{caveat.message} ({caveat.advice})")


def _table(title: str) -> Table:
    return Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="dim")


def _say(console: Console, text: str, style: str | None = None) -> None:
    # Labels and names are a stranger's: nothing of them may reach the terminal as a command.
    lines = "\n".join(short(line, 2000) if line.strip() else "" for line in text.split("\n"))
    indent = text[: len(text) - len(text.lstrip(" "))]
    console.print(indent + lines, style=style, markup=False, highlight=False, soft_wrap=True)
