"""Evidence as Markdown that GitHub renders well. Whatever came from outside is made inert."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from gdnbench.report.evidence import Evidence
from gdnbench.report.layout import PLOTS, filters, parts
from gdnbench.values.text import printable

NO_WIDTH = "&#8203;"
"""A space of no width: to be read it is not there, to GitHub it parts what would be a mention or a reference."""

_MARKUP = re.compile(r"[][*~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[-+=#](?=[-+=# ]|$)")
_NUMBERED = re.compile(r"^([0-9]{1,9})([.)])(?= |$)")
_ACTED_ON = re.compile(
    r"(?<=@)(?=\w)|(?<=#)(?<!&#)(?=[0-9])|(?<=\bGH-)(?=[0-9])|(?<=:)(?=//)|(?<=\bwww)(?=\.)", re.ASCII | re.IGNORECASE
)


def render(evidence: Evidence, plots: Mapping[str, str]) -> str:
    """The report.

    Args:
        plots: where each picture lies, relative to the report, by place; those that are missing are left out.
    """
    environment = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, autoescape=False)
    environment.filters |= {**filters(), "cell": cell, "code": code}
    template = environment.from_string((files("gdnbench.report") / "templates" / "evidence.md.j2").read_text("utf-8"))
    return template.render(**parts(evidence), **{place: plots.get(place) for place in PLOTS})


def cell(value: Any) -> str:
    """Text that is safe anywhere in Markdown: no markup, no HTML, no line breaks, no control characters.

    Nor does GitHub act on it: nobody is mentioned, no issue is referred to or closed, and nothing becomes a link.
    """
    text = printable(str(value)).strip()
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\\", "&#92;"), ("|", "\\|"), ("`", "'")):
        text = text.replace(char, entity)
    text = _NUMBERED.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", text))
    return _ACTED_ON.sub(NO_WIDTH, text)


def code(value: Any) -> str:
    """Text for a span of code, in which nothing is markup and nobody is mentioned."""
    return printable(str(value)).replace("`", "'")
