"""Evidence as Markdown that GitHub renders well. Whatever came from outside is made inert."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from gdnbench.report import accuracy_words
from gdnbench.report import serving_words as words
from gdnbench.report.costs import count_change, pairs
from gdnbench.report.evidence import Evidence, headline, next_steps
from gdnbench.report.numbers import change, figure, interval, share
from gdnbench.values.metrics import COST_METRICS
from gdnbench.values.serving import ServeResult, ServeRow
from gdnbench.values.verdicts import StepRow


def render(evidence: Evidence, plot: str | None, server_plot: str | None = None) -> str:
    """The report.

    Args:
        plot, server_plot: relative paths of the plots of step time and of the live server, None without them.
    """
    environment = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, autoescape=False)
    environment.filters |= {
        "cell": cell,
        "us": _us,
        "change": change,
        "interval": interval,
        "share": share,
        "figure": figure,
        "pairs": pairs,
        "counts": lambda sides: count_change(*sides),
    }
    template = environment.from_string((files("gdnbench.report") / "templates" / "evidence.md.j2").read_text("utf-8"))
    return template.render(
        change=evidence.change,
        headline=headline(evidence),
        plot=plot,
        device=evidence.device,
        equality=evidence.equality,
        costs=evidence.costs,
        tags=[metric.tag for metric in COST_METRICS],
        step=evidence.step,
        step_rows=[] if evidence.step is None else sorted(evidence.step.rows, key=_primary_first),
        server=None if evidence.server is None else _server(evidence.server),
        server_plot=server_plot,
        accuracy=evidence.accuracy,
        points=accuracy_words,
        claims=evidence.claims,
        elsewhere=evidence.elsewhere,
        warnings=evidence.warnings,
        next=next_steps(evidence),
        environment=evidence.environment,
    )


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


def cell(value: Any) -> str:
    """Text that is safe inside a Markdown table: no markup, no HTML, no line breaks, no control characters."""
    text = "".join(char if char.isprintable() else " " for char in str(value))
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("`", "'")):
        text = text.replace(char, entity)
    return text


def _primary_first(row: StepRow) -> bool:
    return not row.primary


def _us(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
