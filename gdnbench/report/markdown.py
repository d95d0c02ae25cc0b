"""Evidence as Markdown that GitHub renders well. Whatever came from outside is made inert."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from gdnbench.report.evidence import Evidence
from gdnbench.report.layout import PLOTS, filters, parts
from gdnbench.values.text import printable


def render(evidence: Evidence, plots: Mapping[str, str]) -> str:
    """The report.

    Args:
        plots: where each picture lies, relative to the report, by place; those that are missing are left out.
    """
    environment = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, autoescape=False)
    environment.filters |= {**filters(), "cell": cell}
    template = environment.from_string((files("gdnbench.report") / "templates" / "evidence.md.j2").read_text("utf-8"))
    return template.render(**parts(evidence), **{place: plots.get(place) for place in PLOTS})


def cell(value: Any) -> str:
    """Text that is safe inside a Markdown table: no markup, no HTML, no line breaks, no control characters."""
    text = printable(str(value))
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("`", "'")):
        text = text.replace(char, entity)
    return text
