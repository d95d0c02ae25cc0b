"""`gdnbench faults` for the reader: one row for each fault, and what first saw it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from gdnbench.report.console import wide_console
from gdnbench.report.numbers import share
from gdnbench.values.faults import FaultRow, FaultTable


def print_json(found: FaultTable) -> None:
    """One JSON object on standard output."""
    print(json.dumps(found.to_json()))


def print_table(found: FaultTable) -> None:
    """The same for a person."""
    console = wide_console(width=140)
    console.print(headline(found), style="bold", markup=False, highlight=False)
    console.print(_table("faults", found.rows))
    console.print(_table("sound variants, which nothing may object to", found.sound))
    for row in found.rows:
        console.print(f"{row.fault}: {row.what}", markup=False, highlight=False, soft_wrap=True)
        for title, text in (
            ("source", row.source),
            ("seen", row.seen),
            ("answers", row.accuracy),
            ("states", row.lost),
        ):
            if text:
                console.print(f"  {title}: {text}", style="dim", markup=False, highlight=False, soft_wrap=True)
    if "journal" in found.identity:
        console.print(f"Answers are kept in {found.identity['journal']}", markup=False, highlight=False)


def headline(found: FaultTable) -> str:
    """How many are caught."""
    caught = sum(row.caught for row in found.rows)
    through = [row.fault for row in found.rows if not row.caught]
    objected = [row.fault for row in found.sound if row.caught]
    text = f"{caught} of {len(found.rows)} faults caught"
    if through:
        text += f"; not caught: {', '.join(through)}" + ("" if found.identity else " (no server was asked)")
    if objected:
        text += f"; sound and objected to: {', '.join(objected)}"
    return text


def _table(title: str, rows: Sequence[FaultRow]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("variant", "caught", "by"):
        table.add_column(name, no_wrap=True)
    for name in ("right before", "right after"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            escape(row.fault),
            "yes" if row.caught else "no",
            row.by or "",
            share(row.accuracy_before),
            share(row.accuracy_after),
        )
    return table
