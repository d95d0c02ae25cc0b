"""The hook of commands that measure: keeps their runs where a history was named, and does nothing where none was."""

from __future__ import annotations

import sys
from collections.abc import Callable

from gdnbench.history.doors import open_history
from gdnbench.values.runs import Run

Record = Callable[[Callable[[], Run]], None]
"""Takes what makes a run; it is made only where there is a history to keep it."""


def recorder(location: str | None) -> Record:
    """What keeps runs in the history at `location`; nothing does for None or an empty text.

    To be called before anything is measured: what the history lacks is said then, and not after hours.

    Raises:
        UserError, EnvironmentMissing: there can be no history there, the extra is missing, or it cannot be written.
    """
    if not location:
        return lambda make: None
    history = open_history(location)
    history.place.prepare()

    def record(make: Callable[[], Run]) -> None:
        name, new = history.record(make())
        print(f"kept in the history {location}: {name}" if new else f"in the history already: {name}", file=sys.stderr)

    return record
