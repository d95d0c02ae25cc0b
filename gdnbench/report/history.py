"""A history for the reader: its runs, one run, what was imported, what is damaged. Tables are made from DataFrames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gdnbench.history.exporting import records
from gdnbench.history.pointing import one_line
from gdnbench.history.querying import Tables
from gdnbench.history.reading import KeptRun, Listing, Skipped
from gdnbench.report.console import STYLES, wide_console
from gdnbench.report.numbers import figure, share
from gdnbench.values.verdicts import Verdict

ROWS = 'SELECT * FROM points ORDER BY (verdict IS NULL), NOT "primary", metric, load, variant'


def tell_skipped(listing: Listing, more: Iterable[Skipped] = ()) -> None:
    """What a reader of anything else must know, on standard error."""
    console = Console(stderr=True)
    for skipped in (*listing.skipped, *more):
        _say(console, f"! skipped {skipped}", "yellow")
    for caveat in listing.warnings:
        _say(console, f"! {caveat.message}: {caveat.advice}", "yellow")


def runs_json(runs: Sequence[KeptRun], listing: Listing) -> str:
    """The newest first."""
    return json.dumps({"runs": [run_json(run) for run in reversed(runs)], **_rest(listing, ())})


def run_json(run: KeptRun) -> dict[str, Any]:
    """A run without its points."""
    return {
        "run": str(run.name),
        "recorded": run.recorded.isoformat(),
        "position": run.position.isoformat(),
        "points": run.tables["points.parquet"].rows,
        "verdict": None if run.verdict is None else run.verdict.value,
        **run.identity.to_json(),
        "warnings": [caveat.to_json() for caveat in run.warnings],
    }


def print_runs(runs: Sequence[KeptRun], total: int) -> None:
    """A row for each run, the newest first."""
    console = wide_console(180)
    table = _table("run", "started", "what", "change", "variants", "device", "points", "verdict")
    for run in reversed(runs):
        one = run.identity
        table.add_row(
            str(run.name),
            one.started[:16].replace("T", " "),
            Text(one.kind if not one.imported else f"{one.kind}, from {one.imported}"),
            "" if one.change is None else str(one.change),
            Text(" -> ".join(dict.fromkeys(list(one.variants.values())[:2]))),
            Text(" ".join(part for part in (one.machine.device, one.machine.hardware) if part)),
            f"{run.tables['points.parquet'].rows:,}",
            _verdict(run.verdict),
        )
    console.print(table)
    _say(console, f"{len(runs):,} of {total:,} runs; times are UTC", "dim")


def show_json(run: KeptRun, tables: Tables) -> str:
    """A run with its points and samples."""
    found = {"points": records(tables.query(ROWS)), "samples": records(tables.query("SELECT * FROM samples"))}
    return json.dumps({**run_json(run), "points": found["points"], "samples": found["samples"]})


def print_run(run: KeptRun, tables: Tables) -> None:
    """What tells the run from others, then its points, comparisons first."""
    console, identity, machine = wide_console(180), run.identity, run.identity.machine
    _say(console, str(run.name), "bold")
    source = identity.source
    facts = {
        "what": identity.kind + (f", imported from {identity.imported}" if identity.imported else ""),
        "started": f"{identity.started}, kept {run.recorded.isoformat()}",
        "change": identity.change,
        "variants": ", ".join(f"{role} {name}" for role, name in identity.variants.items()),
        "loads": ", ".join(identity.loads),
        "model": identity.model,
        "machine": " ".join(str(one) for one in (machine.device, machine.hardware, machine.host) if one),
        "libraries": ", ".join(f"{name} {version}" for name, version in machine.libraries.items()),
        "commit": source.commit + (" with changed files" if source.changed else ""),
        "verdict": None if run.verdict is None else run.verdict.value,
    }
    for name, value in facts.items():
        if value not in (None, ""):
            _say(console, f"{name:<10}{value}")
    for caveat in run.warnings:
        _say(console, f"! {caveat.message} ({caveat.advice})", "yellow")
    table = _table(
        "variant", "against", "part", "load", "metric", "value", "95 % interval", "launches", "sees", "verdict"
    )
    for row in records(tables.query(ROWS)):
        ends = "" if row["ci_low"] is None else f"{_value(row, 'ci_low')} to {_value(row, 'ci_high')}"
        verdict = Text("invalid", STYLES[Verdict.INVALID]) if row["invalid"] else _verdict(row["verdict"])
        table.add_row(
            *(Text(one_line(row[name])) for name in ("variant", "against", "part", "load")),
            Text(one_line(f"{row['statistic']} {row['metric']}")),
            Text(f"{_value(row, 'value')} {one_line(row['unit'])}"),
            ends,
            str(row["launches"]),
            "" if row["smallest_detectable"] is None else share(row["smallest_detectable"]),
            verdict,
        )
    console.print(table)


def tell_imported(found: Sequence[tuple[Path, str, bool, str]], as_json: bool) -> None:
    """What became of each file: its path, the run, whether that is new, and why there is none."""
    if as_json:
        rows = [
            {"path": str(path), "run": name or None, "new": new, "reason": reason} for path, name, new, reason in found
        ]
        print(json.dumps({"files": rows}))
        return
    console = Console()
    for path, name, new, reason in found:
        became = f"left out: {reason}" if reason else name if new else f"{name}, which was there already"
        _say(console, f"{path}: {became}")


def tell_verified(listing: Listing, unsound: Sequence[Skipped], as_json: bool) -> None:
    """Every directory that is not sound, and how many are."""
    sound = len(listing.runs) - len({one.name for one in unsound} & {str(run.name) for run in listing.runs})
    if as_json:
        print(json.dumps({"sound": sound, **_rest(listing, unsound)}))
        return
    console = Console()
    for one in unsound:
        _say(console, f"{'damaged' if one.damaged else 'left out'}: {one}", "red" if one.damaged else "yellow")
    for caveat in listing.warnings:
        _say(console, f"! {caveat.message}: {caveat.advice}", "yellow")
    _say(console, f"sound runs: {sound:,}, damaged: {sum(one.damaged for one in unsound):,}")


def _rest(listing: Listing, unsound: Sequence[Skipped]) -> dict[str, Any]:
    skipped = unsound or listing.skipped
    return {
        "skipped": [{"run": one.name, "reason": one.reason, "damaged": one.damaged} for one in skipped],
        "warnings": [caveat.to_json() for caveat in listing.warnings],
    }


def _verdict(verdict: Verdict | str | None) -> Text:
    known = {one.value: style for one, style in STYLES.items()}
    return Text("" if verdict is None else one_line(str(verdict)), known.get(str(verdict), ""))


def _value(row: dict[str, Any], name: str) -> str:
    """A count as it is, anything else with the decimals that it can carry."""
    value = row[name]
    whole = row["assumption"] == "exact" and value is not None and value == int(value)
    if whole:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value is not None and 0 < abs(value) < 0.001 else figure(value)


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        right = name in ("value", "95 % interval", "launches", "sees", "points", "change")
        table.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=name == "run")
    return table


def _say(console: Console, text: str, style: str | None = None) -> None:
    console.print(Text(one_line(text)), style=style, soft_wrap=True)
