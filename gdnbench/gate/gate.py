"""A gate from beginning to end: what the baseline is, what is to be measured, and both held against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gdnbench.campaign.plan import Plan
from gdnbench.gate.commits import Commit, builders_of, find_commit
from gdnbench.gate.comparing import compare_costs, differing_harness, in_order
from gdnbench.gate.counting import count_run, select
from gdnbench.gate.runs import load
from gdnbench.gate.step_time import Progress, against_commit, against_file, measure
from gdnbench.oracle.environment import repository_here
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.gate import GateResult, GateRow, GateRun, Identity, Selection
from gdnbench.values.variants import parse
from gdnbench.values.verdicts import Caveat

Paired = tuple[tuple[GateRow, ...], tuple[Caveat, ...]]
"""Rows of step time, and what a reader must know of them."""

NOT_PAIRED: Paired = ((), ())


def find_baseline(text: str) -> GateRun | Commit:
    """The baseline that a person named: a file that `--save` wrote, or else a commit of this repository.

    Raises:
        UserError: it is neither, or both.
    """
    path = Path(text).expanduser()
    is_file = path.is_file()
    try:
        checkout = repository_here()
        commit = find_commit(checkout, text) if text else None
    except EnvironmentMissing:
        if not is_file:
            raise
        commit = None
    if is_file and commit is not None:
        raise UserError(f"--baseline {text}: both a file and a commit are called so: write ./{text} for the file")
    if is_file:
        return load(path)
    if commit is None:
        raise UserError(
            f"--baseline {text}: neither a file nor a commit of this repository; a shallow clone lacks commits "
            "(git fetch --unshallow)"
        )
    return builders_of(checkout, commit)


def selection_for(
    baseline: GateRun | Commit | None,
    variants: Sequence[str] | None,
    part: str | None,
    scenarios: Sequence[str] | None,
) -> Selection:
    """What to count: what a person asked for, and where that says nothing, what the baseline's file holds.

    Raises:
        UserError: something is mistyped, or a commit is to be compared by code that is in none.
    """
    asked = select(variants, part, scenarios)
    if isinstance(baseline, Commit):
        for text in asked.variants or ():
            if parse(text).kind != "pr":
                raise UserError(
                    f"--variant {text}: it is no builder of this repository, so every commit has the same; "
                    "compare it with a file from --save"
                )
    if not isinstance(baseline, GateRun):
        return asked
    held = baseline.selection
    return Selection(
        asked.variants if variants else held.variants,
        asked.part if part is not None else held.part,
        asked.scenarios if scenarios else held.scenarios,
    )


def measure_now(
    baseline: GateRun | Commit | None, selection: Selection, plan: Plan | None, tell: Progress
) -> tuple[GateRun, Paired]:
    """What this checkout costs, and its step time: against a commit in pairs, else alone.

    Args:
        plan: of `plan_steps`; None to leave step time out.
        tell: is told how much of the step time is measured.

    Raises:
        UserError: there is nothing to compare with, and nothing to save either.
    """
    now, paired = count_run(selection), NOT_PAIRED
    if baseline is None and not now.costs:
        raise UserError(f"nothing to save: no part meets {', '.join(selection.scenarios)}")
    if plan is not None and isinstance(baseline, Commit):
        paired = against_commit(plan, baseline, tell)
    elif plan is not None:
        now = replace(now, steps=measure(plan, tell))
    return now, paired


def hold(
    named: str,
    baseline: GateRun | Commit,
    now: GateRun,
    may_be_gone: Sequence[str] = (),
    paired: Paired = NOT_PAIRED,
) -> GateResult:
    """This checkout's run held against the baseline.

    Args:
        named: how the baseline was named.
        baseline: a run from a file, or a commit, whose costs are counted here and now.
        now: of this checkout.
        may_be_gone: patterns of rows that may be gone.
        paired: what of step time was measured against the commit.

    Raises:
        UserError: nothing could be compared.
    """
    before = count_run(now.selection, baseline) if isinstance(baseline, Commit) else baseline
    costs = compare_costs(before, now, may_be_gone)
    steps, caveats = paired if isinstance(baseline, Commit) else against_file(before, now)
    warnings = (*_changed_files(before.identity), *differing_harness(before, now, costs), *caveats)
    return GateResult(named, before.identity, now.identity, in_order([*costs, *steps]), warnings)


def _changed_files(before: Identity) -> list[Caveat]:
    if not before.changed:
        return []
    return [
        Caveat(
            "changed files",
            f"the baseline was counted with files that differ from its commit {(before.commit or '')[:12]}",
            "save baselines of clean checkouts, so that anybody can count them again",
        )
    ]
