"""`gdnbench doctor`: what can be measured here, what cannot, and what to install."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

NOTHING_CAN_BE_MEASURED = 4


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Look at this machine and say what can be measured here, and what is missing for the rest."""
    from gdnbench.report.doctor import examine

    examination = examine()
    if as_json:
        print(json.dumps(examination.as_dict()))
    else:
        console = Console()
        table = Table(box=None, show_header=False, pad_edge=False)
        for fact in examination.facts:
            advice = f"\n[yellow]{escape(fact.advice)}[/yellow]" if fact.advice else ""
            table.add_row(fact.name, escape(fact.value) + advice)
        console.print(table, "")
        for ability in examination.abilities:
            mark = "[green]yes[/green]" if ability.able else "[red]no [/red]"
            console.print(f"{mark} {ability.name}" + (f": {escape(ability.reason)}" if ability.reason else ""))
    if not examination.able:
        raise typer.Exit(NOTHING_CAN_BE_MEASURED)
