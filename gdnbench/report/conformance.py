"""Conformance for people: a table of rows, totals, and the first mismatch in full."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from gdnbench.conform.jobs import SEEN, Row


def show(rows: Sequence[Row], console: Console) -> None:
    """Prints all rows, what is foreign, what cannot be driven, and the verdict."""
    console.print("Fields and operations (ops) that differ from the release's:\n")
    console.print(_table(rows))
    for title, lines in (
        ("Foreign to the change, as listed", _listed(rows)),
        ("Seen of the foreign, and how often", _seen(rows)),
        ("Not driven", [f"{row.change} {row.part}: {row.reason}" for row in rows if not row.drivable]),
    ):
        if lines:
            console.print(f"\n{title}:")
            for line in dict.fromkeys(lines):
                console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    for row in [row for row in rows if not row.conforms][:1]:
        console.print(f"\nFirst mismatch ({row.change} {row.side}, {row.part}, vLLM {row.release}):", highlight=False)
        console.print(row.first_mismatch or "no scenario was compared", markup=False, highlight=False, soft_wrap=True)
    console.print(f"\n{total(rows)}", highlight=False)


def total(rows: Sequence[Row]) -> str:
    """One line over all rows."""
    driven = [row for row in rows if row.drivable]
    fields, operations = sum(row.field_mismatches for row in rows), sum(row.operation_mismatches for row in rows)
    empty = sum(row.scenarios == 0 for row in driven)
    return (
        f"{len(driven)} of {len(rows)} rows driven, {sum(row.scenarios for row in driven)} scenarios: "
        f"{fields} field and {operations} operation mismatches" + (f"; {empty} rows compared nothing" if empty else "")
    )


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("change", "side", "part", "vLLM"):
        table.add_column(heading, no_wrap=True)
    for heading in ("scenarios", "fields", "ops"):  # of the latter two, those that differ
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in rows:
        counts = [str(row.scenarios), str(row.field_mismatches), str(row.operation_mismatches)]
        verdict = "same" if row.conforms else "[red]differs[/red]"
        cells = [*counts, verdict] if row.drivable else ["-", "-", "-", "not driven"]
        table.add_row(str(row.change), row.side, row.part, row.release, *cells)
    return table


def _listed(rows: Sequence[Row]) -> list[str]:
    return [f"{row.change} {row.part}: {line}" for row in rows for line in row.foreign if not line.startswith(SEEN)]


def _seen(rows: Sequence[Row]) -> list[str]:
    """One line for each row that met some of it."""
    lines = []
    for row in rows:
        seen = [line.removeprefix(SEEN) for line in row.foreign if line.startswith(SEEN)]
        lines += [f"{row.change} {row.part}, {row.side}: {', '.join(seen)}"] if seen else []
    return lines
