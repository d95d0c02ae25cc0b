"""A judged campaign for the reader: headline first, what to do next last."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from rich.table import Table

from gdnbench.campaign.judged import JudgedCampaign
from gdnbench.campaign.plan import Plan
from gdnbench.campaign.turns import AFTER, BEFORE, LIMIT
from gdnbench.drivers.choice import choose_part
from gdnbench.report.console import STYLES, wide_console
from gdnbench.report.numbers import STEP_FIGURES, of_limit
from gdnbench.values.scenarios import NAMED
from gdnbench.values.verdicts import Caveat, Judgement, StepRow, Verdict


def print_json(judged: JudgedCampaign, journal: Path) -> None:
    """One JSON object on standard output."""
    print(json.dumps({**judged.to_json(), "journal": str(journal)}))


def print_tables(judged: JudgedCampaign, journal: Path) -> None:
    """The same for a person."""
    console = wide_console(width=120)
    console.print(headline(judged), style="bold", highlight=False, soft_wrap=True)
    console.print(_rows(judged))
    console.print(
        f"{STEP_FIGURES}; control: before against itself in the same launches; sees: the smallest change that 80 % of "
        "campaigns find",
        style="dim",
        soft_wrap=True,
    )
    for text in warnings(judged):
        console.print(f"[yellow]![/] {text}", highlight=False, soft_wrap=True)
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


def warnings(judged: JudgedCampaign) -> list[str]:
    """Every warning once, with the rows that it concerns."""
    found: dict[Caveat, list[str]] = {caveat: [] for caveat in judged.warnings}
    for row in judged.result.rows:
        for caveat in row.judgement.warnings:
            found.setdefault(caveat, []).append(row.scenario)
    return [
        f"{', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}{': ' if names else ''}"
        f"{caveat.message}: {caveat.advice}"
        for caveat, names in found.items()
    ]


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
        return f"settle it with more launches: {_command(judged.plan, judged.plan.launches + max(more))}"
    if unknown:
        return "nothing that more launches would settle: the change is too small for this machine"
    if judged.plan.change is not None:
        return f"count what the step asks of the device: gdnbench cost {sides}"
    return "nothing: every primary row is settled"


def _command(plan: Plan, launches: int) -> str:
    """The command that asks the same with so many launches."""
    words = ["gdnbench", "step", plan.sides[BEFORE], plan.sides[AFTER]]
    if set(plan.scenarios) != set(NAMED):
        words += [word for name in plan.scenarios for word in ("--scenario", name)]
    if plan.part != choose_part((plan.variants[BEFORE], plan.variants[AFTER])):
        words += ["--part", plan.part]
    if plan.device != "cpu":
        words += ["--device", plan.device]
    if LIMIT in plan.sides:
        words += ["--limit"]
    return shlex.join([*words, "--launches", str(launches)])


def _rows(judged: JudgedCampaign) -> Table:
    rows = judged.result.rows
    several = len({row.metric for row in rows}) > 1
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("scenario", overflow="fold", min_width=9)
    if several:
        table.add_column("metric", no_wrap=True)
    for name in ("before us", "after us", "change, 95 % interval", "control", "sees"):
        table.add_column(name, justify="right", no_wrap=True)
    limited = LIMIT in judged.plan.sides
    if limited:
        table.add_column("of the limit", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row, control in zip(rows, judged.controls, strict=True):
        own = row.judgement
        detectable = own.smallest_detectable
        table.add_row(
            row.scenario,
            *([row.metric.tag] if several else []),
            _figure(row.before),
            _figure(row.after),
            f"{_change(own.ratio)} ({_interval(own)})",
            _change(control.judgement.ratio),
            "-" if detectable is None else f"{detectable:.1%}",
            *([of_limit(row.of_limit)] if limited else []),
            f"[{STYLES[own.verdict]}]{own.verdict.value}[/]" + ("" if row.primary else " (secondary)"),
        )
    return table


def _sentence(row: StepRow) -> str:
    own = row.judgement
    if own.verdict in (Verdict.INVALID, Verdict.UNKNOWN) or own.ratio is None:
        return own.reason
    return (
        f"{_figure(row.before)} -> {_figure(row.after)} {row.metric.unit}, {_change(own.ratio)} "
        f"(95 % interval {_interval(own)}; {own.launches} launches)"
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _change(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio - 1:+.1%}"


def _interval(judgement: Judgement) -> str:
    if judgement.interval is None:
        return "-"
    low, high = judgement.interval
    return f"{_change(low)}, {_change(high)}"
