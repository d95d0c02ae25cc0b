"""A pasted "Serving Benchmark Result" block, whole or damaged, as a record. What may be wrong is left out, and told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gdnbench.ingest.cut import doubtful
from gdnbench.ingest.entries import FACTS, Entry, Written, entries_of, written
from gdnbench.ingest.lines import short
from gdnbench.ingest.names import name_of
from gdnbench.ingest.numbers import Convention, convention, decimals, number, readings
from gdnbench.ingest.scan import Piece, label_and_value
from gdnbench.values.errors import UserError
from gdnbench.values.ingested import Record
from gdnbench.values.verdicts import Caveat

_NOTHING = re.compile(r"(?:n/?a|none|null|not set|-+|\u2014)", re.IGNORECASE)
_WORDS = {"inf": "inf", "infinity": "inf", "nan": "nan"}
MOST_LISTED = 5


def read_block(piece: Piece, source: str, beside: Sequence[Written] = ()) -> Record | None:
    """The record of a block; None where it has no figure at all.

    Args:
        beside: the numbers of the other blocks of the text.

    Raises:
        UserError: one figure stands there twice, with different values.
    """
    entries, unknown = entries_of(piece)
    left_out = dict(doubtful(piece, entries, beside))
    if len(unknown) > len(entries):
        left_out = dict.fromkeys((entry.line.number for entry in entries), "most lines of the block are not understood")
    own = written(entries)
    clear = sum(len(readings(*one)) == 1 for one in own) > 1
    sign = convention(own if clear else [*own, *beside], by_all=bool(left_out))
    metrics: dict[str, float] = {}
    unread: list[str] = []
    other_values: set[str] = set()
    for entry in entries:
        value, problem = _value(entry, sign)
        if not problem and entry.line.number in left_out:
            value, problem = None, left_out[entry.line.number] if value is not None else ""
        if value is None:
            if problem:
                other_values.add(entry.name.key)
                unread.append(f"{short(entry.label)}: {short(entry.value, 30)} ({problem})")
        elif entry.name.key in metrics and metrics[entry.name.key] != value:
            at = f"{source}: {entry.name.key}"
            raise UserError(f"{at} stands there twice, as {metrics[entry.name.key]:g} and {value:g}; keep one of them")
        else:
            metrics[entry.name.key] = value
    for key in sorted(other_values & metrics.keys()):
        unread.append(f"{key}: {metrics.pop(key):g} (it stands there twice, and the other value cannot be read)")
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


def _value(entry: Entry, sign: Convention | None) -> tuple[float | None, str]:
    """The figure in its base unit, or why there is none; neither where the line says that there is nothing."""
    word = entry.value.lower()
    if _NOTHING.fullmatch(entry.value) or (entry.name.key == "request_rate" and word in _WORDS):
        return None, ""
    if word in _WORDS and not entry.name.whole:
        return float(_WORDS[word]), ""
    if not entry.digits or entry.tail:
        return None, "not one number"
    value = number(entry.digits, entry.name.whole, sign)
    if entry.name.whole and decimals(entry.digits, sign):
        return None, "a count has no decimals: it was cut off, or changed by hand"
    if value is None:
        return None, "it can be read in several ways, or in none"
    scale = entry.name.scale(entry.unit)
    if scale is None:
        return None, "the unit is unknown, or stands there twice"
    return value * scale, ""


def _facts(piece: Piece) -> Iterator[tuple[str, str]]:
    for line in piece.lines:
        label, value = label_and_value(line) or ("", "")
        if label.lower() in FACTS:
            yield FACTS[label.lower()], short(value, 120)
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


def _is_sglang(entries: Sequence[Entry]) -> bool:
    labels = {entry.label.lower() for entry in entries}
    return any("retokenized" in label or "e2e latency" in label or label == "accept length" for label in labels)
