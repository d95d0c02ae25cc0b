"""Reads the tables of runs: each file once, held against its digest, brought up to this schema."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from gdnbench.history.migrations import SCHEMA, migrate_points, migrate_samples
from gdnbench.history.place import Place
from gdnbench.history.reading import KeptRun, Skipped
from gdnbench.history.tables import COLUMNS, MOST_BYTES, POINTS, check_columns, from_parquet

AT_ONCE = 64
"""Runs whose files are asked for together: over a network many are as fast as one, and memory holds no more."""


def load(place: Place, runs: Sequence[KeptRun], table: str) -> tuple[Any, tuple[Skipped, ...]]:
    """One table of all runs as one, with a column `run`; and the runs whose files are damaged.

    Args:
        table: `POINTS` or `SAMPLES`.
    """
    found, skipped = [], []
    for start in range(0, len(runs), AT_ONCE):
        batch = runs[start : start + AT_ONCE]
        contents = place.read([f"{run.name}/{table}" for run in batch], MOST_BYTES + 1)
        for run, content in zip(batch, contents, strict=True):
            try:
                rows = _table(place, run, table, content)
            except ValueError as error:
                skipped.append(Skipped(str(run.name), f"{table}: {error}"))
                continue
            names = pa.DictionaryArray.from_arrays(pa.array([0] * len(rows), pa.int32()), pa.array([str(run.name)]))
            found.append(rows.append_column("run", names))
    schema = pa.schema([*COLUMNS[table].items(), ("run", pa.string())])
    return pa.concat_tables(found) if found else schema.empty_table(), tuple(skipped)


def _table(place: Place, run: KeptRun, name: str, content: bytes | Exception) -> Any:
    table = _whole(run, name, content)
    if run.schema == SCHEMA:
        return check_columns(name, table)
    try:
        points = table if name == POINTS else _whole(run, POINTS, place.read([f"{run.name}/{POINTS}"], MOST_BYTES)[0])
        migrated = migrate_points(points, run.schema)
        found = migrated if name == POINTS else migrate_samples(table, points, migrated)
        return _encoded(check_columns(name, found))
    except (KeyError, TypeError, pa.ArrowException) as error:
        raise ValueError(f"no table of schema {run.schema} ({type(error).__name__} at {error})") from None


def _whole(run: KeptRun, name: str, content: bytes | Exception) -> Any:
    """The table in a file that is the one that was written."""
    if isinstance(content, Exception):
        raise ValueError(f"it cannot be read ({type(content).__name__})")
    facts = run.tables[name]
    if len(content) != facts.bytes:
        raise ValueError(f"{len(content):,} bytes instead of {facts.bytes:,}")
    if hashlib.sha256(content).hexdigest() != facts.sha256:
        raise ValueError("its bytes are not those that were written")
    return from_parquet(content)


def _encoded(table: Any) -> Any:
    """Texts kept once each, as `from_parquet` gives them, so that tables can be joined end to end."""
    columns = [column.dictionary_encode() if pa.types.is_string(column.type) else column for column in table.columns]
    return pa.table(columns, names=table.column_names)
