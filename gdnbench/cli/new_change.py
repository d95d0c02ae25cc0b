"""`gdnbench new-change`: the skeleton of one more change, to be filled in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

EXAMPLE = 'Example: gdnbench new-change 60001 --title "Drafted rows\' states are a view" --releases 0.31.0,0.32.0'


def new_change(
    number: Annotated[int, typer.Argument(metavar="N", min=1, max=999_999_999, help="The pull request's number.")],
    title: Annotated[str, typer.Option(help="What it does, in one line of your words.")],
    merged: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="The day of its merge. Default: today.")
    ] = None,
    releases: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The last release without it and the first with it. Default: the next pair."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Write a change of the GDN builder: one file, one entry in the catalogue, one test. Overwrites nothing."""
    from gdnbench.cli.skeleton import skeleton, write
    from gdnbench.oracle.environment import repository_here
    from gdnbench.report.new_change import print_json, print_steps

    checkout = repository_here()
    made = skeleton(checkout, number, title, (merged or datetime.now(UTC)).date(), releases)
    write(made, checkout)
    names = [str(name) for name in made.new]
    (print_json if as_json else print_steps)(number, names, made.line, made.previous, made.releases)


new_change.__doc__ = f"{new_change.__doc__}\n\n{EXAMPLE}"
