"""gdnbench faults: builders broken on purpose, and which check catches each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdnbench.cli import exits

EXAMPLES = """Examples:

gdnbench faults

gdnbench faults --no-server"""


def faults(
    limit: Annotated[int, typer.Option(min=2, max=1319, help="Documents that each side answers.")] = 200,
    server: Annotated[
        bool, typer.Option("--server/--no-server", help="Ask live servers as well (about a quarter of an hour).")
    ] = True,
    resume: Annotated[Path | None, typer.Option(help="Go on with the answers in this directory.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """Run every known fault through equality, exact cost and accuracy; exit code 1 if one passes all three."""
    from gdnbench.accuracy.fault_table import fault_table
    from gdnbench.campaign.progress import stages
    from gdnbench.report.faults import print_json, print_table

    with stages() as tell:
        found = fault_table(limit, resume, server=server, told=tell)
    (print_json if json else print_table)(found)
    return exits.DONE if found.holds or not server else exits.FAILING_VERDICT


faults.__doc__ = f"{faults.__doc__}\n\n{EXAMPLES}"
