"""What was said of shifts: small files in the history, `shifts/<id>-<state>-<digits>.json`, that nobody changes.

One for each acknowledgement, and one for each state in which a night reported a shift. Two writers never take the same
name; of two acknowledgements the later one counts.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, get_args

from gdnbench.history.place import Place
from gdnbench.history.pointing import one_line
from gdnbench.history.reading import Skipped
from gdnbench.values.runs import moment
from gdnbench.values.shifts import Shift, ShiftState

DIRECTORY = "shifts"
SCHEMA = 1
MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Record:
    """What somebody, or a night, said of a shift.

    Attributes:
        shift: its id.
        series: the id of its series.
        runs: names of the nights that it was blamed on.
        state: that it had.
        reason: of an acknowledgement.
        recorded: when, UTC.
    """

    shift: str
    series: str
    runs: tuple[str, ...]
    state: ShiftState
    reason: str
    recorded: datetime

    def is_of(self, shift: Shift) -> bool:
        """Whether it speaks of a shift: the same, or one of the same series that begins in the nights blamed for it.

        Older runs that are imported later, or a night that is deleted, can move the first night of a shift.
        """
        return self.shift == shift.id or (self.series == shift.series.id and shift.first_after in self.runs[1:])


@dataclass(frozen=True, slots=True)
class Records:
    """All records of a history in order of time, and files that are none."""

    records: tuple[Record, ...]
    skipped: tuple[Skipped, ...]

    def applied(self, shifts: Sequence[Shift]) -> list[Shift]:
        """The shifts, those that were acknowledged with the reason; one whose level is back stays resolved."""
        reasons = [record for record in self.records if record.state == "acknowledged"]
        found = []
        for shift in shifts:
            reason = next((record.reason for record in reversed(reasons) if record.is_of(shift)), None)
            if reason is not None:
                shift = replace(shift, reason=reason, state="resolved" if shift.state == "resolved" else "acknowledged")
            found.append(shift)
        return found

    def has(self, shift: Shift) -> bool:
        """Whether the shift is on record in the state that it has."""
        return any(record.state == shift.state and record.is_of(shift) for record in self.records)


def keep_record(place: Place, shift: Shift) -> None:
    """Keep the state and the reason of a shift.

    Raises:
        EnvironmentMissing: the disk refuses.
    """
    head = {"schema": SCHEMA, "recorded": datetime.now(UTC).isoformat()}
    content = json.dumps(head | {"shift": shift.to_json()}, indent=1, allow_nan=False).encode()
    place.put(f"{DIRECTORY}/{shift.id}-{shift.state}-{uuid.uuid4().hex[:8]}.json", content)


def read_records(place: Place) -> Records:
    """Everything that is on record.

    Raises:
        EnvironmentMissing: the place cannot be read.
    """
    paths = [path for path in place.files(DIRECTORY) if path.endswith(".json") and "/." not in path]
    found, skipped = [], []
    for path, content in zip(paths, place.read(paths, MOST_BYTES + 1), strict=True):
        try:
            found.append(_record(content))
        except _Later as later:
            skipped.append(Skipped(one_line(path), str(later), damaged=False))
        except ValueError as error:
            skipped.append(Skipped(one_line(path), str(error)))
    return Records(tuple(sorted(found, key=lambda record: record.recorded)), tuple(skipped))


class _Later(Exception):  # noqa: N818 - nothing is wrong with such a record
    """A schema that this version does not know yet."""


def _record(content: bytes | Exception) -> Record:
    if isinstance(content, Exception):
        raise ValueError("it cannot be read")
    if len(content) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES >> 20} MiB")
    try:
        data: Any = json.loads(content)
        schema, shift = data["schema"], data["shift"]
        if isinstance(schema, int) and schema > SCHEMA:
            raise _Later(f"schema {schema} is of a later gdnbench: this one reads schemas up to {SCHEMA}")
        if shift["state"] not in get_args(ShiftState) or not isinstance(shift["blame"]["runs"], list):
            raise ValueError("no state, or no runs")
        texts = [shift["id"], shift["series"], shift["reason"], *shift["blame"]["runs"]]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a text is none")
        return Record(
            shift=shift["id"],
            series=shift["series"],
            runs=tuple(shift["blame"]["runs"]),
            state=shift["state"],
            reason=one_line(shift["reason"]),
            recorded=moment(data["recorded"]),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"no record of a shift ({type(error).__name__}: {str(error)[:100]})") from None
