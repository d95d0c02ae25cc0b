"""Tables and lines in which somebody set before against after, as records of both.

Three ways of laying a table out are understood: a column for each side, a row for each side, and two columns of figures
whose heads name neither, where the first is taken as before, and that is told. A column of changes is no figure; it is
held against the figures beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from gdnbench.ingest.cells import Cell, Meant, bare, cell_of, meaning, rows_of
from gdnbench.ingest.context import concurrency_of, side_of
from gdnbench.ingest.lines import short
from gdnbench.ingest.lm_eval import of_scores
from gdnbench.ingest.numbers import Convention, convention, number
from gdnbench.ingest.scan import Piece
from gdnbench.values.accuracy import Score
from gdnbench.values.errors import UserError
from gdnbench.values.ingested import Record, Side
from gdnbench.values.verdicts import Caveat

_CHANGE = re.compile(
    r"\b(?:change|delta|diff|difference|improvement|speed-?up|gain|ratio)\b|[ΔΔ]|^%$|\+/-|better", re.IGNORECASE
)
_PLACE = re.compile(r"^(?:max[-_ ]?)?(?:concurrency|conc|batch[-_ ]?size|bs|c)$", re.IGNORECASE)
_SIDE_WORDS = re.compile(
    r"\b(?:before|after|without|with|baseline|base|main|master|this|the|pr|patched|patch|branch|new|old|change|ours|"
    r"upstream|original|optimi[sz]ed|pr[0-9]+)\b|#[0-9]+",
    re.IGNORECASE,
)
_STATED = re.compile(r"(?P<size>[-+\u2212]?[0-9]+(?:[.,][0-9]+)?)\s*(?P<unit>%|x|\u00d7)", re.IGNORECASE)
_ARROW = re.compile(r"(?P<label>[^:|]{2,80}):\s*(?P<before>[^:|]{1,40}?)\s*(?:->|→|=>)\s*(?P<after>[^:|]{1,60})")
_BRACKETS = re.compile(r"\([^()]{0,40}\)\s*$")


@dataclass
class _Found:
    """The figures of one side at one concurrency, not yet read."""

    side: Side | None
    why: str
    label: str
    concurrency: int | None
    cells: list[tuple[Meant, Cell]] = field(default_factory=list)


def read_table(piece: Piece, source: str) -> tuple[list[Record], list[Caveat]]:
    """Both sides' records, and what is not understood; no record where the table is none of before and after."""
    rows = rows_of(piece)
    if len(rows) < 2:
        return [], []
    found: dict[tuple[str, int | None], _Found] = {}
    unread: list[str] = []
    for side, why, label, place, meant, text in _laid_out(rows, piece):
        cell = cell_of(text)
        if cell is None or meant is None:
            if text and (meant is not None or cell is not None):
                unread.append(f"{label}: {short(text, 30)}")
            continue
        own = found.setdefault((label, place), _Found(side, why, label, place))
        own.cells.append((meant, cell))
    records = _records(list(found.values()), piece, source)
    caveats = []
    if unread:
        more = f"; and {len(unread) - 5} more" if len(unread) > 5 else ""
        says = f"{source}: cells that are not understood: {'; '.join(unread[:5])}{more}"
        caveats.append(Caveat("unread", says, "name the metric in its row or column, as vllm bench serve prints it"))
    if not records and not unread and any(cell_of(cell) for row in rows[1:] for cell in row[1:]):
        says = f"{source}: a table that names no side, or no figure that is known"
        caveats.append(Caveat("unread-table", says, "head its columns `before` and `after`"))
    return records, [*caveats, *_against_stated(rows, source)]


def read_arrow(piece: Piece, source: str) -> tuple[list[Record], list[Caveat]]:
    """Both sides of a line such as `Output throughput: 184.07 -> 197.50 tok/s (+7.3 %)`."""
    match = _ARROW.fullmatch(piece.lines[0].text)
    if match is None:
        return [], []
    label = bare(match["label"])
    meant = meaning(label) or meaning(_BRACKETS.sub("", label))
    texts = [bare(match["before"]), bare(_BRACKETS.sub("", match["after"]))]
    cells = [cell_of(text) for text in texts]
    if meant is None and cells[1] is not None and cells[1].unit in ("tok/s", "tokens/s"):
        meant = meaning("tok/s")
    if meant is None or None in cells:
        if any(cell is not None for cell in cells):
            says = f"{source}: not understood: {short(piece.lines[0].text)}"
            return [], [Caveat("unread", says, "name the metric as vllm bench serve prints it")]
        return [], []
    place = concurrency_of(label)
    sides: tuple[tuple[Side, str], ...] = (("before", "left of the arrow"), ("after", "right of the arrow"))
    found = [
        _Found(side, why, f"{label}, {side}", place, [(meant, cell)])
        for (side, why), cell in zip(sides, cells, strict=True)
        if cell is not None
    ]
    return _records(found, piece, source), []


_Laid = tuple[Side | None, str, str, int | None, Meant | None, str]
"""Side, why, label, concurrency, meaning and text of one cell."""


def _laid_out(rows: list[list[str]], piece: Piece) -> Iterator[_Laid]:
    head, *body = rows
    changes = {place for place, text in enumerate(head) if _is_change(text)}
    sides = {place: side for place, text in enumerate(head) if place not in changes and (side := side_of(text))}
    around = next((place for label in piece.labels if (place := concurrency_of(label)) is not None), None)
    at = next((place for place, text in enumerate(head) if _PLACE.fullmatch(text.strip())), None)
    if set(sides.values()) == {"before", "after"}:
        yield from _by_columns(head, body, {n: (side, f"column '{head[n]}'") for n, side in sides.items()}, at, around)
        return
    named = [next((side for cell in row[:2] if (side := side_of(cell))), None) for row in body]
    if {side for side in named if side} == {"before", "after"}:
        yield from _by_rows(head, body, named, changes, at, around)
        return
    values = [
        place
        for place in range(1, len(head))
        if place not in changes and place != at and any(cell_of(row[place]) for row in body)
    ]
    if len(values) == 2 and not any(meaning(head[place]) for place in values):
        first, second = values
        why = "order of the columns: '{}' stands first, and no word says which is before"
        chosen: dict[int, tuple[Side, str]] = {
            first: ("before", why.format(head[first])),
            second: ("after", why.format(head[first])),
        }
        yield from _by_columns(head, body, chosen, at, around)


def _by_columns(
    head: list[str], body: list[list[str]], sides: dict[int, tuple[Side, str]], at: int | None, around: int | None
) -> Iterator[_Laid]:
    for row in body:
        rest = [text for place, text in enumerate(row) if place not in sides and place != at]
        of_row = next((meant for text in rest if (meant := _meant(text))), None)
        place = _place(row, at) or next((own for text in rest if (own := concurrency_of(text))), None) or around
        for column, (side, why) in sides.items():
            of_column = meaning(_SIDE_WORDS.sub("", head[column]).strip(" ()-_,"))
            unit = _with_unit(of_row, head[column])
            yield side, why, short(head[column]), place, unit or of_column, row[column]


def _by_rows(
    head: list[str],
    body: list[list[str]],
    named: Sequence[Side | None],
    changes: set[int],
    at: int | None,
    around: int | None,
) -> Iterator[_Laid]:
    for row, side in zip(body, named, strict=True):
        if side is None:
            continue
        label = next(cell for cell in row[:2] if side_of(cell) is not None)
        place = _place(row, at) or concurrency_of(label) or around
        for column, text in enumerate(row):
            if column not in changes and column != at and meaning(head[column]) is not None:
                yield side, f"row '{label}'", short(label), place, meaning(head[column]), text


def _meant(text: str) -> Meant | None:
    """What a row is about; a concurrency in its label is left aside."""
    return meaning(text) or meaning(_BRACKETS.sub("", text)) or meaning(re.split(r"\s*[@,]\s*", text)[0])


def _with_unit(meant: Meant | None, head: str) -> Meant | None:
    """A row's meaning with the unit that its column states."""
    if meant is None or meant.name is None or meant.name.stated:
        return meant
    unit = re.search(r"[(\[]\s*(ms|s|us|µs|tok/s|req/s|%)\s*[)\]]", head)
    return replace(meant, name=replace(meant.name, stated=unit[1])) if unit else meant


def _place(row: Sequence[str], at: int | None) -> int | None:
    return int(row[at]) if at is not None and re.fullmatch(r"[0-9]{1,5}", row[at].strip()) else None


def _records(found: list[_Found], piece: Piece, source: str) -> list[Record]:
    cells = [(cell.digits, meant.whole) for own in found for meant, cell in own.cells]
    sign = convention(cells)
    return [record for own in found for record in _record(own, sign, piece, source)]


def _record(own: _Found, sign: Convention | None, piece: Piece, source: str) -> Iterator[Record]:
    at = f"{source}, {own.label}"
    metrics: dict[str, float] = {}
    scores: dict[str, dict[str, Score]] = {}
    unread: list[str] = []
    for meant, cell in own.cells:
        value = cell.value(meant, sign)
        if value is None or (meant.name is None and not 0 <= value <= 1):
            unread.append(f"{meant.name.key if meant.name else meant.task}: {short(cell.text, 30)}")
        elif meant.name is None:
            spread = number(cell.spread, False, sign) if cell.spread else None
            scores.setdefault(meant.task, {})["exact_match,"] = Score(value, spread)
        elif meant.name.key in metrics and metrics[meant.name.key] != value:
            known = metrics[meant.name.key]
            raise UserError(f"{at}: {meant.name.key} stands there twice, as {known:g} and {value:g}; keep one of them")
        else:
            metrics[meant.name.key] = value
    warnings = [
        Caveat("assumed", text, "say so") for text in dict.fromkeys(m.assumed for m, _ in own.cells if m.assumed)
    ]
    if unread:
        says = f"not read: {'; '.join(unread[:5])}, for it can be read in several ways, or in none"
        warnings.append(Caveat("unread", says, "write plain numbers: 1393.52"))
    labels = (own.label, *piece.labels)
    if metrics or (unread and not scores):
        limit = metrics.get("max_concurrency")
        yield Record(
            source=at,
            kind="serving",
            form="a table or line of before and after",
            metrics=metrics,
            labels=labels,
            concurrency=own.concurrency if limit is None else int(limit),
            facts=dict(piece.facts),
            warnings=tuple(warnings),
            side=own.side,
            why=own.why,
        )
    for task, by_filter in scores.items():
        yield replace(of_scores(task, by_filter, at, piece), labels=labels, side=own.side, why=own.why)


def _is_change(text: str) -> bool:
    return _CHANGE.search(text) is not None


def _against_stated(rows: list[list[str]], source: str) -> Iterator[Caveat]:
    """A stated change that the figures of its row do not give."""
    head, *body = rows
    sides = {side: n for n, text in enumerate(head) if not _is_change(text) and (side := side_of(text))}
    at = next((place for place, text in enumerate(head) if _is_change(text)), None)
    if at is None or set(sides) != {"before", "after"}:
        return
    for row in body:
        stated = _STATED.search(row[at])
        before, after = (cell_of(row[sides[side]]) for side in ("before", "after"))
        if stated is None or before is None or after is None:
            continue
        sign = convention([(before.digits, False), (after.digits, False)])
        values = [number(cell.digits, False, sign) for cell in (before, after)]
        if None in values or not all(values):
            continue
        size = abs(float(stated["size"].replace(",", ".").replace("\u2212", "-")))
        ratio = (values[1] or 1.0) / (values[0] or 1.0)
        figures = [ratio, 1 / ratio] if stated["unit"] != "%" else [abs(r - 1) * 100 for r in (ratio, 1 / ratio)]
        digits = len(re.split(r"[.,]", stated["size"])[1]) if re.search(r"[.,]", stated["size"]) else 0
        if all(abs(figure - size) > 1.1 * 10**-digits for figure in figures):
            says = (
                f"{source}: {short(row[0], 40)}: {short(row[at], 20)} is stated, and the figures give {ratio - 1:+.2%}"
            )
            yield Caveat("stated", says, "read the figures")
