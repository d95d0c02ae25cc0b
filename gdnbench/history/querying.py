"""Questions to a history in SQL, answered by DuckDB over the tables of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from gdnbench.history.loading import load
from gdnbench.history.place import Place
from gdnbench.history.reading import KeptRun, Skipped
from gdnbench.history.tables import POINTS, SAMPLES

RUNS = "SELECT run FROM runs ORDER BY position, run"
"""The names of all runs in order of time."""


class Tables:
    """A DuckDB connection with the views `runs`, `points` and, where they were asked for, `samples`.

    Attributes:
        skipped: runs whose tables are damaged; they are in none of the views.
    """

    def __init__(self, place: Place, runs: Sequence[KeptRun], samples: bool) -> None:
        points, skipped = load(place, runs, POINTS)
        kept, more = load(place, runs, SAMPLES) if samples else (None, ())
        self.skipped: tuple[Skipped, ...] = tuple({one.name: one for one in (*skipped, *more)}.values())
        damaged = {one.name for one in self.skipped}
        self._connection: Any = duckdb.connect(config={"enable_external_access": False})
        self._connection.register("all_points", points)
        self._connection.register("runs", runs_table([run for run in runs if str(run.name) not in damaged]))
        self._connection.execute("CREATE VIEW points AS SELECT p.* FROM all_points p SEMI JOIN runs USING (run)")
        if kept is not None:
            self._connection.register("all_samples", kept)
            self._connection.execute("CREATE VIEW samples AS SELECT s.* FROM all_samples s SEMI JOIN runs USING (run)")

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """The answer to a question in SQL, a pandas DataFrame."""
        return self._connection.execute(sql, list(parameters)).df()


def runs_table(runs: Sequence[KeptRun]) -> Any:
    """A row for each run, as an Arrow table; times are UTC."""
    identities = [run.identity for run in runs]
    machines = [one.machine for one in identities]
    time, text = pa.timestamp("us"), pa.string()
    columns: dict[str, tuple[Any, list[Any]]] = {
        "run": (text, [str(run.name) for run in runs]),
        "position": (time, [run.position.replace(tzinfo=None) for run in runs]),
        "started": (time, [one.when.replace(tzinfo=None) for one in identities]),
        "recorded": (time, [run.recorded.replace(tzinfo=None) for run in runs]),
        "kind": (text, [one.kind for one in identities]),
        "imported": (text, [one.imported for one in identities]),
        "change": (pa.int64(), [one.change for one in identities]),
        "commit": (text, [one.source.commit for one in identities]),
        "changed": (pa.bool_(), [one.source.changed for one in identities]),
        "builders": (text, [one.source.builders for one in identities]),
        "model": (text, [one.model for one in identities]),
        "host": (text, [one.host for one in machines]),
        "torch": (text, [one.libraries.get("torch") for one in machines]),
        "vllm": (text, [one.libraries.get("vllm") for one in machines]),
        "run_verdict": (text, [None if run.verdict is None else run.verdict.value for run in runs]),
    }
    return pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})
