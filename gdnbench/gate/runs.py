"""A gate's baseline in a file: what `--save` writes, and `--baseline` reads. The file is data: limited and checked."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from gdnbench.oracle.cache import write_aside
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.gate import Cost, GateRun, Identity, Place, Selection, StepTimes
from gdnbench.values.metrics import COST_METRICS, STEP_METRICS

SCHEMA = 1
COUNTING = 1
"""Raised whenever what is counted changes its meaning: runs of other numbers are not compared."""
MOST_BYTES = 32 << 20
LONGEST_TEXT = 5000


def save(run: GateRun, path: Path) -> None:
    """Write a run to a new file.

    Raises:
        UserError: something is there already.
        EnvironmentMissing: the disk does not take it.
    """
    refuse_present(path)
    data = {
        "schema": SCHEMA,
        "counting": COUNTING,
        "identity": run.identity.to_json(),
        "selection": run.selection.to_json(),
    }
    head = json.dumps(data, indent=1)[:-2]
    costs = ",\n".join(json.dumps(_cost(place, cost)) for place, cost in run.costs.items())
    steps = ",\n".join(json.dumps(_step(place, step)) for place, step in run.steps.items())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_aside(path, f'{head},\n "costs": [\n{costs}\n],\n "steps": [\n{steps}\n]\n}}\n')
    except OSError as error:
        raise EnvironmentMissing(f"cannot write {path} ({error.strerror or error})") from None


def refuse_present(path: Path) -> None:
    """Check that nothing stands where a run is to be saved.

    Raises:
        UserError: something does.
    """
    if os.path.lexists(path):
        raise UserError(f"--save {path}: it is there already, and a baseline is never overwritten")


def load(path: Path) -> GateRun:
    """The run that `save` wrote.

    Raises:
        UserError: it cannot be read, or is something else; the line names file and place.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UserError(f"cannot read the baseline {path}: {error.strerror or error}") from None
    if len(content) > MOST_BYTES:
        raise UserError(f"{path}: more than {MOST_BYTES >> 20} MiB: no baseline")
    try:
        data = json.loads(content, parse_constant=_no_number)
        _expect(isinstance(data, dict) and {"schema", "identity", "selection"} <= data.keys(), "it has no identity")
        _expect(data["schema"] == SCHEMA, f"its schema is not {SCHEMA}: save the baseline again with this version")
        _expect(data.get("counting") == COUNTING, "another version of gdnbench counted it: save the baseline again")
        return GateRun(
            _identity(data["identity"]),
            _selection(data["selection"]),
            dict(_rows(data, "costs", _read_cost)),
            dict(_rows(data, "steps", _read_step)),
        )
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is no baseline from gdnbench gate --save: {str(error).splitlines()[0]}") from None


def _cost(place: Place, cost: Cost) -> dict[str, Any]:
    figures = {"failure": cost.failure} if cost.counts is None else {"counts": dict(cost.counts)}
    return {"variant": place.variant, "part": place.part, "scenario": place.scenario, **figures}


def _step(place: Place, step: StepTimes) -> dict[str, Any]:
    return {
        "variant": place.variant,
        "part": place.part,
        "scenario": place.scenario,
        "metric": step.metric,
        "device": step.device,
        "rounds": step.rounds,
        "us": list(step.microseconds),
    }


def _rows(data: Mapping[str, Any], name: str, read: Callable[[Any], Any]) -> dict[Place, Any]:
    rows = data.get(name)
    _expect(isinstance(rows, list), f"{name} are no list")
    found: dict[Place, Any] = {}
    for number, row in enumerate(rows or ()):
        where = f"{name}[{number}]"
        _expect(isinstance(row, dict), f"{where} is no object")
        place = Place(*(_text(row.get(key), f"{where}.{key}") for key in ("variant", "part", "scenario")))
        _expect(place not in found, f"{where} has the place of a row before it")
        try:
            found[place] = read(row)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    return found


def _read_cost(row: Mapping[str, Any]) -> Cost:
    if "failure" in row:
        return Cost(None, _text(row["failure"], "failure"))
    counts: Any = row.get("counts")
    tags = {metric.tag for metric in COST_METRICS}
    _expect(isinstance(counts, dict) and counts.keys() >= tags, f"counts lack one of {', '.join(sorted(tags))}")
    for tag in tags:
        _expect(_is_whole(counts[tag]), f"{tag} is no count")
    return Cost({metric.tag: counts[metric.tag] for metric in COST_METRICS})


def _read_step(row: Mapping[str, Any]) -> StepTimes:
    _expect(row.get("metric") in [metric.tag for metric in STEP_METRICS], "metric is unknown")
    _expect(row.get("device") in ("cpu", "cuda"), "device is neither cpu nor cuda")
    _expect(_is_whole(row.get("rounds")) and row["rounds"] > 0, "rounds are no number of blocks")
    us = row.get("us")
    _expect(isinstance(us, list) and 0 < len(us) <= 10_000, "us is no list of launches")
    for one in us or ():
        right = isinstance(one, int | float) and not isinstance(one, bool) and 0 < one < math.inf
        _expect(right, "us holds what is no time")
    return StepTimes(row["metric"], row["device"], row["rounds"], tuple(map(float, us or ())))


def _identity(data: Any) -> Identity:
    names = {one.name for one in fields(Identity)}
    _expect(isinstance(data, dict) and names <= data.keys(), "identity lacks a key")
    values = {name: data[name] for name in names}
    _expect(isinstance(values["changed"], bool), "identity.changed is neither true nor false")
    _expect(_is_whole(values["cores"]), "identity.cores is no number")
    for name in names - {"changed", "cores"}:
        if not (name in ("commit", "gpu") and values[name] is None):
            _text(values[name], f"identity.{name}")
    return Identity(**values)


def _selection(data: Any) -> Selection:
    _expect(isinstance(data, dict), "selection is no object")
    variants, part, scenarios = (data.get(key) for key in ("variants", "part", "scenarios"))
    _expect(variants is None or isinstance(variants, list), "selection.variants are no list")
    _expect(isinstance(scenarios, list) and scenarios, "selection.scenarios are no list")
    return Selection(
        None if variants is None else tuple(_text(one, "selection.variants") for one in variants),
        None if part is None else _text(part, "selection.part"),
        tuple(_text(one, "selection.scenarios") for one in scenarios or ()),
    )


def _text(value: Any, name: str) -> str:
    _expect(isinstance(value, str) and len(value) <= LONGEST_TEXT and value.isprintable(), f"{name} is no plain text")
    return str(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def _expect(right: Any, message: str) -> None:
    if not right:
        raise ValueError(message)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
