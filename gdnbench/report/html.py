"""Evidence as one HTML page that needs nothing else: pictures inside, no script, no request to any network."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from gdnbench.report.evidence import Evidence
from gdnbench.report.layout import PLOTS, filters, parts
from gdnbench.values.text import printable


def page(evidence: Evidence, plots: Mapping[str, Path]) -> str:
    """The report; whatever came from outside is escaped.

    Args:
        plots: files of the pictures by place; those that are missing are left out.
    """
    environment = Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, autoescape=True, finalize=_shown
    )
    environment.filters |= {**filters(), "with_code": _with_code}
    template = environment.from_string((files("gdnbench.report") / "templates" / "evidence.html.j2").read_text("utf-8"))
    pictures = {place: _inside(plots[place]) if place in plots else None for place in PLOTS}
    return template.render(**parts(evidence), **pictures)


def _shown(value: Any) -> Any:
    """Without what cannot be printed: signs that turn the direction of writing would let text pass for other text."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _with_code(text: str) -> Markup:
    """Text whose commands stand between backticks."""
    parts = [escape(printable(part)) for part in text.split("`")]
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def _inside(picture: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(picture.read_bytes()).decode()
