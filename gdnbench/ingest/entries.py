"""The lines of a block as entries: what a label means, and the number that stands behind it, not yet read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gdnbench.ingest.lines import Line, short
from gdnbench.ingest.names import Name, name_of
from gdnbench.ingest.numbers import GROUP, NUMBER
from gdnbench.ingest.scan import Piece, label_and_value

FACTS = {
    "backend": "backend",
    "model": "model_id",
    "model id": "model_id",
    "tokenizer": "tokenizer_id",
    "dataset": "dataset",
}
"""Labels of lines that hold words."""

Written = tuple[str, bool]
"""A number as it is written, and whether it is a count."""

_VALUE = re.compile(
    rf"(?P<number>{NUMBER})(?P<tail>[.,]*)(?:\s*(?P<unit>%|ms|msec|s|sec|us|µs|tok/s|tokens/s|req/s|tokens|requests))?"
    r"(?P<rest>(?:\s+(?:(?!--|==)\D)*)?)"
)
"""Words may follow a number; a title there is of another block, whose lines stand beside those of this one."""

_MAY_GO_ON = re.compile(rf"[0-9]{{1,{GROUP}}}(?:\D[0-9]{{{GROUP}}})*")


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a block whose label is known.

    Attributes:
        value: all that stands behind the label.
        digits: the number in it; empty where there is none, or more than one.
        tail: signs at its end that belong to no number, as a cut leaves them.
        unit: behind it; empty where there is none.
    """

    name: Name
    label: str
    value: str
    digits: str
    tail: str
    unit: str
    line: Line

    @property
    def ends_for_certain(self) -> bool:
        """Whether blanks or a unit behind the number show that it was not cut off.

        One blank does not, where a group of thousands may have followed: `288 ` of `288 000`.
        """
        goes_on = _MAY_GO_ON.fullmatch(self.digits) and not self.line.raw.endswith(("  ", "\t"))
        return bool(self.unit) or (self.line.padded and not goes_on)


def entries_of(piece: Piece) -> tuple[list[Entry], list[str]]:
    """The lines that are known, and those that look like figures and are not."""
    known: list[Entry] = []
    unknown: list[str] = []
    for line in piece.lines:
        label, value = label_and_value(line) or ("", "")
        name = name_of(label)
        if name is not None:
            match = _VALUE.fullmatch(value)
            parts = ("", "", "") if match is None else (match["number"], match["tail"], match["unit"] or "")
            known.append(Entry(name, label, value, *parts, line))
        elif label.lower() not in FACTS and value[:1].isdigit():
            unknown.append(short(line.text, 80))
    return known, unknown


def numbers_of(piece: Piece) -> list[Written]:
    """The numbers of a block, for the blocks beside it: a text is written in one language."""
    return written(entries_of(piece)[0])


def written(entries: Iterable[Entry]) -> list[Written]:
    """Their numbers, as they are written."""
    return [(entry.digits, entry.name.whole) for entry in entries if entry.digits]
