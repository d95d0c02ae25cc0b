"""`gdnbench releases`: vLLM's real builder from release to release."""

from __future__ import annotations

import sys
from inspect import cleandoc
from typing import Annotated

import typer

from gdnbench.cli import exits
from gdnbench.cli.history_option import PlaceOption
from gdnbench.history.doors import open_history
from gdnbench.values.errors import EnvironmentMissing, Interrupted, UserError

EXAMPLE = "Example: gdnbench releases --from 0.29.0 --history runs"


def releases(
    first: Annotated[str, typer.Option("--from", help="The oldest release.")] = "0.20.0",
    last: Annotated[str | None, typer.Option("--to", help="The newest. Default: the newest that is known.")] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(help="A step to build; may be repeated. Default: one or two of each kind."),
    ] = None,
    launches: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Fresh processes of each release. Default: what the rows need.")
    ] = None,
    history: PlaceOption = None,
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Measure what the history lacks, or only tell what it has.")
    ] = True,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print tables for a page and nothing else.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """Measure which release of vLLM changed the build of which kind of step, and by how much, on this CPU.

    What each release asks of the device is counted. Then all take turns,
    in the same launches, each held against the one before it.
    Ctrl-C stops it; the same command goes on.
    """
    opened = open_history(history)
    from gdnbench.campaign.progress import stages
    from gdnbench.history.releases import release_history
    from gdnbench.nightly.night import Telling, run_night
    from gdnbench.nightly.releases import SCENARIOS, ReleaseMeasure, plan_of_releases, releases_between
    from gdnbench.oracle.environment import release_python
    from gdnbench.report import releases as report
    from gdnbench.values import scenarios
    from gdnbench.values.nights import PartState

    status = exits.DONE
    if measure:
        names = list(dict.fromkeys(scenarios.parse(text).name for text in scenario or SCENARIOS))
        release_python()
        plan = plan_of_releases(releases_between(first, last), names, launches)
        with stages() as told:
            telling = Telling(told, lambda line: print(line, file=sys.stderr))
            done = run_night(plan, opened, shifts=False, telling=telling, measuring=ReleaseMeasure())
        if done.of(PartState.INTERRUPTED):
            raise Interrupted("interrupted: the same command goes on where it stopped")
        if failed := done.of(PartState.FAILED):
            print("; ".join(f"{one.name}: {one.why}" for one in failed), file=sys.stderr)
            status = EnvironmentMissing.exit_code
    found = release_history(opened)
    if not found.releases:
        raise UserError(f"the history {opened.place.location} knows nothing of releases: measure them first")
    if json:
        report.print_json(found)
    elif markdown:
        print(report.markdown(found))
    else:
        report.print_releases(found)
    return status


releases.__doc__ = f"{cleandoc(releases.__doc__ or '')}\n\n{EXAMPLE}"
