"""The tables of a run as Parquet: points, and the samples behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gdnbench.values.runs import Run
from gdnbench.values.series import KEY

POINTS, SAMPLES = "points.parquet", "samples.parquet"
MOST_BYTES = 512 << 20
"""Of one table; none of ours comes near."""

_NUMBER, _TEXT, _COUNT = pa.float64(), pa.string(), pa.int64()

COLUMNS: Mapping[str, Mapping[str, Any]] = {
    POINTS: {
        "series": _TEXT,
        **dict.fromkeys(KEY, _TEXT),
        "value": _NUMBER,
        "unit": _TEXT,
        "direction": _TEXT,
        "assumption": _TEXT,
        "ci_low": _NUMBER,
        "ci_high": _NUMBER,
        "launches": _COUNT,
        "primary": pa.bool_(),
        "verdict": _TEXT,
        "invalid": _TEXT,
        "reason": _TEXT,
        "smallest_detectable": _NUMBER,
    },
    SAMPLES: {"series": _TEXT, "launch": _COUNT, "value": _NUMBER},
}
"""By table its columns and their types. What a later version adds to a schema is left out; no type ever changes."""


def tables_of(run: Run) -> dict[str, Any]:
    """Both tables of a run, by file name.

    Raises:
        ValueError: two points are of one series.
    """
    rows = [point.to_json() for point in run.points]
    if len({row["series"] for row in rows}) != len(rows):
        raise ValueError("two points of a run are of one series")
    samples = [
        {"series": row["series"], "launch": launch, "value": value}
        for row, point in zip(rows, run.points, strict=True)
        for launch, value in enumerate(point.samples, 1)
    ]
    return {POINTS: _table(POINTS, rows), SAMPLES: _table(SAMPLES, samples)}


def _table(name: str, rows: list[dict[str, Any]]) -> Any:
    return pa.Table.from_pylist(rows, schema=pa.schema(list(COLUMNS[name].items())))


def to_parquet(table: Any) -> bytes:
    """The bytes of a table's file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def from_parquet(content: bytes) -> Any:
    """The table in a file, of whatever columns; texts, which repeat a lot, are kept once each.

    Raises:
        ValueError: it is no whole Parquet file.
    """
    try:
        schema = pq.read_schema(pa.BufferReader(content))
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        return pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts).read()
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"no whole Parquet file: {' '.join(str(error).split())[:120]}") from None


def check_columns(name: str, table: Any) -> Any:
    """The table with the columns of this version alone.

    Raises:
        ValueError: it lacks one, or one is of another type.
    """
    for column, kind in COLUMNS[name].items():
        if column not in table.column_names:
            raise ValueError(f"it has no column {column}")
        found = table.schema.field(column).type
        if pa.types.is_dictionary(found):
            found = found.value_type
        if found != kind:
            raise ValueError(f"its column {column} holds {found}, not {kind}")
    return table.select(list(COLUMNS[name]))
