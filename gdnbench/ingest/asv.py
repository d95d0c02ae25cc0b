"""A result file of asv (version 2, asv 0.6.x) as a record: one figure for each benchmark and choice of parameters.

Source: the files that asv 0.6.6 writes. `null` is a failure and NaN a skipped benchmark. A result whose values are all
null is written as one null, and a row ends where only nulls would follow; so values are laid out along the product of
the parameters, and columns are read by `result_columns`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from gdnbench.ingest.cold import slow_start
from gdnbench.ingest.lines import short
from gdnbench.ingest.loaded import as_float, is_number
from gdnbench.values.errors import UserError
from gdnbench.values.ingested import Absence, Record
from gdnbench.values.verdicts import Caveat

MOST_VALUES = 200_000
TIME_OUT_S = 60.0
"""asv's own; a time that equals it is that of a benchmark that was killed."""

_UNITS = {"time_": "s", "timeraw_": "s", "mem_": "B", "peakmem_": "B"}
_NO_COMMIT = frozenset({"", "none", "null"})


@dataclass(frozen=True, slots=True)
class AsvRecord(Record):
    """A result file.

    Attributes:
        versions: of each benchmark, its version: other versions are other benchmarks.
        timing: of each figure, samples and repetitions; None where they were not kept.
        samples: of each figure, the recorded samples.
    """

    versions: Mapping[str, str] = field(default_factory=dict)
    timing: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    samples: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def is_asv(document: Any) -> bool:
    """Whether a JSON document is a result file of asv."""
    return isinstance(document, dict) and isinstance(document.get("results"), dict) and "result_columns" in document


def read_asv(document: Mapping[str, Any], source: str, labels: tuple[str, ...]) -> Record:
    """The record of one result file.

    Raises:
        UserError: it is of another version, or its rows do not fit its columns.
    """
    if document.get("version") != 2:
        raise UserError(
            f"{source}: asv's result files of version 2 are read, not {short(str(document.get('version')))}"
        )
    names = document["result_columns"]
    if not isinstance(names, list) or not {"result", "params"} <= {name for name in names if isinstance(name, str)}:
        raise UserError(f"{source}: its result_columns name no result and params")
    metrics: dict[str, float] = {}
    absent: dict[str, Absence] = {}
    versions: dict[str, str] = {}
    units: dict[str, str] = {}
    timing: dict[str, tuple[float | None, float | None]] = {}
    samples: dict[str, tuple[float, ...]] = {}
    for benchmark, row in document["results"].items():
        cells = _cells(row, names, f"{source}: {short(benchmark)}")
        keys = _keys(short(benchmark, 200), cells.get("params"), source)
        if len(metrics) + len(absent) + len(keys) > MOST_VALUES:
            raise UserError(f"{source}: more than {MOST_VALUES:,} values")
        versions[short(benchmark, 200)] = short(str(cells.get("version", "")), 80)
        unit = next((unit for prefix, unit in _UNITS.items() if benchmark.rpartition(".")[2].startswith(prefix)), "")
        for place, key in enumerate(keys):
            value = value_at(cells.get("result"), place)
            if value is None:
                absent[key] = "failed"
            elif not is_number(value):
                raise UserError(f"{source}: {key} is {short(str(value), 30)}, which is no number")
            elif math.isnan(as_float(value)):
                absent[key] = "skipped"
            elif unit == "s" and value == TIME_OUT_S:
                absent[key] = "timed out"
            else:
                metrics[key] = as_float(value)
                units[key] = unit
                counts = [value_at(cells.get(name), place) for name in ("stats_number", "stats_repeat")]
                number, repeat = (as_float(count) if is_number(count) else None for count in counts)
                timing[key] = number, repeat
                if kept := value_at(cells.get("samples"), place):
                    samples[key] = (
                        tuple(as_float(one) for one in kept if is_number(one)) if isinstance(kept, list) else ()
                    )
    facts = {name: short(str(document.get(name)), 80) for name in ("commit_hash", "env_name", "python")}
    parameters = document.get("params")
    if isinstance(parameters, dict):
        facts |= {name: short(str(parameters.get(name)), 80) for name in ("machine", "cpu", "os", "ram")}
    return AsvRecord(
        source=source,
        kind="asv",
        form="a result file of asv",
        metrics=metrics,
        labels=labels,
        group="asv",
        facts=facts,
        units=units,
        absent=absent,
        warnings=tuple(_warnings(document, absent, samples)),
        versions=versions,
        timing=timing,
        samples=samples,
    )


def _cells(row: Any, names: Sequence[str], source: str) -> dict[str, Any]:
    """The columns of a row by name; a row that is one null has only its result."""
    if row is None:
        return {"result": None}
    if not isinstance(row, list) or len(row) > len(names):
        raise UserError(f"{source}: its row does not fit the columns of the file")
    return dict(zip(names, row, strict=False))


def _keys(benchmark: str, parameters: Any, source: str) -> list[str]:
    """The name of each value: the benchmark and its parameters, in the order in which asv runs through them."""
    if not parameters:
        return [benchmark]
    if not isinstance(parameters, list) or not all(isinstance(one, list) for one in parameters):
        raise UserError(f"{source}: the parameters of {benchmark} are no lists")
    if math.prod(len(one) for one in parameters) > MOST_VALUES:
        raise UserError(f"{source}: more than {MOST_VALUES:,} values of {benchmark}")
    return [f"{benchmark}({', '.join(short(str(value), 60) for value in chosen)})" for chosen in product(*parameters)]


def value_at(values: Any, place: int) -> Any:
    """One value of a column; a single null stands for nulls everywhere, and trailing ones are left out."""
    if isinstance(values, list):
        return values[place] if place < len(values) else None
    return values if place == 0 else None


def _warnings(
    document: Mapping[str, Any],
    absent: Mapping[str, Absence],
    samples: Mapping[str, Sequence[float]],
) -> Iterator[Caveat]:
    commit = str(document.get("commit_hash") or "").strip().lower()
    if commit in _NO_COMMIT or "dirty" in commit or "+" in commit:
        what = "unidentified: the file names no commit" if commit in _NO_COMMIT else "dirty: uncommitted changes"
        advice = "set the commit: asv run -E existing --set-commit-hash HEAD; a dashboard refuses such a file"
        yield Caveat("unidentified", what, advice)
    slow = [(key, found) for key, kept in samples.items() if (found := slow_start(kept)) is not None]
    if slow:
        key, (count, times) = slow[0]
        more = f", and {len(slow) - 1} more like it" if len(slow) > 1 else ""
        says = f"{key}: the first {count} of its samples took {times:.1f} times as long as the rest{more}"
        yield Caveat("slow_start", says, "read the median, and warm up with the same arguments")
    if killed := [key for key, why in absent.items() if why == "timed out"]:
        more = f", and {len(killed) - 1} more like it" if len(killed) > 1 else ""
        says = f"{killed[0]} is exactly asv's time-out of {TIME_OUT_S:g} s{more}"
        yield Caveat("time-out", says, "it was killed, which is no figure: give it a longer timeout")
