"""Figures of github-action-benchmark: an array of named values, or the history that its page loads.

Source: benchmark-action/github-action-benchmark. Custom tools write `[{"name", "unit", "value", "range", "extra"}]`;
the history is `{"entries": {SUITE: [{"commit", "date", "tool", "benches"}]}}`. Which way is better stands in the
history, as its `tool`, and nowhere in the array; there a unit of time or of a rate may say it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gdnbench.ingest.lines import short
from gdnbench.ingest.loaded import as_float, is_number
from gdnbench.values.errors import UserError
from gdnbench.values.ingested import Record, Side
from gdnbench.values.metrics import Direction
from gdnbench.values.verdicts import Caveat

_PLAIN = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?")
_RATE = re.compile(r"(?:/|per )\s*(?:s|sec|second|min)\b|^(?:fps|tps|rps|qps|[kmg]?b/s|ops)$", re.IGNORECASE)
_TIME = re.compile(
    r"^(?:[num]?s|µs|μs|sec|seconds?|ms|milliseconds?|(?:[num]?s|µs)/\w+|[kmg]?i?b|bytes)$", re.IGNORECASE
)


def is_array(document: Any) -> bool:
    """Whether a JSON document is an array of named values."""
    if not isinstance(document, list) or not document:
        return False
    return all(isinstance(one, dict) and "name" in one and "value" in one for one in document)


def is_history(document: Any) -> bool:
    """Whether a JSON document is the history of a page."""
    if not isinstance(document, dict) or not isinstance(document.get("entries"), dict):
        return False
    return all(isinstance(runs, list) for runs in document["entries"].values())


def read_array(document: list[Any], source: str, labels: tuple[str, ...], group: str = "benchmarks") -> Record:
    """The record of one array.

    Raises:
        UserError: one name stands there twice, with different values.
    """
    metrics: dict[str, float] = {}
    units: dict[str, str] = {}
    unread: list[str] = []
    for one in document:
        name, value = short(str(one["name"]), 200), one["value"]
        if isinstance(value, str) and _PLAIN.fullmatch(value.strip()):
            value = float(value)
        if not is_number(value):
            unread.append(f"{name}: {short(str(value), 30)}")
        elif name in metrics and metrics[name] != as_float(value):
            raise UserError(f"{source}: {name} stands there twice, as {metrics[name]:g} and {as_float(value):g}")
        else:
            metrics[name] = as_float(value)
            units[name] = short(str(one.get("unit", "")), 30)
    warnings = (
        [Caveat("unread", f"not read: {'; '.join(unread[:5])}", "these should be plain numbers")] if unread else []
    )
    return Record(
        source=source,
        kind="benchmark",
        form="values of github-action-benchmark",
        metrics=metrics,
        labels=labels,
        group=group,
        units=units,
        warnings=tuple(warnings),
    )


def read_history(document: Mapping[str, Any], source: str, labels: tuple[str, ...]) -> Iterator[Record]:
    """The last two runs of each suite: the run before is before."""
    for suite, runs in document["entries"].items():
        last = [run for run in runs if isinstance(run, dict) and is_array(run.get("benches"))][-2:]
        sides: tuple[Side | None, ...] = ("before", "after") if len(last) == 2 else (None,) * len(last)
        for run, side in zip(last, sides, strict=True):
            commit = run.get("commit")
            name = short(str(commit.get("id", "") if isinstance(commit, dict) else commit or ""), 12)
            own = read_array(run["benches"], f"{source}, {short(suite, 60)}, {name}", labels, short(suite, 60))
            facts = {"tool": short(str(run.get("tool", "")), 40), "commit": name}
            why = "" if side is None else "the last run of the history is after, the one before it before"
            yield Record(
                source=own.source,
                kind=own.kind,
                form="a history of github-action-benchmark",
                metrics=own.metrics,
                labels=labels,
                group=own.group,
                facts=facts,
                units=own.units,
                warnings=own.warnings,
                side=side,
                why=why,
            )


def direction(unit: str, tool: str) -> Direction | None:
    """Which way is better; None where nothing says so."""
    if tool == "customBiggerIsBetter":
        return "higher"
    if tool == "customSmallerIsBetter":
        return "lower"
    if _RATE.search(unit):
        return "higher"
    return "lower" if _TIME.search(unit) else None
