"""`gdnbench shifts`: what shifted in the series of a history, and what was said of it."""

from __future__ import annotations

import json
from typing import Annotated, get_args

import typer

from gdnbench.cli import exits
from gdnbench.cli.history import AsJson, Change, Where
from gdnbench.history.doors import open_history, time_of
from gdnbench.values.errors import UserError
from gdnbench.values.shifts import Shift, ShiftState

shifts = typer.Typer(
    help="Change points in series of kept runs: list, show, acknowledge.",
    no_args_is_help=True,
)

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a shift, or the beginning of it that no other has.")]


@shifts.command("list")
def listing(
    where: Where = None,
    everything: Annotated[bool, typer.Option("--all", help="Resolved shifts too.")] = False,
    change: Change = None,
    since: Annotated[
        str | None, typer.Option(help="Only shifts from this date on (2026-11-01), or of the last days (14d).")
    ] = None,
    fail_on: Annotated[
        str, typer.Option(help="States of a listed shift for the worse that give exit code 1, e.g. new,confirmed.")
    ] = "none",
    as_json: AsJson = False,
) -> int:
    """List shifts, the newest first.

    Example: gdnbench shifts list --history runs --fail-on new
    """
    failing = _states(fail_on)
    start = None if since is None else time_of(since)
    opened = open_history(where)
    from gdnbench.history.shifts import find_among
    from gdnbench.report import shifts as report
    from gdnbench.report.history import tell_skipped

    listed = opened.listing()
    tables = opened.tables(listed.runs)
    found = find_among(opened, listed.runs, tables)
    changes = {str(run.name): run.identity.change for run in listed.runs}
    shown = [
        shift
        for shift in found.shifts
        if (everything or shift.state != "resolved")
        and change in (None, changes[shift.first_after])
        and (start is None or shift.since >= start)
    ]
    tell_skipped(listed, (*tables.skipped, *found.skipped))
    if as_json:
        print(report.shifts_json(shown, found))
    else:
        report.print_shifts(shown, found)
    return exits.FAILING_VERDICT if any(shift.worse and shift.state in failing for shift in shown) else exits.DONE


@shifts.command()
def show(shift: Id, where: Where = None, as_json: AsJson = False) -> None:
    """Show one shift, and between which runs, commits and versions it happened.

    Example: gdnbench shifts show 4e07 --history runs
    """
    from gdnbench.history.shifts import one_shift

    _tell(one_shift(open_history(where), shift), as_json)


@shifts.command()
def acknowledge(
    shift: Id,
    reason: Annotated[str, typer.Option(help="Why it is as it should be: one line.")],
    where: Where = None,
    as_json: AsJson = False,
) -> None:
    """Say why a shift is as it should be; it is no longer reported.

    Example: gdnbench shifts acknowledge 4e07 --reason "the price of the fix in 51565" --history runs
    """
    from gdnbench.history.shifts import acknowledge

    _tell(acknowledge(open_history(where), shift, reason), as_json)


def _tell(shift: Shift, as_json: bool) -> None:
    from gdnbench.report import shifts as report

    if as_json:
        print(json.dumps(shift.to_json()))
    else:
        report.print_shift(shift)


def _states(text: str) -> frozenset[str]:
    """The states that a `--fail-on` list names.

    Raises:
        UserError: one of them is no state.
    """
    names = [name.strip() for name in text.split(",") if name.strip() not in ("", "none")]
    known = get_args(ShiftState)
    for name in names:
        if name not in known:
            raise UserError(f"--fail-on: {name!r} is no state of a shift; known: {', '.join(known)}, none")
    return frozenset(names)
