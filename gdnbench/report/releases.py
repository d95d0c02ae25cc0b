"""The release history for the reader: which release changed the build of which kind of step, by how much."""

from __future__ import annotations

import json
from collections.abc import Iterable
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


def print_json(found: ReleaseHistory) -> None:
    """One JSON object on standard output."""
    print(json.dumps(found.to_json()))


def print_releases(found: ReleaseHistory) -> None:
    """The same for a person."""
    console = wide_console(width=160)
    console.print(headline(found), style="bold", highlight=False, soft_wrap=True)
    head, rows = table_of(found)
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, name in enumerate(head):
        shown.add_column(name, justify="right" if number else "left", overflow="fold")
    styles = {(step.after, load.scenario): STYLES[step.verdict] for load in found.loads for step in load.steps}
    for row in rows:
        cells = zip(head[1:], row[1:], strict=True)
        shown.add_row(row[0], *(Text(cell, styles.get((row[0], name.split(":")[0]), "")) for name, cell in cells))
    console.print(shown)
    console.print(EXPLAINED, style="dim", highlight=False, soft_wrap=True)
    for line in (*shifts(found), *counted(found)):
        console.print(Text(line), soft_wrap=True)
    for line in found.missing:
        console.print(Text(f"! {line}"), style="yellow", soft_wrap=True)
    if found.machine:
        console.print(f"Measured on {found.machine}", highlight=False, soft_wrap=True)


def markdown(found: ReleaseHistory) -> str:
    """The table and the shifts, for a page."""
    head, rows = table_of(found)
    table = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    lines = [f"- {line}" for line in (*shifts(found), *counted(found))]
    return "\n".join([*(f"| {' | '.join(map(cell, row))} |" for row in table), "", EXPLAINED, "", *map(cell, lines)])


def headline(found: ReleaseHistory) -> str:
    """How many steps changed, in one sentence."""
    changed = sum(step.is_shift for load in found.loads for step in load.steps)
    measured = sum(len(load.steps) for load in found.loads)
    ends = f"{found.releases[0]} to {found.releases[-1]}" if found.releases else "no release"
    return f"{ends}: {changed} of {measured} steps from one release to the next changed the time of a build"


def table_of(found: ReleaseHistory) -> tuple[list[str], list[list[str]]]:
    """Its head, and a row for each release but the first."""
    loads = [load for load in found.loads if load.steps]
    rows = []
    for before, after in pairwise(found.releases):
        steps = [_between(load, before, after) for load in loads]
        rows.append([after, *("" if step is None else _cell(step) for step in steps)])
    if any(load.whole for load in loads):
        ends = f"{found.releases[0]} to {found.releases[-1]}"
        rows.append([ends, *("" if load.whole is None else _cell(load.whole) for load in loads)])
    return ["release", *(f"{load.scenario}: {load.kind}" for load in loads)], rows


def shifts(found: ReleaseHistory) -> Iterable[str]:
    """A line for each step that changed."""
    for load in found.loads:
        for step in load.steps:
            if step.is_shift and step.ratio is not None:
                yield (
                    f"{step.before} -> {step.after}: {load.kind} ({load.scenario}): {percent(step.ratio)} "
                    f"(95 % interval {interval(step.interval)}, {step.launches} launches)"
                )


def counted(found: ReleaseHistory) -> Iterable[str]:
    """A line for each step whose exact costs changed."""
    for load in found.loads:
        for before, after in pairwise(found.releases):
            changed = [
                f"{metric} {own[before]} -> {own[after]}"
                for metric, own in load.counts.items()
                if before in own and after in own and own[before] != own[after]
            ]
            if changed:
                yield f"{before} -> {after}: {load.kind} ({load.scenario}): {', '.join(changed)}"


def _between(load: ReleaseLoad, before: str, after: str) -> ReleaseStep | None:
    return next((step for step in load.steps if (step.before, step.after) == (before, after)), None)


def _cell(step: ReleaseStep) -> str:
    if step.ratio is None:
        return step.verdict.value
    if step.is_shift:
        return percent(step.ratio)
    doubt = "?" if step.verdict is Verdict.UNKNOWN else ""
    return f"({percent(step.ratio)}{doubt})"
