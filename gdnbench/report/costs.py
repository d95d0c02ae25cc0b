"""Exact costs for the reader: one JSON object, or tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rich.table import Table

from gdnbench.campaign.costs import Counted
from gdnbench.report.console import STYLES, wide_console
from gdnbench.values.metrics import COST_METRICS
from gdnbench.values.verdicts import CostRow, overall


def costs_json(counted: Mapping[str, Counted], operations: bool) -> str:
    """The same bytes for the same counts."""
    rows, scenarios = [], []
    for part, one in counted.items():
        result = one.result.to_json()
        for row in result["rows"]:
            if not operations:
                row.pop("operations", None)
            rows.append({"part": part, **row})
        scenarios += [{"part": part, **row} for row in result["scenarios"]]
    verdict = overall(judgement for one in counted.values() for judgement in one.result.judgements.values())
    return json.dumps({"rows": rows, "verdict": verdict.value, "scenarios": scenarios})


def print_costs(counted: Mapping[str, Counted], operations: bool) -> None:
    """A table for each part, its verdicts by scenario below."""
    console = wide_console(width=140)
    for part, one in counted.items():
        verdict = one.result.verdict
        console.print(f"[bold]{part}: [{STYLES[verdict]}]{verdict.value}[/]", highlight=False)
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("scenario", overflow="fold")
        for metric in COST_METRICS:
            table.add_column(metric.tag, justify="right", no_wrap=True)
        for before, after in pairs(one.result.rows):
            counts = [count_change(before.counts[metric.tag], after.counts[metric.tag]) for metric in COST_METRICS]
            table.add_row(before.scenario, *counts)
        console.print(table)
        for scenario, judgement in one.result.judgements.items():
            console.print(f"{scenario}: {judgement.verdict.value}: {judgement.reason}", highlight=False, soft_wrap=True)
            for caveat in judgement.warnings:
                console.print(f"  [yellow]![/] {caveat.message}: {caveat.advice}", highlight=False, soft_wrap=True)
        for scenario, reason in one.refused.items():
            console.print(f"{scenario}: left out: {reason}", style="dim", highlight=False, soft_wrap=True)
        if operations:
            for row in one.result.rows:
                console.print(f"\n{row.variant} on {row.scenario}:", style="bold", highlight=False, soft_wrap=True)
                for operation in row.operations or ():
                    console.print(f"  {operation}", highlight=False, markup=False, soft_wrap=True)


def pairs(rows: Sequence[CostRow]) -> Iterator[tuple[CostRow, CostRow]]:
    """Rows come in pairs, before and after of each scenario."""
    return zip(rows[::2], rows[1::2], strict=True)


def count_change(before: int, after: int) -> str:
    """A count of both sides, once if it is the same."""
    return str(before) if before == after else f"{before} -> {after}"


def without_operations(counted: Counted) -> Counted:
    """The same without lists of operations, for reports that show counts alone."""
    rows = tuple(replace(row, operations=None) for row in counted.result.rows)
    return Counted(replace(counted.result, rows=rows), counted.refused)
