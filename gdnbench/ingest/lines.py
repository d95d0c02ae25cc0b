"""Pasted text as plain lines: without colours, quotes, bullets and invisible characters, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_CHARACTERS = 2_000
"""Of a line: a longer one is no line of a report."""

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles and links
    r"|\x1b[@-Z\\-_]"
    r"|\[[0-9]{1,3}(?:;[0-9]{1,3})*m"  # colours whose first character was lost on the way
)
_ENDS = re.compile(r"\r\n|\n|\r")
_QUOTES = re.compile(r"^\s*(?:>\s?)+")
_BAR = re.compile(r"^\s*\|\s?(?=[^|]+$)")
"""A bar before a line that has no other: a border, no cell."""
_BULLET = re.compile(r"^\s*(?:[-*+•‣◦]\s+|[0-9]{1,3}[.)]\s+)(?=\S)")
_BARS = str.maketrans({"│": "|", "┃": "|", "║": "|"})


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a text.

    Attributes:
        number: from 1.
        text: what it says; without the marks around it.
        raw: the same with indentation and marks, without colours: for columns.
        ended: whether a line break follows; without one it may be cut off.
        bold: whether something in it was bold.
    """

    number: int
    text: str
    raw: str
    ended: bool
    bold: bool = False

    @property
    def padded(self) -> bool:
        """Whether blanks follow: then nothing was cut off."""
        return self.raw.endswith((" ", "\t"))


def lines_of(text: str) -> tuple[list[Line], list[int]]:
    """All lines, and the numbers of those that were left out because they are too long."""
    parts = _ENDS.split(text)
    found, too_long = [], []
    for place, part in enumerate(parts):
        if len(part) > MOST_CHARACTERS:
            too_long.append(place + 1)
            continue
        found.append(_line(place + 1, part, ended=place + 1 < len(parts)))
    return found, too_long


def _line(number: int, part: str, ended: bool) -> Line:
    raw = plain(part).translate(_BARS)
    text = _BAR.sub("", _QUOTES.sub("", raw))
    bare = _BULLET.sub("", text)
    plain_text = bare.replace("**", "")
    return Line(number, plain_text.strip(" \t"), raw, ended, plain_text != bare)


def plain(text: str) -> str:
    """Text without escape sequences, control and invisible characters; tabs and thin spaces stay."""
    return "".join(char for char in _ESCAPES.sub("", text) if char.isprintable() or char in "\t\u00a0\u202f\u2009")


def short(text: str, width: int = 60) -> str:
    """One line of at most so many characters, to be shown."""
    line = " ".join(plain(text).split())
    return line if len(line) <= width else f"{line[: width - 3]}..."
