"""Points of a history in formats that others read."""

from __future__ import annotations

import json
from typing import Any, Literal

FORMATS = ("csv", "json", "parquet")
Format = Literal["csv", "json", "parquet"]


def export(points: Any, form: Format) -> bytes:
    """A table of points as the bytes of a file.

    Args:
        points: a pandas DataFrame, as `frame` gives it.
    """
    if form == "csv":
        return str(points.to_csv(index=False)).encode()
    if form == "json":
        return (json.dumps({"points": records(points)}, allow_nan=False) + "\n").encode()
    from io import BytesIO

    sink = BytesIO()
    points.to_parquet(sink, index=False, engine="pyarrow")
    return sink.getvalue()


def records(table: Any) -> list[dict[str, Any]]:
    """The rows of a DataFrame as JSON's types: times in ISO's format, null for what is missing."""
    found: list[dict[str, Any]] = json.loads(table.to_json(orient="records", date_format="iso", double_precision=15))
    return found
