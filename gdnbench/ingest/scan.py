"""Goes through a text once and cuts it into pieces: blocks, tables, JSON in fences, figures with an arrow between."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gdnbench.ingest.context import Context, joined, label_in
from gdnbench.ingest.lines import Line
from gdnbench.ingest.names import STRONG, name_of

PieceKind = Literal["block", "table", "json", "arrows"]
End = Literal["closed", "cut", "open"]
"""Of a block: by its last line of signs; by what cannot stand inside one; or by something that may follow one."""

_HEADER = re.compile(r"=*\s*serving benchmark result\s*=*", re.IGNORECASE)
_CLOSING = re.compile(r"={10,}")
_SECTION = re.compile(r"-{3,}\s*([^-].*?)\s*-{3,}")
_PAIR = re.compile(
    r"(?P<label>[^:=|;\t]{2,80}?)(?:\s*[:=|;\t]\s*|\s{2,}|\s*,\s*(?=[-+\u2212]?[0-9])|\s+(?=[-+\u2212]?[0-9]\S*$))(?P<value>\S.*)"
)
_ARROW = re.compile(r"(?P<label>[^:|]{2,80}):\s*(?P<values>[^:|]{1,80}?(?:->|→|=>)[^:|]{1,80})")
_FENCE = re.compile(r"(?:```|~~~)")
_BORDER = re.compile(r"[|+┏┓┗┛┡┩└┘├┤┬┴┼╇━─═╞╡╪╘╧╛╒╤╕\s-]+")
_JUNK_IN_A_BLOCK = 30
"""Lines in a block that are no figures: progress bars, logs. More of them are the rest of a file."""


@dataclass
class Piece:
    """A part of a text that holds figures.

    Attributes:
        labels: what names it, the nearest first.
        facts: what the commands before it say.
        headed: of a block: whether its first line was there.
        end: of a block: how it ends.
    """

    kind: PieceKind
    lines: list[Line]
    labels: tuple[str, ...]
    facts: dict[str, str]
    headed: bool = False
    end: End = "open"

    @property
    def number(self) -> int:
        return self.lines[0].number


def label_and_value(line: Line) -> tuple[str, str] | None:
    """The two halves of a line such as `Mean TTFT (ms):      137.76`; None where it has no halves."""
    if _SECTION.fullmatch(line.text) or _CLOSING.fullmatch(line.text):
        return None
    text = line.text
    if text.startswith("|"):
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        text = f"{cells[0]}: {cells[1]}" if len(cells) == 2 else ""
    match = _PAIR.fullmatch(text)
    return (match["label"].strip(), match["value"].strip()) if match else None


def section_of(line: Line) -> str | None:
    """The title of a line such as `-----Time to First Token-----`."""
    match = _SECTION.fullmatch(line.text)
    return match[1] if match else None


def pieces(lines: list[Line]) -> Iterator[Piece]:
    """All pieces of a text, in their order."""
    context = Context()
    found = joined(lines)
    at = 0
    while at < len(found):
        size, piece = _next(found, at, context)
        if piece is not None:
            yield piece
        at += size


def _next(lines: list[Line], at: int, context: Context) -> tuple[int, Piece | None]:
    """How many lines the next piece takes, and the piece; one line and none where none begins here."""
    line = lines[at]
    if _HEADER.fullmatch(line.text):
        return _block(lines, at, context, headed=True)
    if _FENCE.match(line.text) and (found := _fenced_json(lines, at, context)):
        return found
    if _is_row(line):
        end = next((n for n in range(at, len(lines)) if not (_is_row(lines[n]) or _is_border(lines[n]))), len(lines))
        rows = [one for one in lines[at:end] if not _is_border(one)]
        if len(rows) > 1 and not _is_block_of_cells(rows):
            return end - at, Piece("table", rows, context.labels(), context.facts())
    if _begins(line):
        return _block(lines, at, context, headed=False)
    if _ARROW.fullmatch(line.text):
        return 1, Piece("arrows", [line], context.labels(), context.facts())
    context.take(line, label_in(line))
    return 1, None


def _is_row(line: Line) -> bool:
    return line.text.count("|") >= 2


def _is_border(line: Line) -> bool:
    return bool(line.text) and len(line.text) > 2 and _BORDER.fullmatch(line.text) is not None


def _is_block_of_cells(rows: list[Line]) -> bool:
    """Whether a block was pasted as a table of two columns, its labels in the first row already."""
    return label_and_value(rows[0]) is not None and _begins(rows[0])


def _begins(line: Line) -> bool:
    """Whether a block without its first line begins here: a label that nothing but a benchmark prints."""
    pair = label_and_value(line)
    if pair is None or not pair[1][:1].isdigit() or _ARROW.fullmatch(line.text):
        return False
    return name_of(pair[0]) is not None and STRONG.search(pair[0].lower()) is not None


def _block(lines: list[Line], at: int, context: Context, headed: bool) -> tuple[int, Piece]:
    found = [lines[at]]
    end: End = "open"
    junk, taken = 0, at + 1
    while taken < len(lines):
        line = lines[taken]
        if _HEADER.fullmatch(line.text):
            end = "cut"
            break
        if _CLOSING.fullmatch(line.text):
            taken, end = taken + 1, "closed"
            break
        pair = label_and_value(line)
        known = pair is not None and name_of(pair[0]) is not None and not _names_a_load(*pair)
        if not known and _ends(line, headed, junk):
            break
        junk = 0 if known else junk + bool(line.text)
        found.append(line)
        taken += 1
    if end == "open" and taken == len(lines) and found[-1].text and not found[-1].ended:
        end = "cut"
    return taken - at, Piece("block", found, context.labels(), context.facts_of_block(), headed, end)


def _names_a_load(label: str, value: str) -> bool:
    """Whether `concurrency: 16` is a label of what follows; the figure of that name, a mean, has decimals."""
    return label.lower() == "concurrency" and value.isdigit()


def _ends(line: Line, headed: bool, junk: int) -> bool:
    """Whether an unknown line cannot stand inside a block."""
    if _FENCE.match(line.text) or line.text.startswith("#") or label_in(line) is not None:
        return True
    if headed:
        return junk >= _JUNK_IN_A_BLOCK
    return bool(line.text) and section_of(line) is None and label_and_value(line) is None


def _fenced_json(lines: list[Line], at: int, context: Context) -> tuple[int, Piece] | None:
    end = next((n for n in range(at + 1, len(lines)) if _FENCE.match(lines[n].text)), None)
    if end is None or end < at + 2 or lines[at + 1].text[:1] not in ("{", "["):
        return None
    inside = lines[at + 1 : end]
    try:
        json.loads("\n".join(line.text for line in inside))
    except (ValueError, RecursionError):
        return None
    return end - at + 1, Piece("json", inside, context.labels(), context.facts())
