"""Older schemas, brought up to this one while they are read. What lies on disk is never changed.

0   before the first release: `scenario` where now any `load` stands, one `machine` flat among the identity's keys, no
    comparisons, and whether a point is `valid` instead of why it is not.
1   as `values.runs`, `values.series` and `history.tables` have it.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from gdnbench.values.series import KEY, Series

SCHEMA = 1

_MACHINE = ("host", "device", "processor", "gpu", "cores", "system", "libraries")
_REPLACED = "it was marked as not valid"


def migrate_run(data: dict[str, Any], schema: int) -> dict[str, Any]:
    """A run.json of an older schema as one of this.

    Raises:
        KeyError, TypeError: it is none of that schema.
    """
    return _run_from_0(data) if schema == 0 else data


def migrate_points(table: Any, schema: int) -> Any:
    """Points of an older schema as points of this.

    Raises:
        KeyError, TypeError: they are none of that schema.
    """
    return _points_from_0(table) if schema == 0 else table


def migrate_samples(table: Any, points: Any, migrated: Any) -> Any:
    """Samples whose series have other digits in this schema.

    Args:
        points, migrated: the run's points as they were and as they are, in one order.
    """
    renamed = dict(zip(points["series"].to_pylist(), migrated["series"].to_pylist(), strict=True))
    series = pa.array([renamed[one] for one in table["series"].to_pylist()], pa.string())
    return table.set_column(table.column_names.index("series"), "series", series)


def _run_from_0(data: dict[str, Any]) -> dict[str, Any]:
    old = dict(data["identity"])
    machine = {name: old.pop(name) for name in _MACHINE}
    source = {"commit": old.pop("commit"), "changed": old.pop("changed"), "builders": "", "harness": ""}
    added = {"imported": "", "part": "", "model": "", "flags": [], "settings": {}, "seeds": {}}
    identity = {**added, **old, "loads": old.pop("scenarios"), "machine": machine, "source": source}
    return {**data, "schema": SCHEMA, "identity": identity, "warnings": []}


def _points_from_0(table: Any) -> Any:
    rows = table.to_pylist()
    for row in rows:
        row |= {"load": row.pop("scenario"), "against": "", "setting": ""}
        row["series"] = Series(**{name: row[name] for name in KEY}).id
        row["invalid"] = "" if row.pop("valid") else _REPLACED
        row |= {"primary": False, "verdict": None, "reason": "", "smallest_detectable": None}
    texts = {name: pa.string() for name in (*KEY, "series", "invalid", "verdict", "reason")}
    kinds = {**{field.name: field.type for field in table.schema}, **texts}
    kinds |= {"primary": pa.bool_(), "smallest_detectable": pa.float64()}
    names = [name for name in kinds if name not in ("scenario", "valid")]
    return pa.Table.from_pylist(rows, schema=pa.schema([(name, _plain(kinds[name])) for name in names]))


def _plain(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
