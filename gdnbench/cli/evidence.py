"""`gdnbench evidence`: everything measured about one change, as a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdnbench.cli import exits
from gdnbench.values.errors import UserError


def evidence(
    change: Annotated[int, typer.Argument(metavar="N", help="A change of the catalogue, e.g. 51913.")],
    device: Annotated[str, typer.Option(help="Where step time is measured: cpu or cuda.")] = "cpu",
    launches: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Fresh processes. Default: 10, or what the rows need.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where reports lie; this one goes to prN/ in it.")] = Path("reports"),
    resume: Annotated[Path | None, typer.Option(help="Go on with the campaign in this directory.")] = None,
    fail_on: Annotated[str, typer.Option(help="Verdicts that give exit code 1.")] = exits.FAIL_ON,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """Measure a change and write its report: equality, exact costs, step time, the published claims beside them."""
    from gdn_impl.catalog import CATALOG
    from gdnbench.campaign.progress import stages
    from gdnbench.report.gather import gather
    from gdnbench.report.write import say, write

    failing = exits.verdict_names(fail_on)
    if change not in CATALOG:
        known = ", ".join(map(str, sorted(CATALOG)))
        raise UserError(f"no change {change} in the catalogue; known: {known}")
    if device not in ("cpu", "cuda"):
        raise UserError(f"--device {device}: there are cpu and cuda")
    with stages() as progress:
        found = gather(CATALOG[change], device, launches, resume, progress)
    written = write(found, out)
    say(found, written, as_json)
    return exits.status_of([found.verdict], failing)


evidence.__doc__ = f"{evidence.__doc__}\n\nExample: gdnbench evidence 51913"
