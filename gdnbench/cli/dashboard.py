"""`gdnbench dashboard`: a history as a static site."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from gdnbench.cli.history import AsJson, Where
from gdnbench.history.doors import open_history


def dashboard(
    out: Annotated[Path, typer.Option(help="The folder of the site; one that holds a dashboard is replaced.")],
    where: Where = None,
    asv: Annotated[bool, typer.Option("--asv", help="Show the same figures in asv's own pages too (slow).")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a site of a history: open index.html from disk, or put the folder on any web server.

    Example: gdnbench dashboard --history runs --out build/dashboard
    """
    opened = open_history(where)
    from gdnbench.dashboard.build import build, check_place
    from gdnbench.dashboard.gather import gather, identified
    from gdnbench.history.releases import release_history_among
    from gdnbench.history.shifts import find_among
    from gdnbench.report.history import tell_skipped

    check_place(out, asv)
    listing = identified(opened.listing())
    tables = opened.tables(listing.runs)
    followed = find_among(opened, listing.runs, tables)
    if not as_json:
        tell_skipped(listing, (*tables.skipped, *followed.skipped))
    site = gather(listing, tables, datetime.now(UTC))
    releases = release_history_among(listing.runs, tables)
    build(out, site, followed.shifts, followed.suspects, releases, asv)
    found = {
        "site": str(out / "index.html"),
        "runs": len(site.runs),
        "series": len(site.series),
        "points": len(site.points),
    }
    print(
        json.dumps(found) if as_json else f"{found['site']}: {len(site.points):,} points of {len(site.series):,} series"
    )
