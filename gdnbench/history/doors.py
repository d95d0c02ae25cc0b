"""What notebooks and our own tables open: a history by its name, and its points as a pandas DataFrame."""

from __future__ import annotations

import os
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdnbench.values.errors import UserError

if TYPE_CHECKING:
    from gdnbench.history.history import History

VARIABLE = "GDNBENCH_HISTORY"

POINTS_AND_RUNS = "SELECT * FROM points JOIN runs USING (run) ORDER BY position, run, series"
"""Every point with what its run says, in order of time."""


class HistoryWarning(UserWarning):
    """Something in a history that was skipped, or that a reader must know."""


def open_history(location: str | Path | None = None) -> History:
    """The history in a folder or at a URL of fsspec; default, what `GDNBENCH_HISTORY` names.

    Raises:
        UserError: nothing names one, or nothing can be there.
        EnvironmentMissing: the extra `history` is not installed.
    """
    from gdnbench.history.needs import require_libraries

    found = str(location or os.environ.get(VARIABLE) or "")
    if not found:
        raise UserError(f"no history is named: give --history DIR, or set {VARIABLE}")
    require_libraries()
    from gdnbench.history.history import History
    from gdnbench.history.place import Place

    return History(Place(found))


def frame(
    history: str | Path | None = None,
    *,
    change: int | None = None,
    kind: str | None = None,
    device: str | None = None,
    since: str | datetime | None = None,
) -> Any:
    """Every point of a history, a pandas DataFrame in order of time.

    A row has the columns of a point (`values.series.Point.to_json`: `series`, the key's fields, `value`, `unit`,
    `direction`, `assumption`, `ci_low`, `ci_high`, `launches`, `primary`, `verdict`, `invalid`, `reason`,
    `smallest_detectable`) and those of its run (`run`, `position`, `started`, `recorded`, `kind`, `imported`, `change`,
    `commit`, `changed`, `builders`, `model`, `host`, `torch`, `vllm`, `run_verdict`). Times are UTC. `position` is the
    time to draw it at: `started`, but never before the run kept before it.

    Args:
        history: a folder or URL; default, what `GDNBENCH_HISTORY` names.
        change, kind, device, since: as of `gdnbench history list`.

    Warns:
        HistoryWarning: for each run that is damaged or of a later schema, which is left out.

    Raises:
        UserError, EnvironmentMissing: as `open_history`.
    """
    from gdnbench.history.selecting import Selecting

    opened = open_history(history)
    listing = opened.listing()
    start = since if isinstance(since, datetime) or since is None else time_of(since)
    tables = opened.tables(Selecting(change, kind, device, start).of(listing.runs))
    for skipped in (*listing.skipped, *tables.skipped):
        warnings.warn(f"skipped {skipped}", HistoryWarning, stacklevel=2)
    for caveat in listing.warnings:
        warnings.warn(f"{caveat.message}: {caveat.advice}", HistoryWarning, stacklevel=2)
    return tables.query(POINTS_AND_RUNS)


def time_of(text: str) -> datetime:
    """The time that a person named: a date or time in ISO's format, in UTC, or so many days ago, such as `14d`.

    Raises:
        UserError: it is neither.
    """
    if text.endswith("d") and text[:-1].isdecimal() and len(text) < 7:
        return datetime.now(UTC) - timedelta(days=int(text[:-1]))
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UserError(f"--since {text}: a date such as 2026-11-01 is needed, or days such as 14d") from None
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).astimezone(UTC)
