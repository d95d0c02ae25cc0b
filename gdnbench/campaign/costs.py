"""Counts the exact costs of both sides of a comparison; a release's side in a process of its environment.

`python -m gdnbench.campaign.costs` is that process: it reads `{"variant", "parts", "change", "scenarios"}` and answers
one JSON object. Counts are exact, so one process is enough.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gdnbench.campaign.pipes import failure, leave, private_stdout
from gdnbench.campaign.processes import Unanswered, ask, die_with_parent, python_process
from gdnbench.drivers.choice import change_of, choose_part, driver_class
from gdnbench.drivers.registry import PARTS
from gdnbench.stats.exact import judge_counts
from gdnbench.values.errors import UserError
from gdnbench.values.scenarios import parse as parse_scenario
from gdnbench.values.variants import Variant
from gdnbench.values.variants import parse as parse_variant
from gdnbench.values.verdicts import CostResult, CostRow

TIMEOUT_S = 300.0

Count = Callable[[Variant, Sequence[str], int | None, Sequence[str]], Mapping[str, Any]]
"""Counts one side: see `count_side`."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The costs of one part: judged, and the scenarios that it cannot meet, each with the reason."""

    result: CostResult
    refused: Mapping[str, str]


def count_costs(
    before: Variant,
    after: Variant,
    scenarios: Sequence[str],
    part: str | None = None,
    count: Count | None = None,
) -> dict[str, Counted]:
    """The costs of both sides, by part: `part`, or all measured parts of the comparison's change.

    Args:
        count: counts a side instead of `count_side`, as something that remembers the sides that it has counted.

    Raises:
        UserError: something is mistyped, or no part can meet any of the scenarios.
        EnvironmentMissing: a release cannot be driven on this machine.
    """
    sides = (before, after)
    for side in sides:
        if side.handicap is not None:
            raise UserError(f"{side}: a handicap costs time, not operations; leave it out")
    change = change_of(sides)
    found: dict[str, Counted] = {}
    parts = _parts(sides, change, part)
    counts = [(count or count_side)(side, parts, change, scenarios) for side in sides]
    for name in parts:
        found[name] = _judged(sides, scenarios, [side[name] for side in counts])
    if not any(counted.result.rows for counted in found.values()):
        name, counted = next(iter(found.items()))
        scenario, reason = next(iter(counted.refused.items()))
        raise UserError(f"part {name!r} meets none of the scenarios; {scenario}: {reason}")
    return {name: counted for name, counted in found.items() if counted.result.rows}


def _parts(sides: tuple[Variant, Variant], change: int | None, part: str | None) -> list[str]:
    if part is None and change is not None:
        return [one.name for one in PARTS[change] if one.measured]
    return [choose_part(sides, part)]


def _judged(sides: tuple[Variant, Variant], scenarios: Sequence[str], counts: Sequence[Mapping[str, Any]]) -> Counted:
    refused = {name: reason for side in counts for name, reason in side["refused"].items()}
    rows, judgements = [], {}
    for name in scenarios:
        if name in refused:
            continue
        costs = [side["costs"][name] for side in counts]
        for side, cost in zip(sides, costs, strict=True):
            rows.append(CostRow(name, str(side), cost["counts"], tuple(cost["operations"])))
        judgements[name] = judge_counts(costs[0]["counts"], costs[1]["counts"])
    return Counted(CostResult(tuple(rows), judgements), refused)


def count_side(variant: Variant, parts: Sequence[str], change: int | None, scenarios: Sequence[str]) -> dict[str, Any]:
    """The costs of one side by part, as `count_here` gives them, all in one process: a release takes seconds to import.

    Raises:
        UserError, EnvironmentMissing: it cannot be driven.
    """
    if variant.vllm is None:
        return {part: count_here(variant, part, change, scenarios) for part in parts}
    process = python_process(variant.vllm)
    request = {"variant": str(variant), "parts": list(parts), "change": change, "scenarios": list(scenarios)}
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        try:
            return ask(process, "gdnbench.campaign.costs", request, log, TIMEOUT_S)
        except Unanswered as error:
            last = (log.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
            raise UserError(f"{variant}: the process that counts {error}: {last}") from None


def count_here(variant: Variant, part: str, change: int | None, scenarios: Sequence[str]) -> dict[str, Any]:
    """The costs of one side, counted in this process, as JSON."""
    from gdnbench.probes.cost import step_costs

    driver = driver_class(variant, part, change)
    costs, refused = {}, {}
    for name in scenarios:
        scenario = parse_scenario(name)
        if reason := driver.refuses(scenario):
            refused[name] = reason
            continue
        step = step_costs(lambda device, scenario=scenario: driver(variant.state, scenario, device))  # type: ignore[misc]
        operations = [str(operation) for operation in step.operations]
        costs[name] = {"counts": step.costs.as_dict(), "operations": operations}
    return {"costs": costs, "refused": refused}


def main() -> None:
    die_with_parent()
    answers = private_stdout()
    request = json.load(sys.stdin)
    try:
        variant = parse_variant(request["variant"])
        change, scenarios = request["change"], request["scenarios"]
        answer = {part: count_here(variant, part, change, scenarios) for part in request["parts"]}
    except Exception as error:
        answer = failure(error)
    json.dump(answer, answers)
    answers.flush()
    leave(0)


if __name__ == "__main__":
    main()
