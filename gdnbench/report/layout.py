"""What the Markdown and the HTML form of an evidence report both lay out: one model, two templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gdnbench.report import accuracy_words
from gdnbench.report import serving_words as words
from gdnbench.report.costs import count_change, pairs
from gdnbench.report.evidence import Evidence, headline, next_steps
from gdnbench.report.numbers import STEP_FIGURES, change, figure, interval, of_limit, share
from gdnbench.report.summary import levels
from gdnbench.values.metrics import COST_METRICS
from gdnbench.values.serving import ServeResult, ServeRow
from gdnbench.values.verdicts import StepResult, StepRow

PLOTS = {
    "plot": "step-time.png",
    "cost_plot": "exact-costs.png",
    "server_plot": "live-server.png",
    "latency_plot": "latencies.png",
    "flips_plot": "answers.png",
}
"""The places for pictures, by the names that templates have for them, and their files."""


def filters() -> dict[str, Callable[..., Any]]:
    """What templates format figures with."""
    return {
        "us": _us,
        "change": change,
        "interval": interval,
        "share": share,
        "figure": figure,
        "pairs": pairs,
        "of_limit": of_limit,
        "counts": lambda sides: count_change(*sides),
    }


def parts(evidence: Evidence) -> dict[str, Any]:
    """Everything that a template lays out, pictures aside."""
    return {
        "change": evidence.change,
        "headline": headline(evidence),
        "verdict": evidence.verdict.value,
        "levels": levels(evidence),
        "device": evidence.device,
        "equality": evidence.equality,
        "costs": evidence.costs,
        "tags": [metric.tag for metric in COST_METRICS],
        "step": evidence.step,
        "limited": evidence.step is not None and any(row.of_limit for row in evidence.step.rows),
        "limit_counts": evidence.limit_counts,
        **_step(evidence.step),
        "server": None if evidence.server is None else _server(evidence.server),
        "accuracy": evidence.accuracy,
        "points": accuracy_words,
        "claims": evidence.claims,
        "warnings": evidence.warnings,
        "next": next_steps(evidence),
        "environment": evidence.environment,
    }


def _step(result: StepResult | None) -> dict[str, Any]:
    """What the section about step time lays out: its lines, the control last, and the notes to them."""
    notes = words.Footnotes()
    rows = [] if result is None else sorted(result.rows, key=_primary_first)
    control = [result.control] if result is not None and result.control is not None else []
    lines = [
        {"row": row, "marks": notes.marks([words.caveat(one) for one in row.judgement.warnings] + _does_less(row))}
        for row in [*rows, *control]
    ]
    return {"step_lines": lines, "step_notes": notes.numbers, "figures": STEP_FIGURES.capitalize()}


def _does_less(row: StepRow) -> list[str]:
    """Why a side may take less than the limit, which makes the metadata of the newest release."""
    less = row.of_limit is not None and round(min(row.of_limit), 1) < 1
    return ["a side below 1 x does less than the limit, which makes the metadata of vLLM 0.32.0"] if less else []


def _server(result: ServeResult) -> dict[str, Any]:
    """What the section about the live server lays out."""
    notes = words.Footnotes()

    def line(row: ServeRow) -> dict[str, Any]:
        marks = notes.marks(words.row_notes(row))
        return {"row": row, "name": words.name(row), "control": result.control(row), "marks": marks}

    primary = [line(row) for row in result.rows if row.primary]
    others = [line(row) for row in result.rows if not row.primary]
    notes.marks([words.caveat(one) for one in result.warnings])
    return {
        "result": result,
        "setting": words.setting(result.identity),
        "flags": " ".join(result.identity.flags),
        "load": words.load(result.identity),
        "method": words.METHODS[result.identity.method],
        "control": words.control(result),
        "primary": primary,
        "others": others,
        "notes": notes.numbers,
        "coverage": words.coverage(result),
        "kinds": words.kinds(result.coverage),
        "sees": words.sees(result),
        "split": words.SPLIT,
        "change": words.CHANGE,
        "definitions": words.DEFINITIONS,
    }


def _primary_first(row: StepRow) -> bool:
    return not row.primary


def _us(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
