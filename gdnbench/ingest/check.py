"""Everything at once: files to records, records to sides, sides to pairs, pairs to verdicts; and the claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from gdnbench.accuracy.judging import FLOOR
from gdnbench.ingest.answers import judge_answers
from gdnbench.ingest.claims import judge_claims
from gdnbench.ingest.consistency import checked
from gdnbench.ingest.detect import read_all
from gdnbench.ingest.named import judge_named
from gdnbench.ingest.pairs import ServerPair, judge_servers
from gdnbench.ingest.sides import Key, assign, key_of, named
from gdnbench.values.claims import StatedClaim
from gdnbench.values.errors import UserError
from gdnbench.values.ingested import CheckedPair, CheckResult, Record
from gdnbench.values.verdicts import Caveat


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody asks of results that others measured.

    Attributes:
        paths: files and folders; `-` is standard input.
        before, after: files whose results are of that side; read as well.
        pairs: numbers of records, before and after, where no label tells.
        claims: what was claimed.
        groups: KV groups; None where that is not known.
        floor: the smallest difference of answers that matters, as a fraction.
        allowed: benchmarks that may be missing after.
    """

    paths: tuple[str, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    claims: tuple[StatedClaim, ...] = ()
    groups: int | None = None
    floor: float = FLOOR
    allowed: tuple[str, ...] = ()


def check(question: Question, stdin: BinaryIO) -> CheckResult:
    """Answer it.

    Raises:
        UserError: a file cannot be read, or contradicts itself; or both sides are there and nothing can be compared.
    """
    paths = tuple(dict.fromkeys([*question.before, *question.after, *question.paths]))
    records, told = read_all(paths, stdin)
    found, of_sides = assign([checked(record) for record in records], question.before, question.after, question.pairs)
    return judged(found, question, [*told, *of_sides])


def judged(records: Sequence[Record], question: Question, warnings: Sequence[Caveat] = ()) -> CheckResult:
    """Records with their sides, judged.

    Raises:
        UserError: both sides are there and nothing can be compared.
    """
    groups = _forced(records, question.pairs) if question.pairs else _by_key(records)
    both = {key: sides for key, sides in groups.items() if sides[0] and sides[1]}
    one_armed = {key: sides for key, sides in groups.items() if key not in both and (sides[0] or sides[1])}
    sides_there = {record.side for record in records if record.side is not None}
    if not both and len(sides_there) == 2:
        told = "; ".join(f"{'before' if sides[0] else 'after'}: {_told(key)}" for key, sides in one_armed.items())
        cut = "; the text may be cut off" if any(_is_cut(record) for record in records) else ""
        raise UserError(f"nothing compared: the sides have nothing in common ({told}{cut}); --pair N,M pairs records")
    if not both and (question.before or question.after):
        there = next(iter(sides_there), "neither side")
        copies = [f"{one.message}: {one.advice}" for one in warnings if one.code == "copy"]
        advice = "; ".join(copies) or "give --before FILE and --after FILE"
        raise UserError(f"nothing compared: there is {there} alone; {advice}")
    pairs = [*_servers(both), *_others(both, question.floor, question.allowed)]
    lonely = [
        Caveat(
            "one-armed",
            f"{_told(key)}: only {'before' if sides[0] else 'after'} is there, so there is no ratio",
            "give the other side as well",
        )
        for key, sides in one_armed.items()
    ]
    claims = judge_claims(question.claims, pairs, question.groups)
    return CheckResult(tuple(records), tuple(pairs), (*warnings, *lonely), tuple(claims))


def _is_cut(record: Record) -> bool:
    return any(one.code == "cut-off" or "cut off" in one.message for one in record.warnings)


_Sides = tuple[list[Record], list[Record]]
_Place = tuple[Key, int]


def _by_key(records: Sequence[Record]) -> dict[_Place, _Sides]:
    found: dict[_Place, _Sides] = defaultdict(lambda: ([], []))
    for record in records:
        if record.side is not None:
            found[key_of(record), 0][record.side == "after"].append(record)
    return dict(found)


def _forced(records: Sequence[Record], pairs: Collection[tuple[int, int]]) -> dict[_Place, _Sides]:
    """Pairs by number: whatever their concurrency; those of one concurrency are runs of one pair."""
    found: dict[_Place, _Sides] = defaultdict(lambda: ([], []))
    for number, (before, after) in enumerate(pairs, 1):
        one, other = records[before - 1], records[after - 1]
        alike = key_of(one) == key_of(other)
        sides = found[key_of(one), 0 if alike else number]
        sides[0].append(one)
        sides[1].append(other)
    return dict(found)


def _servers(groups: dict[_Place, _Sides]) -> list[CheckedPair]:
    chosen = {place: sides for place, sides in groups.items() if place[0][0] == "serving"}
    in_order = sorted(chosen, key=lambda place: (place[0][2] is None, place[0][2] or 0, place[1]))
    return judge_servers([ServerPair(place[0][2], *map(tuple, chosen[place])) for place in in_order])


def _others(groups: dict[_Place, _Sides], floor: float, allowed: Collection[str]) -> list[CheckedPair]:
    found = []
    for ((kind, group, _), _), (before, after) in groups.items():
        if kind == "accuracy":
            found.append(judge_answers(group, before, after, floor))
        elif kind != "serving":
            found.append(judge_named(group, before, after, allowed))
    return found


def _told(place: _Place) -> str:
    return named(place[0])
