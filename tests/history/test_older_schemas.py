"""A run of schema 0, as it lay on disk: read as one of this schema, and never changed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gdnbench.values.series import Series
from kept import history, point, run, series

NAME = "00000001-20251101T020000Z-step-00112233445566aa"
ROW = {
    "series": "digits-of-0",
    "variant": "pr51913.after",
    "part": "build",
    "scenario": "16q1s1k",
    "metric": "host_time",
    "statistic": "median",
    "device": "cpu",
    "hardware": "A Processor",
    "machine": "0123456789ab",
    "value": 20.0,
    "unit": "us",
    "direction": "lower",
    "assumption": "sampled",
    "ci_low": 19.0,
    "ci_high": 21.0,
    "launches": 2,
    "valid": True,
}
IDENTITY = {
    "kind": "step",
    "started": "2025-11-01T02:00:00+00:00",
    "change": 51913,
    "variants": {"after": "pr51913.after"},
    "scenarios": ["16q1s1k"],
    "host": "0123456789ab",
    "device": "cpu",
    "processor": "A Processor",
    "gpu": "",
    "cores": 2,
    "system": "Linux",
    "libraries": {"torch": "2.12.0"},
    "commit": "abc",
    "changed": False,
}


def write_0(place: Path, rows: list[dict[str, Any]], identity: dict[str, Any] = IDENTITY) -> Path:
    """A run as schema 0 had it."""
    folder = place / NAME
    folder.mkdir(parents=True)
    samples = [
        {"series": row["series"], "launch": n, "value": row.get("value", 0.0) + n} for row in rows for n in (1, 2)
    ]
    tables = {}
    for name, found in (("points.parquet", rows), ("samples.parquet", samples)):
        pq.write_table(pa.Table.from_pylist(found), folder / name)
        content = (folder / name).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        tables[name] = {"bytes": len(content), "sha256": digest, "rows": len(found)}
    head = {"schema": 0, "recorded": "2025-11-01T02:05:00+00:00", "token": "t", "verdict": "same", "tables": tables}
    (folder / "run.json").write_text(json.dumps({**head, "identity": identity}))
    return folder


def test_it_is_read_beside_runs_of_this_schema(tmp_path: Path) -> None:
    folder = write_0(tmp_path, [ROW, {**ROW, "series": "other", "metric": "host_time_busy", "valid": False}])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    opened = history(tmp_path)
    opened.record(run("new", point(10.0, series=series(setting=""))))

    listing, unsound = opened.verify()
    assert not unsound
    old, new = listing.runs
    assert (old.schema, new.schema) == (0, 1)
    assert old.identity.loads == ("16q1s1k",)
    assert old.identity.machine.libraries == {"torch": "2.12.0"}
    assert old.identity.source.commit == "abc"

    tables = opened.tables(listing.runs, samples=True)
    key = Series(
        "pr51913.after", "", "build", "16q1s1k", "host_time", "median", "", "cpu", "A Processor", "0123456789ab"
    )
    found = tables.query("SELECT value FROM points JOIN runs USING (run) WHERE series = ? ORDER BY position", [key.id])
    assert list(found["value"]) == [20.0, 10.0], "one series goes on from schema to schema"
    samples = tables.query("SELECT value FROM samples WHERE series = ? ORDER BY launch", [key.id])
    assert list(samples["value"]) == [21.0, 22.0]
    (invalid,) = tables.query("SELECT invalid FROM points WHERE metric = 'host_time_busy'")["invalid"]
    assert invalid == "it was marked as not valid"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("missing", ["scenarios", "host", "commit", "kind"])
def test_an_identity_of_schema_0_that_lacks_a_key_is_named(missing: str, tmp_path: Path) -> None:
    write_0(tmp_path, [ROW], {key: value for key, value in IDENTITY.items() if key != missing})
    (one,) = history(tmp_path).listing().skipped
    assert one.damaged
    assert one.reason.startswith("run.json is damaged")


@pytest.mark.parametrize("missing", ["scenario", "valid", "machine", "value"])
def test_points_of_schema_0_that_lack_a_column_are_named(missing: str, tmp_path: Path) -> None:
    write_0(tmp_path, [{key: value for key, value in ROW.items() if key != missing}])
    opened = history(tmp_path)
    (one,) = opened.verify()[1]
    assert one.reason.startswith("points.parquet: ")
    assert not len(opened.tables(opened.listing().runs).query("SELECT * FROM points"))
