"""`gdnbench nightly`: a whole matrix of measurements, every night, within a budget of time."""

from __future__ import annotations

import sys
from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

from gdnbench.cli import exits
from gdnbench.cli.history_option import PlaceOption
from gdnbench.history.doors import open_history
from gdnbench.values.errors import EnvironmentMissing, Interrupted, UserError

EXAMPLE = "Example: gdnbench nightly --history runs --budget 25m"


def nightly(
    plan: Annotated[
        Path | None, typer.Option(help="What to measure, a TOML file. Default: the plan that comes with gdnbench.")
    ] = None,
    history: PlaceOption = None,
    budget: Annotated[str | None, typer.Option(help="The time it may take, e.g. 25m. Default: the plan's.")] = None,
    fail_on: Annotated[
        str | None, typer.Option(help="Verdicts that are alerts and give exit code 1. Default: the plan's.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """Measure what a plan declares and no earlier run answers; keep each part as soon as it is done.

    A part that cannot be measured is named, and the rest goes on (exit code 4).
    Verdicts named by --fail-on are alerts (exit code 1), told apart from that;
    where regressed is named, so are shifts for the worse. Ctrl-C stops it; the
    same command goes on.
    """
    opened = open_history(history)
    from gdnbench.campaign.progress import stages
    from gdnbench.nightly.checks import duration
    from gdnbench.nightly.night import Telling, run_night
    from gdnbench.nightly.plan_file import read_plan
    from gdnbench.report.nightly import print_json, print_night
    from gdnbench.values.nights import PartState
    from gdnbench.values.verdicts import Verdict

    asked = read_plan(plan)
    try:
        budget_s = None if budget is None else duration(budget)
    except ValueError as error:
        raise UserError(f"--budget {budget}: {error}") from None
    failing = asked.fail_on if fail_on is None else exits.verdict_names(fail_on)
    with stages() as told:
        found = run_night(
            asked,
            opened,
            budget_s=budget_s,
            fail_on=failing,
            telling=Telling(told, lambda line: print(line, file=sys.stderr)),
        )
    if json:
        print_json(found)
    else:
        print_night(found, opened.place.location)
    if found.of(PartState.INTERRUPTED):
        return Interrupted.exit_code
    if found.alerts or (found.worse and Verdict.REGRESSED in failing):
        return exits.FAILING_VERDICT
    return EnvironmentMissing.exit_code if found.of(PartState.FAILED) else exits.DONE


nightly.__doc__ = f"{cleandoc(nightly.__doc__ or '')}\n\n{EXAMPLE}"
