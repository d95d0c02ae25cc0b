"""Which record is before and which is after: by option, by label, by exclusion, by order; and the reason is told.

Labels go first to last from the nearest to the farthest: a heading above a block outweighs the name of its file. Where
no label names a side and exactly two records could be a pair, the first is before; more than two are left without a
side, and the reader is asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gdnbench.ingest.context import side_of
from gdnbench.values.errors import UserError
from gdnbench.values.ingested import Record, Side
from gdnbench.values.verdicts import Caveat

Key = tuple[str, str, int | None]
"""Kind, group and concurrency: what two records must share to be compared."""

ASK = "name the sides: --before FILE --after FILE, or --pair N,M with the numbers of the records"
_OTHER: Mapping[Side, Side] = {"before": "after", "after": "before"}


def assign(
    records: Sequence[Record],
    before: Iterable[str] = (),
    after: Iterable[str] = (),
    pairs: Sequence[tuple[int, int]] = (),
) -> tuple[list[Record], list[Caveat]]:
    """The records with their sides, and what a reader must know of how they came about.

    Args:
        before, after: files whose records are of that side, as they were given.
        pairs: numbers of records, from 1: before and after.

    Raises:
        UserError: an option names a file or record that is not there, or names one for both sides.
    """
    if pairs:
        return _by_number(records, pairs), []
    found = [_by_label(record) for record in _by_file(records, before, after)]
    caveats: list[Caveat] = []
    by_key: dict[Key, list[int]] = defaultdict(list)
    for place, record in enumerate(found):
        by_key[key_of(record)].append(place)
    for key, places in by_key.items():
        caveats += _by_exclusion_or_order(found, key, places)
    return found, caveats


def key_of(record: Record) -> Key:
    """What another record must have to be compared with this one."""
    return record.kind, record.group, record.concurrency


def named(key: Key) -> str:
    """A key in words."""
    kind, group, concurrency = key
    if kind == "serving":
        return "unknown concurrency" if concurrency is None else f"concurrency {concurrency}"
    return group


def _by_file(records: Sequence[Record], before: Iterable[str], after: Iterable[str]) -> list[Record]:
    given: dict[str, Side] = {}
    sides: tuple[tuple[Side, Iterable[str]], ...] = (("before", before), ("after", after))
    for side, files in sides:
        for file in files:
            if given.setdefault(file, side) != side:
                raise UserError(f"{file} is named both --before and --after")
    found = []
    for record in records:
        own = next((given[file] for file in given if _from(record, file)), None)
        found.append(record if own is None else replace(record, side=own, why=f"--{own}"))
    return found


def _from(record: Record, file: str) -> bool:
    """Whether a record was read from a file or folder: its source begins with it, and goes on with a place in it."""
    rest = record.source.removeprefix(file.rstrip("/"))
    return rest != record.source and rest[:1] in ("", ",", "/")


def _by_number(records: Sequence[Record], pairs: Sequence[tuple[int, int]]) -> list[Record]:
    sides: dict[int, Side] = {}
    found = [replace(record, side=None, why="no --pair names it") for record in records]
    for pair in pairs:
        named_sides: tuple[tuple[int, Side], ...] = ((pair[0], "before"), (pair[1], "after"))
        for place, side in named_sides:
            if not 1 <= place <= len(records):
                raise UserError(f"--pair {pair[0]},{pair[1]}: there are {len(records)} records, numbered from 1")
            if sides.setdefault(place, side) != side:
                raise UserError(f"--pair: record {place} cannot be both before and after")
            found[place - 1] = replace(records[place - 1], side=side, why=f"--pair {pair[0]},{pair[1]}")
        kinds = {(records[place - 1].kind, records[place - 1].group) for place in pair}
        if len(kinds) > 1:
            raise UserError(f"--pair {pair[0]},{pair[1]}: these are of different kinds and cannot be compared")
    return found


def _by_label(record: Record) -> Record:
    if record.side is not None:
        return record
    for label in record.labels:
        if (side := side_of(label)) is not None:
            return replace(record, side=side, why=f"label '{label}'")
    return record


def _by_exclusion_or_order(found: list[Record], key: Key, places: list[int]) -> list[Caveat]:
    unnamed = [place for place in places if found[place].side is None]
    sides = Counter(found[place].side for place in places if found[place].side is not None)
    if not unnamed:
        return []
    if len(unnamed) == 1 and len(sides) == 1:
        (side,) = (side for side in sides if side is not None)
        own = _OTHER[side]
        found[unnamed[0]] = replace(found[unnamed[0]], side=own, why=f"the other one is named {side}")
        says = f"{named(key)}: {found[unnamed[0]].source} is taken as {own}, because the other one is named {side}"
        return [Caveat("side-by-exclusion", says, ASK)]
    if len(unnamed) == 2 and not sides:
        first, second = unnamed
        found[first] = replace(found[first], side="before", why="stands first, and no label names a side")
        found[second] = replace(found[second], side="after", why="stands second, and no label names a side")
        says = f"{named(key)}: no label names a side; {found[first].source} stands first and is taken as before"
        return [Caveat("side-by-order", says, ASK)]
    if len(places) > 1:
        says = f"{named(key)}: {len(unnamed)} of {len(places)} results name no side, and none was guessed"
        return [Caveat("no-side", says, ASK)]
    return []
