"""A pasted "Serving Benchmark Result" block, whole or damaged, as a record.

A figure is taken only if nothing speaks against it. Text is cut off in copying: at the end, where the last figure may
lack digits, or at the right edge, where every figure may; at the beginning, where "Peak output" may have become
"output". vLLM and SGLang print every figure that is no count with two decimals, and a line of signs at the end: by that
a cut is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gdnbench.ingest.lines import short
from gdnbench.ingest.names import Name, name_of
from gdnbench.ingest.numbers import NUMBER, Convention, convention, decimals, number
from gdnbench.ingest.scan import Piece, label_and_value
from gdnbench.values.errors import UserError
from gdnbench.values.ingested import Record
from gdnbench.values.verdicts import Caveat

_VALUE = re.compile(
    rf"(?P<number>{NUMBER})(?P<tail>[.,]*)(?:\s*(?P<unit>%|ms|msec|s|sec|us|µs|tok/s|tokens/s|req/s|tokens|requests))?"
    r"(?P<rest>(?:\s+\D*)?)"
)
_NOTHING = re.compile(r"(?:n/?a|none|null|not set|-+|—)", re.IGNORECASE)
_WORDS = {"inf": "inf", "infinity": "inf", "nan": "nan"}
_FACTS = {
    "backend": "backend",
    "model": "model_id",
    "model id": "model_id",
    "tokenizer": "tokenizer_id",
    "dataset": "dataset",
}
_ROUGH = frozenset({"request_rate", "rtfx"})
"""Figures that are printed with other than two decimals."""
MOST_LISTED = 5


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of a block whose label is known."""

    name: Name
    label: str
    value: str
    match: re.Match[str] | None
    number: int
    column: int

    @property
    def digits(self) -> str:
        return self.match["number"] if self.match else ""


def read_block(piece: Piece, source: str) -> Record | None:
    """The record of a block; None where it has no figure at all.

    Raises:
        UserError: one figure stands there twice, with different values.
    """
    entries, unknown = _entries(piece)
    doubtful = dict(_cut(piece, entries))
    sure = [entry for entry in entries if entry.number not in doubtful]
    sign = convention((entry.digits, entry.name.whole) for entry in sure if entry.match)
    if piece.headed and len(unknown) > len(entries):
        sure, why = [], "most of its lines are not understood"
        doubtful = dict.fromkeys((entry.number for entry in entries), why)
    metrics: dict[str, float] = {}
    unread: list[str] = []
    for entry in entries:
        value, problem = (None, doubtful[entry.number]) if entry.number in doubtful else _value(entry, sign, piece)
        if value is None:
            if problem:
                unread.append(f"{short(entry.label)}: {short(entry.value, 30)} ({problem})")
        elif metrics.get(entry.name.key, value) != value:
            at = f"{source}: {entry.name.key}"
            raise UserError(f"{at} stands there twice, as {metrics[entry.name.key]:g} and {value:g}; keep one of them")
        else:
            metrics[entry.name.key] = value
    if not metrics and not unread:
        return None
    concurrency = metrics.get("max_concurrency")
    return Record(
        source=source,
        kind="serving",
        form="a block of vllm bench serve" if not _is_sglang(entries) else "a block of SGLang's bench_serving",
        metrics=metrics,
        labels=piece.labels,
        concurrency=None if concurrency is None else int(concurrency),
        facts={**piece.facts, **dict(_facts(piece))},
        warnings=tuple(_told(unread, unknown, piece)),
    )


def _entries(piece: Piece) -> tuple[list[_Entry], list[str]]:
    """The lines that are known, and those that look like figures and are not."""
    known: list[_Entry] = []
    unknown: list[str] = []
    for line in piece.lines:
        pair = label_and_value(line)
        if pair is None:
            continue
        label, value = pair
        name = name_of(label)
        if name is not None:
            known.append(_Entry(name, label, value, _VALUE.fullmatch(value), line.number, len(line.raw.rstrip())))
        elif label.lower() not in _FACTS and value[:1].isdigit():
            unknown.append(short(line.text, 80))
    return known, unknown


def _cut(piece: Piece, entries: list[_Entry]) -> Iterator[tuple[int, str]]:
    """The lines, by number, whose figures may have lost digits or part of their label, and why."""
    if not entries:
        return
    first, last = entries[0], entries[-1]
    if not piece.headed and first.label[:1].islower() and first.number == 1:
        yield first.number, "the text may be cut off before it"
    rest = [entry for entry in entries if entry is not last]
    if (piece.end == "cut" or (piece.headed and piece.end == "open")) and not _complete(last, rest):
        yield last.number, "the text may be cut off within it"
    edge = max(entry.column for entry in entries)
    at_edge = [entry for entry in entries if entry.column == edge]
    if len(entries) > 2 and any(_visibly_cut(entry) for entry in at_edge):
        for entry in at_edge:
            yield entry.number, "the text may be cut off at the right"


def _complete(last: _Entry, rest: list[_Entry]) -> bool:
    """Whether the last figure of a text has all of its decimals, and others say which sign they stand behind."""
    sign = convention((entry.digits, entry.name.whole) for entry in rest if entry.match)
    return sign is not None and not last.name.whole and decimals(last.digits, sign) == 2


def _visibly_cut(entry: _Entry) -> bool:
    if entry.match is None or entry.name.whole or entry.name.key in _ROUGH:
        return False
    return bool(entry.match["tail"]) or re.search(r"[.,][0-9]{2}$", entry.digits) is None


def _value(entry: _Entry, sign: Convention | None, piece: Piece) -> tuple[float | None, str]:
    """The figure in its base unit, or why there is none; neither where the line says that there is nothing."""
    if _NOTHING.fullmatch(entry.value) or (entry.name.key in _ROUGH and entry.value.lower() in _WORDS):
        return None, ""
    if entry.value.lower() in _WORDS:
        return float(_WORDS[entry.value.lower()]), ""
    if entry.match is None or entry.match["tail"]:
        return None, "not one number"
    value = number(entry.digits, entry.name.whole, sign)
    if value is None:
        return None, "it can be read in several ways, or in none"
    scale = entry.name.scale(entry.match["unit"] or "")
    if scale is None:
        return None, "the unit is unknown, or stands there twice"
    return value * scale, ""


def _facts(piece: Piece) -> Iterator[tuple[str, str]]:
    for line in piece.lines:
        label, value = label_and_value(line) or ("", "")
        if label.lower() in _FACTS:
            yield _FACTS[label.lower()], short(value, 120)
        elif (name := name_of(label)) is not None and name.key == "request_rate":
            yield "request_rate", short(value, 20)


def _told(unread: list[str], unknown: list[str], piece: Piece) -> Iterator[Caveat]:
    if unread:
        yield Caveat("unread", f"not read: {_listed(unread)}", "paste the block whole, as the benchmark printed it")
    if unknown:
        yield Caveat("unknown-lines", f"lines that are not understood: {_listed(unknown)}", "nothing is made of them")
    if piece.headed and piece.end != "closed":
        yield Caveat("cut-off", "the block has no last line: its end is missing", "paste the block whole")
    if not piece.headed:
        yield Caveat("no-header", "the block has no first line: its beginning may be missing", "paste the block whole")


def _listed(texts: list[str]) -> str:
    more = f"; and {len(texts) - MOST_LISTED} more" if len(texts) > MOST_LISTED else ""
    return "; ".join(texts[:MOST_LISTED]) + more


def _is_sglang(entries: list[_Entry]) -> bool:
    labels = {entry.label.lower() for entry in entries}
    return any("retokenized" in label or "e2e latency" in label or label == "accept length" for label in labels)
