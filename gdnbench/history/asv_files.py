"""asv's result files (version 2, as asv 0.6 writes them), read for a history: values, samples, units.

A result whose values are all null is one null, and a row or list ends where only nulls would follow. Units lie in
`benchmarks.json`, one folder up, where asv keeps it. The files are data: limited, checked, never executed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from gdnbench.ingest.asv import value_at
from gdnbench.values.errors import UserError

MOST_BYTES = 256 << 20
MOST_FIGURES = 500_000

_SECONDS, _BYTES = ("time", "timeraw"), ("mem", "peakmem")


@dataclass(frozen=True, slots=True)
class AsvFigure:
    """One benchmark with one choice of parameters.

    Attributes:
        value: None where it failed.
        samples: those that were recorded.
        repeat: how many samples it rests on, recorded or not.
    """

    benchmark: str
    parameters: tuple[str, ...]
    version: str
    value: float | None
    unit: str
    samples: tuple[float, ...]
    repeat: int


@dataclass(frozen=True, slots=True)
class AsvFile:
    """A result file.

    Attributes:
        commit, environment, python: by asv's names; the commit is empty where there is none.
        date: of the commit, milliseconds since 1970.
        machine: what asv knows of it: `machine`, `cpu`, `os`, `num_cpu`.
    """

    commit: str
    environment: str
    python: str
    date: int
    machine: Mapping[str, str]
    figures: tuple[AsvFigure, ...]


def read_asv(path: Path, data: Mapping[str, Any]) -> AsvFile:
    """The figures of a result file.

    Raises:
        UserError: it is of another version, or damaged.
    """
    try:
        if data["version"] != 2:
            raise UserError(f"{path}: result files of asv of version 2 are read, not {str(data['version'])[:20]}")
        columns, units = list(data["result_columns"]), _units(path)
        figures: list[AsvFigure] = []
        for name, row in data["results"].items():
            figures += _figures(str(name), dict(zip(columns, row or [None], strict=False)), units)
            if len(figures) > MOST_FIGURES:
                raise UserError(f"{path}: more than {MOST_FIGURES:,} figures")
        commit = data.get("commit_hash")
        return AsvFile(
            commit="" if commit in (None, "None") else str(commit),
            environment=str(data.get("env_name", "")),
            python=str(data.get("python", "")),
            date=int(data["date"]),
            machine={str(name): str(value) for name, value in dict(data.get("params") or {}).items()},
            figures=tuple(figures),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path}: a damaged result file of asv ({type(error).__name__} at {str(error)[:80]})") from None


def _units(path: Path) -> dict[str, str]:
    """By benchmark, as asv keeps them beside the machines' folders; nothing where that file is not to be had."""
    described = path.parent.parent / "benchmarks.json"
    try:
        if described.stat().st_size > MOST_BYTES:
            return {}
        found = json.loads(described.read_bytes())
        return {name: str(one["unit"]) for name, one in found.items() if isinstance(one, dict) and "unit" in one}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def _figures(name: str, cells: Mapping[str, Any], units: Mapping[str, str]) -> Iterator[AsvFigure]:
    lists = [[str(value) for value in one] for one in cells.get("params") or []]
    if math.prod(len(one) for one in lists) > MOST_FIGURES:
        raise ValueError(f"too many parameters of {name}")
    for place, parameters in enumerate(product(*lists)):
        value = _number(value_at(cells.get("result"), place))
        if value is not None and math.isnan(value):
            continue  # skipped, not failed
        samples = [_number(one) for one in value_at(cells.get("samples"), place) or []]
        yield AsvFigure(
            benchmark=name,
            parameters=parameters,
            version=str(cells.get("version") or ""),
            value=value,
            unit=units.get(name) or _unit(name),
            samples=tuple(one for one in samples if one is not None and math.isfinite(one)),
            repeat=int(_number(value_at(cells.get("stats_repeat"), place)) or 0),
        )


def _unit(name: str) -> str:
    kind = name.rpartition(".")[2].partition("_")[0]
    return "s" if kind in _SECONDS else "B" if kind in _BYTES else ""


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
