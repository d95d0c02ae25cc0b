"""Evidence as one HTML page that needs nothing else: pictures inside, no script, no request to any network."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from gdnbench.report.evidence import Evidence
from gdnbench.report.layout import PLOTS, filters, parts


def page(evidence: Evidence, plots: Mapping[str, Path]) -> str:
    """The report; whatever came from outside is escaped.

    Args:
        plots: files of the pictures by place; those that are missing are left out.
    """
    environment = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, autoescape=True)
    environment.filters |= filters()
    template = environment.from_string((files("gdnbench.report") / "templates" / "evidence.html.j2").read_text("utf-8"))
    pictures = {place: _inside(plots[place]) if place in plots else None for place in PLOTS}
    return template.render(**parts(evidence), **pictures)


def _inside(picture: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(picture.read_bytes()).decode()
