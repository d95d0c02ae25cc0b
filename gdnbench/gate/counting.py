"""Counts one side of a gate in processes of their own: one for our builders, one for each vLLM."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from gdnbench.campaign.processes import Unanswered, ask, python_process
from gdnbench.drivers.choice import choose_part, find_part
from gdnbench.gate.commits import Commit
from gdnbench.gate.identity import identity_of
from gdnbench.values.errors import UserError
from gdnbench.values.gate import Cost, GateRun, Place, Selection
from gdnbench.values.metrics import COST_METRICS
from gdnbench.values.scenarios import NAMED
from gdnbench.values.scenarios import parse as parse_scenario
from gdnbench.values.variants import parse

TIMEOUT_S = 1800.0
"""All named scenarios of all changes take well under a minute on a machine of its own."""


def select(
    variants: Sequence[str] | None = None, part: str | None = None, scenarios: Sequence[str] | None = None
) -> Selection:
    """What a person asked for, checked.

    Raises:
        UserError: something is mistyped, or is nothing that a gate holds.
    """
    chosen = None
    if variants:
        parsed = [parse(text) for text in variants]
        for variant in parsed:
            if variant.handicap is not None or variant.kind == "fault":
                raise UserError(f"--variant {variant}: a gate holds builders as they are: no handicap and no fault")
            if part is not None:
                choose_part([variant], part)
        chosen = tuple(dict.fromkeys(map(str, parsed)))
    elif part is not None:
        find_part(None, part)
    names = tuple(dict.fromkeys(parse_scenario(text).name for text in scenarios or NAMED))
    return Selection(chosen, part, names)


def count_run(selection: Selection, commit: Commit | None = None) -> GateRun:
    """The exact costs of a selection: of this checkout, or of a commit's builders under this checkout's harness.

    Raises:
        UserError: the process that counts fails; the line says how.
        EnvironmentMissing: a release cannot be driven on this machine.
    """
    costs: dict[Place, Cost] = {}
    for vllm, variants in _by_process(selection):
        request = {"variants": variants, "part": selection.part, "scenarios": list(selection.scenarios)}
        process = python_process(vllm, builders=None if commit is None else commit.folder)
        whose = vllm or ("this checkout" if commit is None else f"commit {commit.name[:12]}")
        with tempfile.TemporaryDirectory() as directory:
            log = Path(directory) / "log"
            try:
                answer = ask(process, "gdnbench.gate.worker", request, log, TIMEOUT_S)
            except Unanswered as error:
                last = (log.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
                raise UserError(f"{whose}: the process that counts {error}: {last}") from None
        for variant, part, scenario, counts, failure in answer["rows"]:
            figures = None if counts is None else {metric.tag: counts[metric.tag] for metric in COST_METRICS}
            costs[Place(variant, part, scenario)] = Cost(figures, failure)
    folder, name = (None, None) if commit is None else (commit.folder, commit.name)
    return GateRun(identity_of(folder, name), selection, costs)


def _by_process(selection: Selection) -> list[tuple[str | None, list[str] | None]]:
    """The variants by the vLLM that their process must be able to import; None for all that are catalogued."""
    if selection.variants is None:
        return [(None, None)]
    texts = sorted(selection.variants, key=lambda text: parse(text).vllm or "")
    return [(vllm, list(own)) for vllm, own in groupby(texts, key=lambda text: parse(text).vllm)]
