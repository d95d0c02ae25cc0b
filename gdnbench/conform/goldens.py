"""Goldens: what the releases answered on the named scenarios, as digests that hold ours to it without them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from gdnbench.conform.comparison import is_foreign
from gdnbench.conform.jobs import Job
from gdnbench.conform.selection import meets
from gdnbench.devices.base import CpuDevice, Device
from gdnbench.devices.operations import Costs
from gdnbench.devices.traced import Trace, TracedDevice
from gdnbench.drivers.base import Driver
from gdnbench.oracle.cache import write_aside
from gdnbench.probes.cost import step_costs
from gdnbench.probes.digest import field_digests
from gdnbench.values.errors import UserError
from gdnbench.values.scenarios import Scenario, named, parse

Golden = dict[str, Any]

FEW_FIELDS = 64
"""More fields than these share one digest: 30 KV groups have hundreds."""


def torch_version() -> str:
    """Without the build: operations and their costs are those of a version."""
    return str(torch.__version__).partition("+")[0]


def record(job: Job, ours: type[Driver], theirs: type[Driver]) -> Golden:
    """What the release gives on every named scenario that both drivers can meet; called in its process."""
    scenarios = [scenario for scenario in named() if meets((ours, theirs), scenario)]
    return {
        "change": job.change,
        "part": job.part.name,
        "side": job.side,
        "release": job.release,
        "torch": torch_version(),
        "refused": [scenario.name for scenario in named() if scenario not in scenarios],
        "scenarios": {scenario.name: _answer(job, theirs, job.release, scenario) for scenario in scenarios},
    }


def deviations(kept: Golden, job: Job, ours: type[Driver]) -> list[str]:
    """Where our driver differs from a golden, one line each; operations and costs for the golden's torch alone."""
    found = []
    same_torch = kept["torch"] == torch_version()
    for name, expected in kept["scenarios"].items():
        given = json.loads(json.dumps(_answer(job, ours, job.side, parse(name))))
        keys = ("fields", "operations", "costs") if same_torch else ("fields",)
        for key in keys:
            if given.get(key) != expected.get(key):
                found.append(
                    f"{name}: {key}: golden {_brief(expected, given, key)}, ours {_brief(given, expected, key)}"
                )
    return found


def path_of(directory: Path, change: int, part: str, side: str) -> Path:
    """Where the golden of a part lies."""
    return directory / f"{change}-{re.sub(r'[^a-z0-9]+', '-', part.lower()).strip('-')}-{side}.json"


def text_of(kept: Golden) -> str:
    """A golden as it is committed: one line for each scenario."""
    head = {key: value for key, value in kept.items() if key != "scenarios"}
    lines = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in kept["scenarios"].items()]
    return json.dumps(head)[:-1] + ', "scenarios": {\n' + ",\n".join(lines) + "\n}}\n"


def write(directory: Path, goldens: Iterable[Golden]) -> Path:
    """Writes goldens, each aside and renamed; returns the directory.

    Raises:
        UserError: it cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for kept in goldens:
            write_aside(path_of(directory, kept["change"], kept["part"], kept["side"]), text_of(kept))
    except OSError as error:
        raise UserError(f"cannot write goldens to {directory}: {error.strerror or error}") from None
    return directory


def _answer(job: Job, driver: type[Driver], state: str, scenario: Scenario) -> dict[str, Any]:
    device = CpuDevice() if CpuDevice.name in driver.devices else TracedDevice()
    with device.active(), torch.inference_mode():
        made = driver(state, scenario, device)
    fields = {name: text for name, text in field_digests(made).items() if not is_foreign(name, driver)}
    answer: dict[str, Any] = {"fields": fields if len(fields) <= FEW_FIELDS else {f"all {len(fields)}": _hash(fields)}}
    if job.compares_operations and TracedDevice.name in driver.devices:
        answer |= _operations(driver, state, scenario)
    return answer


def _operations(driver: type[Driver], state: str, scenario: Scenario) -> dict[str, Any]:
    made: list[Driver] = []

    def make(device: Device) -> Driver:
        made.append(driver(state, scenario, device))
        return made[-1]

    trace = Trace()
    trace.extend(step_costs(make).operations)
    own = made[0].own_operations(trace)
    return {"operations": _hash([operation.signature for operation in own]), "costs": Costs.of(own).as_dict()}


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _brief(one: dict[str, Any], other: dict[str, Any], key: str) -> str:
    """What `one` has under a key, and for dictionaries only what the other has not."""
    mine, others = one.get(key), other.get(key)
    if isinstance(mine, dict) and isinstance(others, dict):
        mine = {name: value for name, value in mine.items() if others.get(name) != value}
    return json.dumps(mine)
