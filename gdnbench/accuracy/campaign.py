"""Runs the sides of a comparison one after another, each kept as soon as it is done, and judges what they answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gdnbench.accuracy.judging import judge_accuracy
from gdnbench.accuracy.lm_eval import installed
from gdnbench.accuracy.outputs import read_output
from gdnbench.accuracy.plan import AccuracyPlan
from gdnbench.accuracy.run import run_side
from gdnbench.accuracy.runs import AccuracyRun
from gdnbench.campaign.journal import CampaignJournal, new_directory
from gdnbench.campaign.turns import AFTER, BEFORE, CONTROL
from gdnbench.oracle.environment import release_process
from gdnbench.serving.failures import ServerFailed
from gdnbench.serving.judging.builds import NEVER_RAN, live_path, ran
from gdnbench.values.accuracy import AccuracyResult
from gdnbench.values.coverage import total
from gdnbench.values.errors import EnvironmentMissing
from gdnbench.values.serving import Coverage, Fault
from gdnbench.values.verdicts import Caveat

Told = Callable[[str, int, int], None]
"""Told a role, and how many of how many of its documents are answered."""


class AccuracyJournal(CampaignJournal[AccuracyPlan, AccuracyRun]):
    """A comparison on disk: as `campaign.journal` has it, and in `runs/` logs and lm-eval's output of each side."""

    plan_class = AccuracyPlan
    launch_class = AccuracyRun


def begin(plan: AccuracyPlan, directory: Path | None = None) -> AccuracyJournal:
    """The journal of a new comparison.

    Raises:
        UserError: `directory` holds one already.
        EnvironmentMissing: it cannot be written.
    """
    return AccuracyJournal.create(directory or new_directory(plan.sides, "accuracy"), plan)


def check(plan: AccuracyPlan, say: Callable[[str], None] = lambda line: None) -> None:
    """Make sure that the task, lm-eval and the releases are at hand; better now than in a run.

    Raises:
        UserError, EnvironmentMissing: they are not.
    """
    plan.find_task()
    installed()
    for release in dict.fromkeys(plan.releases.values()):
        release_process(release, whole=True, device=plan.server.device, say=say)


def run(journal: AccuracyJournal, told: Told = lambda role, done, total: None) -> tuple[AccuracyRun, ...]:
    """Run what is still missing; all runs.

    Raises:
        Interrupted: by Ctrl-C; the finished runs are kept.
        ServerFailed: a server or lm-eval failed; likewise.
        UserError, EnvironmentMissing: something cannot be had.
    """
    plan = journal.plan
    with journal.running(ServerFailed, EnvironmentMissing):
        documents = sum(1 for _ in plan.find_task().test.open("rb"))
        documents = min(documents, plan.limit or documents)
        for number in journal.missing():
            role = plan.role(number)
            told(role, 0, documents)
            journal.record(run_side(plan, number, journal.directory, partial(_tell, told, role, documents)))
    return journal.finished()


def _tell(told: Told, role: str, documents: int, done: int) -> None:
    told(role, done, documents)


def judge(journal: AccuracyJournal, runs: Sequence[AccuracyRun]) -> AccuracyResult:
    """Judge the finished runs of a comparison: before and after at least.

    Raises:
        UserError: an output of lm-eval is damaged.
    """
    plan = journal.plan
    outputs = {run.role: read_output(journal.directory / run.folder) for run in runs}
    covered = coverage(plan, runs)
    return judge_accuracy(
        outputs[BEFORE],
        outputs[AFTER],
        outputs.get(CONTROL),
        sides=plan.sides,
        floor=plan.floor,
        coverage=covered,
        faults=tuple(_faults(plan, runs, covered)),
        warnings=tuple(_warnings(runs)),
        identity=_identity(plan, runs),
    )


def coverage(plan: AccuracyPlan, runs: Sequence[AccuracyRun]) -> Coverage:
    """Which steps each side's builders met, and how many of them ran what the sides differ in."""
    return Coverage(
        builds={run.role: run.coverage for run in runs},
        needs=live_path(plan).steps,
        ran={run.role: ran(plan, run.coverage) for run in runs},
    )


def _faults(plan: AccuracyPlan, runs: Sequence[AccuracyRun], covered: Coverage) -> Iterator[Fault]:
    first = runs[0]
    for run in runs:
        if not covered.ran[run.role]:
            met = f"none of its {total(run.coverage):,} builds was one"
            yield Fault("never_ran", f"{NEVER_RAN}: {covered.needs} run it, and {run.role} had none: {met}")
        if run.server.release != plan.releases[run.role]:
            yield Fault("release", f"{run.role} ran in vLLM {run.server.release}, not {plan.releases[run.role]}")
        if run.server.prefix_caching:
            yield Fault("prefix_caching", f"{run.role}: prefix caching was on, so states came from earlier answers")
        if run.server.command != first.server.command:
            yield Fault("flags", f"the servers of {first.role} and {run.role} were started differently")


def _warnings(runs: Sequence[AccuracyRun]) -> Iterator[Caveat]:
    """States that a side read from elsewhere than where they lay."""
    for run in runs:
        if run.witness and run.witness["losses"]:
            yield Caveat("state-lost", f"{run.role}: {loss_in_words(run.witness)}", "correct that field first")


def loss_in_words(witness: Mapping[str, Any]) -> str:
    """What a witness saw go wrong first, and how often."""
    first = witness["first"]
    drafts = "no drafts" if first["drafts_before"] < 0 else f"{first['drafts_before']} drafts"
    return (
        f"{witness['losses']:,} of {witness['checks']:,} states were read from the wrong block, first in step "
        f"{first['step']}, KV group {first['group']}, row {first['row']} of {first['rows']} on the {first['path']} "
        f"path: {first['field']} led to block {first['reads']}, and the state lay in {first['lies_in']}, since the "
        f"last step had {drafts} and left {first['accepted_before']} tokens"
    )


def _identity(plan: AccuracyPlan, runs: Sequence[AccuracyRun]) -> dict[str, object]:
    server = runs[0].server
    return {
        "releases": dict(plan.releases),
        "preset": plan.server.preset,
        "served_model": plan.server.model,
        "flags": list(plan.server.flags),
        "speculative": plan.server.speculative,
        "device": plan.server.device,
        "runner": server.runner,
        "graphs": server.graphs,
        "groups": server.groups,
        "concurrency": plan.concurrency,
        "backend": plan.backend,
        "environment": dict(runs[0].environment),
        "started": [run.started for run in runs],
        "seconds": [run.seconds for run in runs],
    }
