"""From files and pasted text to records: what is this, and who reads it?"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from gdnbench.ingest import action_json, asv, lm_eval, markdown_table
from gdnbench.ingest.bench_json import is_bench, read_result
from gdnbench.ingest.bench_text import read_block
from gdnbench.ingest.cells import rows_of
from gdnbench.ingest.context import concurrency_of
from gdnbench.ingest.entries import Written, numbers_of
from gdnbench.ingest.lines import lines_of, short
from gdnbench.ingest.loaded import documents
from gdnbench.ingest.scan import Piece, pieces
from gdnbench.values.errors import UserError
from gdnbench.values.ingested import Record
from gdnbench.values.verdicts import Caveat
from gdnbench.workloads.signs import HEAD, fault_of_head

MOST_BYTES = 256 << 20
MOST_LINES = 200_000
MOST_RECORDS = 500
MOST_FILES = 200

_ENOUGH = 5
"""Figures that must be alike, the duration among them."""

STANDARD_INPUT = "standard input"
Read = tuple[list[Record], list[Caveat]]


def read_all(paths: Sequence[str], stdin: BinaryIO) -> Read:
    """Everything that these files hold.

    Args:
        paths: files and folders, `-` for standard input.
        stdin: read where it is named.

    Raises:
        UserError: a file cannot be read, contradicts itself, or holds nothing that is known.
    """
    records: list[Record] = []
    caveats: list[Caveat] = []
    files = [path for given in paths for path in _files(given)]
    folders = {path.parent.resolve() for path in files if path is not None}
    common = Path(os.path.commonpath([str(folder) for folder in folders])) if folders else None
    for path in files:
        if path is None:
            found, told = read_text(_decoded(stdin.read(MOST_BYTES + 1), STANDARD_INPUT), STANDARD_INPUT, ())
        elif path.is_dir():
            found, told = lm_eval.read_folder(path, _labels(path, common)), []
        else:
            found, told = _file(path, _labels(path, common))
        if not found:
            what = told[0].message if told else "no result that is known was found in it"
            raise UserError(f"{_named(path)}: {what}; gdnbench check --help names what is read")
        records += found
        caveats += told
    if len(records) > MOST_RECORDS:
        raise UserError(f"{len(records)} results are more than {MOST_RECORDS}: give the files that are to be compared")
    return _without_copies([_placed(record) for record in records], caveats)


def read_text(text: str, source: str, labels: tuple[str, ...]) -> Read:
    """The records in a text of any kind.

    Args:
        labels: what names the file, the nearest first.

    Raises:
        UserError: it contradicts itself, or begins as JSON and ends early.
    """
    loaded = documents(text, source)
    if loaded is not None:
        found = [
            record
            for number, document in enumerate(loaded, 1)
            for record in _document(document, f"{source}, line {number}" if len(loaded) > 1 else source, labels)
        ]
        return found, []
    lines, too_long = lines_of(text)
    if len(lines) > MOST_LINES:
        raise UserError(f"{source} has more than {MOST_LINES:,} lines: paste the part that holds the results")
    records: list[Record] = []
    caveats: list[Caveat] = []
    if too_long:
        says = f"{source}: {len(too_long)} lines are too long to be read, the first is line {too_long[0]}"
        caveats.append(Caveat("long-lines", says, "paste the results alone"))
    stated = lm_eval.settings_in(text[:MOST_BYTES])
    parts = list(pieces(lines))
    if len(parts) > MOST_RECORDS:
        raise UserError(
            f"{source} has {len(parts)} blocks and tables, more than {MOST_RECORDS}: paste the results alone"
        )
    numbers = [numbers_of(piece) if piece.kind == "block" else [] for piece in parts]
    for place, piece in enumerate(parts):
        beside = [number for other, own in enumerate(numbers) if other != place for number in own]
        own, told = _piece(piece, f"{source}, line {piece.number}", labels, stated, beside)
        records += own
        caveats += told
    return records, caveats


def _piece(
    piece: Piece,
    source: str,
    labels: tuple[str, ...],
    stated: dict[str, str],
    beside: Sequence[Written],
) -> Read:
    piece.labels = (*piece.labels, *labels)
    if piece.kind == "block":
        record = read_block(piece, source, beside)
        return ([] if record is None else [record]), []
    if piece.kind == "arrows":
        return markdown_table.read_arrow(piece, source)
    if piece.kind == "json":
        loaded = documents("\n".join(line.text for line in piece.lines), source) or []
        return [record for document in loaded for record in _document(document, source, piece.labels)], []
    rows = rows_of(piece)
    if rows and lm_eval.is_table(rows):
        piece.facts = {**stated, **piece.facts}
        return lm_eval.read_table(piece, source), []
    return markdown_table.read_table(piece, source)


def _document(document: Any, source: str, labels: tuple[str, ...]) -> Iterator[Record]:
    """The records of one JSON document; none where it is no result that is known."""
    if is_bench(document):
        yield read_result(document, source, labels)
    elif asv.is_asv(document):
        yield asv.read_asv(document, source, labels)
    elif lm_eval.is_results(document):
        yield from lm_eval.read_results(document, source, labels)
    elif action_json.is_array(document):
        yield action_json.read_array(document, source, labels)
    elif action_json.is_history(document):
        yield from action_json.read_history(document, source, labels)
    elif isinstance(document, list):
        for number, one in enumerate(document[:MOST_RECORDS], 1):
            if is_bench(one):
                yield read_result(one, f"{source}, entry {number}", labels)


def _files(given: str) -> list[Path | None]:
    """A file, a folder of lm-eval's output, or the files of another folder."""
    if given == "-":
        return [None]
    path = Path(given).expanduser()
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UserError(f"{given}: no such file; gdnbench check reads files, folders, and - for standard input")
    if any(map(_is_lm_eval, [*path.glob("results_*.json"), *path.glob("*/results_*.json")])):
        return [path]
    found = sorted(one for one in path.glob("*.json") if one.name not in ("machine.json", "benchmarks.json"))
    if not found:
        raise UserError(f"{given} holds no results: neither those of lm-eval nor any .json")
    if len(found) > MOST_FILES:
        raise UserError(f"{given} holds {len(found)} files: name those that are to be compared")
    return list(found)


def _file(path: Path, labels: tuple[str, ...]) -> Read:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise UserError(f"{path} has more than {MOST_BYTES >> 20} MB: too large for results")
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    if path.name.startswith("results_") and _is_lm_eval(path):
        return lm_eval.read_folder(path, labels), []  # its samples lie beside it
    return read_text(_decoded(data, str(path)), str(path), labels)


def _is_lm_eval(path: Path) -> bool:
    try:
        found = documents(_decoded(path.read_bytes(), str(path)), str(path))
    except (OSError, UserError):
        return False
    return found is not None and len(found) == 1 and lm_eval.is_results(found[0])


def _decoded(data: bytes, source: str) -> str:
    """Text in UTF-8, whatever the locale; a byte order mark is taken off, for nothing here is sent on.

    With a mark that says so it may be UTF-16, as PowerShell redirects; what is no UTF-8 is taken as Windows-1252, in
    which every byte that a figure or label needs means the same.
    """
    if len(data) > MOST_BYTES:
        raise UserError(f"{source} has more than {MOST_BYTES >> 20} MB: too large for results")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    data = data.removeprefix(codecs.BOM_UTF8)
    fault = fault_of_head(data[:HEAD])
    if fault is not None and not (fault.kind == "page" and not fault.what.startswith("an HTML page")):
        raise UserError(f"{source}: {fault.what}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _labels(path: Path, common: Path | None) -> tuple[str, ...]:
    """What names a file: its own name, and the folders that tell it from the other files."""
    own = [short(path.stem if path.is_file() else path.name, 120)]
    if common is not None and path.parent.resolve() != common:
        own += [short(part, 120) for part in reversed(path.parent.resolve().relative_to(common).parts)]
    return tuple(own)


def _placed(record: Record) -> Record:
    """With the concurrency that its command or its labels name, where it states none itself."""
    stated = record.facts.get("max_concurrency", "")
    named = (at for text in record.labels if (at := concurrency_of(text)) is not None)
    told = int(stated) if re.fullmatch(r"[0-9]{1,6}", stated) else next(named, None)
    if record.kind != "serving" or told is None or told == record.concurrency:
        return record
    if record.concurrency is None:
        return replace(record, concurrency=told)
    says = f"a label or command speaks of concurrency {told}, and the figures of {record.concurrency}"
    return replace(record, warnings=(*record.warnings, Caveat("contradicting-label", says, "the figures count")))


def _without_copies(records: list[Record], caveats: list[Caveat]) -> Read:
    """The records, those that stand there twice once: no two runs have every figure alike."""
    found: list[Record] = []
    for record in records:
        place = next((n for n, one in enumerate(found) if _copies(one, record)), None)
        if place is None:
            found.append(record)
            continue
        says = f"{record.source} is the same as {found[place].source}, figure by figure{_beside(found[place], record)}"
        caveats.append(Caveat("copy", f"{says}: one run counts once", "give a second run, if there was one"))
        dropped = record
        if len(record.metrics) > len(found[place].metrics):
            dropped, found[place] = found[place], record  # the other one was cut off
        caveats += [replace(one, message=f"{dropped.source}: {one.message}") for one in dropped.warnings]
    return found, caveats


def _beside(one: Record, other: Record) -> str:
    """What two records of the same figures do not agree on."""
    names = [name for name in one.facts.keys() & other.facts.keys() - {"date"} if one.facts[name] != other.facts[name]]
    return f", though not in {', '.join(sorted(names)[:5])}" if names else ""


def _copies(one: Record, other: Record) -> bool:
    shared = one.metrics.keys() & other.metrics.keys()
    if one.kind != "serving" or other.kind != "serving" or len(shared) < _ENOUGH or "duration" not in shared:
        return False
    return all(one.metrics[key] == other.metrics[key] for key in shared)


def _named(path: Path | None) -> str:
    return STANDARD_INPUT if path is None else str(path)
