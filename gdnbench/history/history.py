"""A history: runs are kept in it once, listed, and queried with DuckDB."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gdnbench.history.loading import load
from gdnbench.history.migrations import SCHEMA
from gdnbench.history.names import name_for
from gdnbench.history.place import LAST, Place
from gdnbench.history.pointing import one_line
from gdnbench.history.querying import Tables
from gdnbench.history.reading import KeptRun, Listing, Skipped, read_listing
from gdnbench.history.tables import POINTS, SAMPLES, tables_of, to_parquet
from gdnbench.values.errors import UserError
from gdnbench.values.runs import Run


class History:
    """All runs of one place.

    Args:
        place: where they lie.
    """

    def __init__(self, place: Place) -> None:
        self.place = place

    def record(self, run: Run) -> tuple[str, bool]:
        """Keep a run; its name, and whether it is new: a run with this token may be there already.

        Raises:
            EnvironmentMissing: the disk refuses; nothing of the run is left behind.
        """
        self.place.prepare()
        name, present = name_for(run, self.place.names())
        if present:
            return str(name), False
        tables = {file: (to_parquet(table), len(table)) for file, table in tables_of(run).items()}
        head = {
            "schema": SCHEMA,
            "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
            "token": run.token,
            "identity": run.identity.to_json(),
            "verdict": None if run.verdict is None else run.verdict.value,
            "warnings": [caveat.to_json() for caveat in run.warnings],
            "tables": {
                file: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), "rows": rows}
                for file, (content, rows) in tables.items()
            },
        }
        text = json.dumps(_plain(head), indent=1, allow_nan=False)
        self.place.write(str(name), {file: content for file, (content, _) in tables.items()} | {LAST: text.encode()})
        return str(name), True

    def listing(self) -> Listing:
        """Its runs in order of time, and what was skipped.

        Raises:
            UserError: there is no such place.
            EnvironmentMissing: it cannot be read.
        """
        if not self.place.exists():
            raise UserError(f"there is no history {self.place.location}: a measurement with --history makes one")
        return read_listing(self.place)

    def find(self, listing: Listing, text: str) -> KeptRun:
        """The run whose name is, or contains, `text`.

        Raises:
            UserError: none is, several are, or it was skipped.
        """
        found = [run for run in listing.runs if text in str(run.name)]
        exact = [run for run in found if text == str(run.name)]
        if len(exact or found) == 1:
            return (exact or found)[0]
        skipped = [one for one in listing.skipped if text in one.name]
        if len(found) + len(skipped) > 1:
            raise UserError(f"{len(found) + len(skipped)} runs have {text!r} in their names: give more of it")
        if skipped:
            raise UserError(f"{skipped[0]}")
        raise UserError(f"no run has {text!r} in its name: gdnbench history list names them")

    def verify(self) -> tuple[Listing, tuple[Skipped, ...]]:
        """Read everything that is there; the listing, and every directory whose run is not sound.

        Raises:
            UserError, EnvironmentMissing: as `listing`.
        """
        listing = self.listing()
        found = list(listing.skipped)
        for table in (POINTS, SAMPLES):
            known = {one.name for one in found}
            found += [one for one in load(self.place, listing.runs, table)[1] if one.name not in known]
        return listing, tuple(found)

    def tables(self, runs: Sequence[KeptRun], samples: bool = False) -> Tables:
        """The tables of some of its runs, to be queried.

        Args:
            samples: whether the samples are wanted too.
        """
        return Tables(self.place, runs, samples)


def _plain(value: Any) -> Any:
    """A value as JSON has it, texts on one line: settings come from everywhere, and JSON has no infinity."""
    if isinstance(value, Mapping):
        return {one_line(str(key)): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else one_line(str(value))
