"""A judged campaign for the reader: headline first, what to do next last."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gdnbench.campaign.judged import JudgedCampaign
from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.values.verdicts import Judgement, StepRow, Verdict

_STYLES = {
    Verdict.IMPROVED: "green",
    Verdict.REGRESSED: "red",
    Verdict.SAME: "cyan",
    Verdict.UNKNOWN: "yellow",
    Verdict.INVALID: "bold red",
}


def print_json(judged: JudgedCampaign, journal: Path) -> None:
    """One JSON object on standard output."""
    print(json.dumps({**judged.to_json(), "journal": str(journal)}))


def print_tables(judged: JudgedCampaign, journal: Path) -> None:
    """The same for a person."""
    console = Console()
    console.print(headline(judged), style="bold", highlight=False)
    console.print(_rows(judged))
    for caveat in judged.warnings:
        console.print(f"[yellow]![/] {caveat.message}: {caveat.advice}", highlight=False)
    for row in judged.result.rows:
        for caveat in row.judgement.warnings:
            console.print(f"[yellow]![/] {row.scenario}: {caveat.message}: {caveat.advice}", highlight=False)
    console.print(f"Launches are kept in {journal}", highlight=False, soft_wrap=True)
    console.print(f"Next: {advice(judged)}", highlight=False, soft_wrap=True)


def headline(judged: JudgedCampaign) -> str:
    """The verdict in one sentence."""
    sides, rows = judged.plan.sides, [row for row in judged.result.rows if row.primary]
    verdict = judged.result.verdict
    if len(rows) == 1:
        return f"{verdict.value}: {sides[BEFORE]} -> {sides[AFTER]} on {rows[0].scenario}: {_sentence(rows[0])}"
    counts = [
        f"{count} {kind.value}" for kind in Verdict if (count := sum(row.judgement.verdict is kind for row in rows))
    ]
    return f"{verdict.value}: {sides[BEFORE]} -> {sides[AFTER]} on {len(rows)} scenarios: {', '.join(counts)}"


def advice(judged: JudgedCampaign) -> str:
    """What to do next, in one line."""
    rows = [row for row in judged.result.rows if row.primary]
    invalid = [row for row in rows if row.judgement.verdict is Verdict.INVALID]
    if invalid:
        return f"make the sides comparable: {invalid[0].scenario}: {invalid[0].judgement.reason}"
    unknown = [row.judgement for row in rows if row.judgement.verdict is Verdict.UNKNOWN]
    more = [judgement.more_launches for judgement in unknown if judgement.more_launches is not None]
    sides = " ".join(shlex.quote(judged.plan.sides[role]) for role in (BEFORE, AFTER))
    if more:
        scenario = f" --scenario {rows[0].scenario}" if len(rows) == 1 else ""
        launches = judged.plan.launches + max(more)
        return f"settle it with more launches: gdnbench step {sides}{scenario} --launches {launches}"
    if unknown:
        return "nothing that more launches would settle: the change is too small for this machine"
    if judged.plan.change is not None:
        return f"count what the step asks of the device: gdnbench cost {sides}"
    return "nothing: every primary row is settled"


def _rows(judged: JudgedCampaign) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("scenario", "metric"):
        table.add_column(name, overflow="fold")
    for name in ("before", "after", "change", "95 % interval", "same code", "could see"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for row, control in zip(judged.result.rows, judged.controls, strict=True):
        own = row.judgement
        table.add_row(
            row.scenario,
            row.metric.tag,
            _figure(row.before, row.metric.unit),
            _figure(row.after, row.metric.unit),
            _change(own.ratio),
            _interval(own),
            _change(control.judgement.ratio),
            _change(None if own.smallest_detectable is None else 1 + own.smallest_detectable).lstrip("+"),
            f"[{_STYLES[own.verdict]}]{own.verdict.value}[/]" + ("" if row.primary else " (secondary)"),
        )
    return table


def _sentence(row: StepRow) -> str:
    own = row.judgement
    if own.verdict in (Verdict.INVALID, Verdict.UNKNOWN) or own.ratio is None:
        return own.reason
    unit = row.metric.unit
    return (
        f"{_figure(row.before, unit)} -> {_figure(row.after, unit)}, {_change(own.ratio)} "
        f"({_interval(own)} in {own.launches} launches)"
    )


def _figure(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.4g} {unit}"


def _change(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio - 1:+.1%}"


def _interval(judgement: Judgement) -> str:
    if judgement.interval is None:
        return "-"
    low, high = judgement.interval
    return f"{_change(low)} to {_change(high)}"
