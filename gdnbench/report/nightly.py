"""A night for the reader: what was measured, and apart from it what asks for attention."""

from __future__ import annotations

import json

from rich.table import Table
from rich.text import Text

from gdnbench.history.pointing import one_line
from gdnbench.report.console import STYLES, wide_console
from gdnbench.report.shifts import in_one_line
from gdnbench.values.nights import Night, PartOutcome, PartState

_STYLES = {PartState.FAILED: "red", PartState.LEFT_OUT: "yellow", PartState.INTERRUPTED: "yellow"}


def print_json(night: Night) -> None:
    """One JSON object on standard output."""
    print(json.dumps(night.to_json()))


def print_night(night: Night, history: str) -> None:
    """The same for a person: measuring, then alerting."""
    console = wide_console(width=140)
    console.print(headline(night), style="bold", highlight=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("part", "state", "minutes", "verdict", "run, or why"):
        table.add_column(name, overflow="fold", justify="right" if name == "minutes" else "left")
    for one in night.outcomes:
        table.add_row(
            Text(one.name),
            Text(one.state.value, _STYLES.get(one.state, "")),
            f"{one.seconds / 60:.1f}" if one.seconds else "",
            "" if one.verdict is None else Text(one.verdict.value, STYLES[one.verdict]),
            Text(
                one_line(one.why if one.state is PartState.SKIPPED else "; ".join(filter(None, (*one.runs, one.why))))
            ),
        )
    console.print(table)
    console.print("alerts" if night.alerts or night.shifts else "alerts: none", style="bold", highlight=False)
    for one in night.alerts:
        console.print(Text(f"{_alert(one)}: gdnbench history show {one.runs[0]} --history {history}"), soft_wrap=True)
    for shift in night.shifts:
        console.print(
            Text(f"{in_one_line(shift)}: gdnbench shifts show {shift.id} --history {history}"), soft_wrap=True
        )
    console.print(f"Next: {advice(night)}", highlight=False, soft_wrap=True)


def headline(night: Night) -> str:
    """What became of it, in one sentence."""
    counts = [f"{len(found)} {state.value}" for state in PartState if (found := night.of(state))]
    return f"{', '.join(counts)} in {night.seconds / 60:.1f} of {night.budget_s / 60:g} minutes"


def advice(night: Night) -> str:
    """What to do next, in one line."""
    if night.of(PartState.INTERRUPTED):
        return "the same command goes on where it was interrupted"
    if failed := night.of(PartState.FAILED):
        return f"mend what could not be measured: {failed[0].name}: {failed[0].why}"
    if left := night.of(PartState.LEFT_OUT):
        return f"give it more time with --budget, or the plan less to do: {len(left)} did not fit"
    return "look at the alerts" if night.alerts or night.worse else "nothing"


def _alert(one: PartOutcome) -> str:
    known = " (found before, and nothing has changed)" if one.state is PartState.SKIPPED else ""
    return f"{one.verdict.value if one.verdict else ''}: {one.name}{known}"
