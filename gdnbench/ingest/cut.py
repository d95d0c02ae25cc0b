"""Which figures of a pasted block may have lost digits, because the text was cut off.

Text is cut off in copying: at its end, where the last figure may lack digits; at the right, by a narrow window, where
every figure may; at its beginning, where "Peak output" may have become "output". vLLM and SGLang print every figure
that is no count with two decimals, titles in the middle of their line, blanks behind figures, and a line of signs at
the end. By that a cut is known, and what it may have hit is not read. Who rounds figures by hand is asked not to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gdnbench.ingest.entries import Entry, Written, written
from gdnbench.ingest.numbers import convention, decimals
from gdnbench.ingest.scan import Piece

_OTHER_DECIMALS = frozenset({"request_rate", "rtfx"})
_DECIMALS = re.compile(r"[.,](?:[0-9]{2}|[0-9]{4,})$")
"""Two or more; three digits behind a sign may as well be a group of thousands."""
_TITLE = re.compile(r"(?P<left>-{3,}|={3,})\s*[^-=\s].*?(?P<right>[-=]*)")


def doubtful(piece: Piece, entries: Sequence[Entry], beside: Sequence[Written]) -> Iterator[tuple[int, str]]:
    """The lines, by number, whose figures may not be whole, and why.

    Args:
        beside: the numbers of the other blocks of the text.
    """
    if not entries:
        return
    first, last = entries[0], entries[-1]
    if not piece.headed and first.label[:1].islower() and first.line.number == 1:
        yield first.line.number, "the text may be cut off before it"
    rest = [*written(entry for entry in entries if entry is not last), *beside]
    if piece.end != "closed" and not last.ends_for_certain and not _complete(last, rest):
        yield last.line.number, "the text may be cut off within it"
    short_ones = [entry for entry in entries if _lacks_decimals(entry)]
    for entry in short_ones:
        yield entry.line.number, "the benchmark prints two decimals: it was cut off, or rounded by hand"
    if short_ones or _narrowed(piece) or not any(_has_decimals(entry) for entry in entries):
        for entry in entries:
            if entry.name.whole and not entry.ends_for_certain:
                yield entry.line.number, "the text may be cut off at the right"


def _complete(last: Entry, rest: Sequence[Written]) -> bool:
    """Whether the last figure of a text has all of its decimals, and others say which sign they stand behind."""
    sign = convention(rest)
    return sign is not None and not last.name.whole and decimals(last.digits, sign) == 2


def _lacks_decimals(entry: Entry) -> bool:
    if not entry.digits or entry.name.whole or entry.name.key in _OTHER_DECIMALS or entry.ends_for_certain:
        return False
    return bool(entry.tail) or not _has_decimals(entry)


def _has_decimals(entry: Entry) -> bool:
    return _DECIMALS.search(entry.digits) is not None


def _narrowed(piece: Piece) -> bool:
    """Whether a title lacks its right side: titles stand in the middle of their line."""
    titles = (_TITLE.fullmatch(line.text) for line in piece.lines)
    return any(title is not None and len(title["left"]) > len(title["right"]) + 1 for title in titles)
