"""Which runs a history holds, in order, and what is there besides: runs that are damaged or of a later version."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from gdnbench.history.migrations import SCHEMA, migrate_run
from gdnbench.history.names import RunName, parse_name
from gdnbench.history.place import LAST, Contents, Place
from gdnbench.history.pointing import one_line
from gdnbench.history.tables import POINTS, SAMPLES
from gdnbench.values.runs import RunIdentity, moment
from gdnbench.values.verdicts import Caveat, Verdict

MOST_BYTES = 4 << 20
"""Of run.json."""

CLOCKS_AGREE = timedelta(minutes=1)
"""Within which the clocks of machines that write to one history may differ unsaid."""


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What run.json says of a table: its size, the SHA-256 of its bytes, its rows."""

    bytes: int
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run of a history, but for its tables.

    Attributes:
        name: of its directory.
        schema: in which it was written.
        recorded: when it was kept, UTC.
        position: where it stands in time. Of a run of our own never before that of the run kept before it, whatever the
            clock of its machine said; of an imported one when it says that it began.
    """

    name: RunName
    identity: RunIdentity
    verdict: Verdict | None
    warnings: tuple[Caveat, ...]
    tables: Mapping[str, TableFacts]
    schema: int
    recorded: datetime
    position: datetime


@dataclass(frozen=True, slots=True)
class Skipped:
    """A directory whose run is not read.

    Attributes:
        damaged: False for a run that is whole and of a later schema.
    """

    name: str
    reason: str
    damaged: bool = True

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything in a history: runs in order of time, what was skipped, and what a reader must know."""

    runs: tuple[KeptRun, ...]
    skipped: tuple[Skipped, ...]
    warnings: tuple[Caveat, ...]


def read_listing(place: Place) -> Listing:
    """The runs of a place. Tables are not read; that they are there, in the size that they should have, is checked.

    Raises:
        EnvironmentMissing: the place cannot be read.
    """
    contents = place.contents()
    skipped = [
        Skipped(one_line(name), "half written: its writer was stopped, or is still at it") for name in contents.asides
    ]
    names = [name for name in contents.runs if parse_name(name) is not None]
    runs: list[KeptRun] = []
    for text, content in zip(names, place.read([f"{name}/{LAST}" for name in names], MOST_BYTES + 1), strict=True):
        try:
            runs.append(_read(text, content, contents))
        except _Later as later:
            skipped.append(Skipped(text, str(later), damaged=False))
        except ValueError as error:
            skipped.append(Skipped(text, str(error)))
    for name, files in contents.runs.items():
        if LAST in files and parse_name(name) is None:
            skipped.append(Skipped(one_line(name), "a run under a name that is none of a run: give it back its own"))
    in_order = _in_order(runs)
    return Listing(tuple(in_order), tuple(sorted(skipped, key=lambda one: one.name)), tuple(_clocks(in_order)))


class _Later(Exception):  # noqa: N818 - nothing is wrong with such a run
    """A schema that this version does not know yet."""


def _read(text: str, content: bytes | Exception, contents: Contents) -> KeptRun:
    name, files = parse_name(text), contents.runs[text]
    assert name is not None
    if isinstance(content, Exception):
        what = "is missing: its writer was stopped, or is still at it" if LAST not in files else "cannot be read"
        raise ValueError(f"{LAST} {what}")
    data = _json(content)
    schema = data.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 0:
        raise ValueError(f"{LAST} has no schema")
    if schema > SCHEMA:
        raise _Later(f"schema {schema} is of a later gdnbench: this one reads schemas up to {SCHEMA}")
    try:
        data = migrate_run(data, schema)
        identity, recorded = RunIdentity.from_json(data["identity"]), moment(data["recorded"])
        verdict = None if data["verdict"] is None else Verdict(data["verdict"])
        warnings = tuple(_caveat(one) for one in data["warnings"])
        tables = {table: _facts(data["tables"][table]) for table in (POINTS, SAMPLES)}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{LAST} is damaged: {str(error)[:200]}") from None
    for table, facts in tables.items():
        if table not in files:
            raise ValueError(f"{table} is missing")
        if files[table] != facts.bytes:
            raise ValueError(f"{table} has {files[table]:,} bytes instead of {facts.bytes:,}")
    return KeptRun(name, identity, verdict, warnings, tables, schema, recorded, identity.when)


def _json(content: bytes) -> dict[str, Any]:
    if len(content) > MOST_BYTES:
        raise ValueError(f"{LAST} has more than {MOST_BYTES >> 20} MiB")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{LAST} is no whole JSON ({str(error)[:100]})") from None
    if not isinstance(data, dict):
        raise ValueError(f"{LAST} is no object")
    return data


def _facts(data: Any) -> TableFacts:
    if not all(isinstance(data[name], int) and data[name] >= 0 for name in ("bytes", "rows")):
        raise ValueError("a table's size is no number")
    return TableFacts(data["bytes"], str(data["sha256"]), data["rows"])


def _caveat(data: Any) -> Caveat:
    return Caveat(*(" ".join(str(data[key]).split())[:2000] for key in ("code", "message", "advice")))


def _in_order(runs: Sequence[KeptRun]) -> list[KeptRun]:
    """In order of position: runs of our own stay in the order in which they were kept."""
    placed, latest = [], None
    for run in sorted(runs, key=lambda run: run.name):
        if not run.identity.imported:
            latest = run.position if latest is None else max(latest, run.position)
            placed.append(replace(run, position=latest))
        else:
            placed.append(run)
    return sorted(placed, key=lambda run: (run.position, run.name))


def _clocks(runs: Sequence[KeptRun]) -> list[Caveat]:
    """Runs that were kept before a run that was there already: some clock was wrong."""
    kept = sorted(runs, key=lambda run: run.name)
    return [
        Caveat(
            "clock",
            f"{later.name} was kept after {earlier.name}, by its clock {earlier.recorded - later.recorded} before it",
            "set the clock; the runs stand in the order in which they were kept",
        )
        for earlier, later in pairwise(kept)
        if later.name.sequence > earlier.name.sequence and later.recorded < earlier.recorded - CLOCKS_AGREE
    ]
