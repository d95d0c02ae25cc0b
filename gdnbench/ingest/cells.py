"""Tables as rows of cells, and cells as figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gdnbench.ingest.lines import short
from gdnbench.ingest.names import FIGURES, Name, name_of
from gdnbench.ingest.numbers import NUMBER, Convention, number
from gdnbench.ingest.scan import Piece
from gdnbench.values.errors import UserError

MOST_CELLS = 20_000

_SEPARATOR = re.compile(r":?-{1,}:?|-*")
_SPLIT = re.compile(r"(?<!\\)\|")
_TAGS = re.compile(r"</?[a-zA-Z][^>]{0,80}>")
_CELL = re.compile(
    rf"(?P<number>{NUMBER})\s*(?P<unit>%|ms|s|us|µs|tok/s|tokens/s|req/s)?"
    rf"(?:\s*(?:±|\+-|\+/-)\s*(?P<spread>{NUMBER}))?(?:\s*\([^()]{{0,40}}\))?"
)
_UNIT_ALONE = {"tok/s": "output_throughput", "tokens/s": "output_throughput", "tps": "output_throughput"}
_LOOSE = re.compile(
    r"(?:throughput|tokens per second)(?:\s*[(\[]\s*(?:tok/s|tokens/s|tps)\s*[)\]])?|tok/s|tokens/s|tps"
)
_ANSWERS = re.compile(r"\b(gsm8k|exact[_ ]match|accuracy|acc(?:_norm)?)\b", re.IGNORECASE)

ASSUMED = "output tokens are meant by it"


@dataclass(frozen=True, slots=True)
class Meant:
    """What a table's label means.

    Attributes:
        name: of a figure of a server; None where it speaks of answers.
        task: of answers: by its label; empty for a server.
        assumed: what is taken for granted; empty where the label says all.
    """

    name: Name | None
    task: str = ""
    assumed: str = ""

    @property
    def whole(self) -> bool:
        return self.name is not None and self.name.whole


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell's text as a figure, not yet read: that takes the convention of the table."""

    text: str
    digits: str
    unit: str
    spread: str

    def value(self, meant: Meant, sign: Convention | None) -> float | None:
        """In the base unit; None where it cannot be read without guessing."""
        value = number(self.digits, meant.whole, sign)
        if value is None:
            return None
        if meant.name is None:
            return value / 100 if self.unit == "%" else value if not self.unit else None
        scale = meant.name.scale(self.unit)
        return None if scale is None else value * scale


def rows_of(piece: Piece) -> list[list[str]]:
    """The cells of a table without the line under its head; all rows as long as the head.

    Raises:
        UserError: it is too large.
    """
    found = []
    for line in piece.lines:
        text = line.text.strip().removeprefix("|")
        text = text[:-1] if text.endswith("|") and not text.endswith("\\|") else text
        cells = [bare(cell) for cell in _SPLIT.split(text)]
        if not all(_SEPARATOR.fullmatch(cell.replace(" ", "")) for cell in cells):
            found.append(cells)
    if sum(map(len, found)) > MOST_CELLS:
        raise UserError(f"line {piece.number}: a table of more than {MOST_CELLS:,} cells is no comparison")
    width = len(found[0]) if found else 0
    return [[*row, *[""] * (width - len(row))][:width] for row in found]


def bare(text: str) -> str:
    """A cell without emphasis, code marks and tags."""
    return short(re.sub(r"[*`]+", "", _TAGS.sub("", text.replace("\\|", "|"))), 200).strip()


def cell_of(text: str) -> Cell | None:
    """A cell as a figure; None where it is none."""
    match = _CELL.fullmatch(text.strip().lstrip("~≈ "))
    return Cell(text, match["number"], match["unit"] or "", match["spread"] or "") if match else None


def meaning(text: str) -> Meant | None:
    """What a label in a table means; None where that is not known."""
    text = text.strip(" :-\u2013\u2014")
    if name := name_of(text):
        return Meant(name)
    plain = " ".join(text.lower().split())
    if _LOOSE.fullmatch(plain) or _UNIT_ALONE.get(plain.strip("()[] ")):
        key = next(key for key in FIGURES if key == "output_throughput")
        return Meant(Name(key, False, "tok/s"), assumed=f"{short(text, 40)}: {ASSUMED}")
    if found := _ANSWERS.search(text):
        return Meant(None, task=found[1].lower().replace(" ", "_"))
    return None


def columns(rows: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """The columns of a table, head first."""
    for place in range(len(rows[0])):
        yield [row[place] for row in rows]
