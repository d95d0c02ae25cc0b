"""The release history for the reader: which release changed the build of which kind of step, by how much."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise

from rich.table import Table
from rich.text import Text

from gdnbench.report.console import STYLES, wide_console
from gdnbench.report.markdown import cell
from gdnbench.report.numbers import interval, percent
from gdnbench.values.releases import ReleaseHistory, ReleaseLoad, ReleaseStep
from gdnbench.values.verdicts import Verdict

EXPLAINED = (
    "Step time against the release before, on a CPU; in parentheses what is no change by the rule: within 1 % and "
    "0.2 us, or not told from none (?)."
)
COUNTED = "Exact costs that differ from those of the release before: the same on every machine."


def print_json(found: ReleaseHistory) -> None:
    """One JSON object on standard output."""
    print(json.dumps(found.to_json()))


def print_releases(found: ReleaseHistory) -> None:
    """The same for a person."""
    console = wide_console(width=160)
    console.print(headline(found), style="bold", highlight=False, soft_wrap=True)
    styles = {(step.after, _title(load)): STYLES[step.verdict] for load in found.loads for step in load.steps}
    for (head, rows), about, colours in ((step_table(found), EXPLAINED, styles), (count_table(found), COUNTED, {})):
        if rows:
            console.print(_shown(head, rows, colours))
            console.print(about, style="dim", highlight=False, soft_wrap=True)
    for line in shifts(found):
        console.print(Text(line), soft_wrap=True)
    for line in found.missing:
        console.print(Text(f"! {line}"), style="yellow", soft_wrap=True)
    if found.machine:
        console.print(f"Measured on {found.machine}", highlight=False, soft_wrap=True)


def markdown(found: ReleaseHistory) -> str:
    """Both tables, for a page."""
    parts = []
    for (head, rows), about in ((step_table(found), EXPLAINED), (count_table(found), COUNTED)):
        if rows:
            top, *lines = (f"| {' | '.join(map(cell, line))} |" for line in (head, *rows))
            parts += ["\n".join([top, f"| --- |{' ---: |' * (len(head) - 1)}", *lines]), about]
    return "\n\n".join(parts)


def headline(found: ReleaseHistory) -> str:
    """How many steps changed, in one sentence."""
    changed = sum(step.is_shift for load in found.loads for step in load.steps)
    measured = sum(len(load.steps) for load in found.loads)
    ends = f"{found.releases[0]} to {found.releases[-1]}" if found.releases else "no release"
    return f"{ends}: {changed} of {measured} steps from one release to the next changed the time of a build"


Cells = tuple[list[str], list[list[str]]]
"""The head of a table, and its rows."""


def step_table(found: ReleaseHistory) -> Cells:
    """A row for each release whose step time was held against the one before it, then first against last."""
    loads = [load for load in found.loads if load.steps]
    rows = []
    for before, after in pairwise(found.releases):
        steps = [_between(load, before, after) for load in loads]
        if any(steps):
            rows.append([after, *("" if step is None else _cell(step) for step in steps)])
    if any(load.whole for load in loads):
        ends = f"{found.releases[0]} to {found.releases[-1]}"
        rows.append([ends, *("" if load.whole is None else _cell(load.whole) for load in loads)])
    return ["release", *map(_title, loads)], rows


def count_table(found: ReleaseHistory) -> Cells:
    """A row for each release that asks for something else than the one before it."""
    loads = [load for load in found.loads if load.counts]
    rows = []
    for before, after in pairwise(found.releases):
        cells = [_changes(load, before, after) for load in loads]
        if any(cells):
            rows.append([after, *cells])
    return ["release", *map(_title, loads)], rows


def shifts(found: ReleaseHistory) -> Iterable[str]:
    """A line for each step that changed."""
    for load in found.loads:
        for step in load.steps:
            if step.is_shift and step.ratio is not None:
                yield (
                    f"{step.before} -> {step.after}: {load.kind} ({load.scenario}): {percent(step.ratio)} "
                    f"(95 % interval {interval(step.interval)}, {step.launches} launches)"
                )


def _changes(load: ReleaseLoad, before: str, after: str) -> str:
    return ", ".join(
        f"{metric} {own[before]} to {own[after]}"
        for metric, own in load.counts.items()
        if before in own and after in own and own[before] != own[after]
    )


def _title(load: ReleaseLoad) -> str:
    return f"{load.kind}: {load.scenario}"


def _shown(head: list[str], rows: list[list[str]], styles: Mapping[tuple[str, str], str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, name in enumerate(head):
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in rows:
        cells = (Text(text, styles.get((row[0], name), "")) for name, text in zip(head, row, strict=True))
        table.add_row(*cells)
    return table


def _between(load: ReleaseLoad, before: str, after: str) -> ReleaseStep | None:
    return next((step for step in load.steps if (step.before, step.after) == (before, after)), None)


def _cell(step: ReleaseStep) -> str:
    if step.ratio is None:
        return step.verdict.value
    if step.is_shift:
        return percent(step.ratio)
    doubt = "?" if step.verdict is Verdict.UNKNOWN else ""
    return f"({percent(step.ratio)}{doubt})"
