"""`gdnbench list`: the catalogue, the scenarios and the variants that there are."""

from __future__ import annotations

from typing import Annotated

import typer


def listing(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Show the catalogued changes, the named scenarios and how variants are written.

    Example: gdnbench list --json
    """
    from gdnbench.report.listing import listing_json, print_listing

    if as_json:
        print(listing_json())
    else:
        print_listing()
