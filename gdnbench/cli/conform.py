"""`gdnbench conform`: our code of every change against the releases that bracket it."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from gdn_impl.catalog import CATALOG
from gdnbench.values.errors import UserError


def conform(
    change: Annotated[list[int] | None, typer.Option(help="A change, by number; all where none is named.")] = None,
    random: Annotated[int, typer.Option(min=0, help="Random scenarios besides the named ones.")] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Of the first random scenario.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    write_goldens: Annotated[bool, typer.Option(help="Keep the releases' answers as goldens for the tests.")] = False,
) -> None:
    """Hold every part of both sides against the real releases: fields, and operations in their order.

    Exit code 1 where anything differs that is not listed as foreign.
    """
    from gdnbench.conform.goldens import Golden, write
    from gdnbench.conform.jobs import Row, jobs
    from gdnbench.conform.run import run
    from gdnbench.oracle.environment import repository_here
    from gdnbench.report.conformance import show

    checkout = repository_here() if write_goldens else None
    for number in change or ():
        if number not in CATALOG:
            raise UserError(f"no change {number} in the catalogue; known: {', '.join(map(str, sorted(CATALOG)))}")
    asked = jobs(dict.fromkeys(change or CATALOG), random=random, seed=seed, golden=write_goldens)
    progress = Console(stderr=True)
    found: dict[tuple[int, str, str], Row] = {}
    goldens: list[Golden] = []
    for row, golden in run(asked, say=progress.print):
        found[row.change, row.part, row.side] = row
        goldens += [golden] if golden else []
        progress.print(f"{len(found)}/{len(asked)} {row.change} {row.side} {row.part}", highlight=False)
    rows = [found[job.change, job.part.name, job.side] for job in asked]
    if checkout is not None:
        where = write(checkout / "tests" / "goldens" / "conform", goldens)
        progress.print(f"{len(goldens)} goldens written to {where}", highlight=False)
    if as_json:
        print(json.dumps({"rows": [row.as_dict() for row in rows]}))
    else:
        show(rows, Console())
    if not all(row.conforms for row in rows):
        raise typer.Exit(1)
