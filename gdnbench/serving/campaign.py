"""Runs a server campaign: its launches one after another, each kept as soon as it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gdnbench.campaign.journal import new_directory
from gdnbench.campaign.turns import BEFORE
from gdnbench.oracle.environment import release_process
from gdnbench.serving.failures import ServerFailed
from gdnbench.serving.journal import ServeJournal
from gdnbench.serving.launch import Waits, blocks_of, run_launch
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import ServeLaunch
from gdnbench.values.coverage import Kind
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.workloads.workload import Workload, choose

Told = Callable[[int, int], None]
"""Told how many blocks of how many are done."""


def begin(plan: ServePlan, directory: Path | None = None) -> ServeJournal:
    """The journal of a new campaign.

    Raises:
        UserError: `directory` holds a campaign already.
        EnvironmentMissing: it cannot be written.
    """
    return ServeJournal.create(directory or new_directory(plan.sides, "serve"), plan)


def check_releases(plan: ServePlan, say: Callable[[str], None] = lambda line: None) -> None:
    """Make sure that the releases are at hand, fetching them where they are not; better now than in a launch.

    Raises:
        UserError, EnvironmentMissing: they cannot be had.
    """
    for release in {*plan.releases.values(), plan.load_release}:
        release_process(release, whole=True, device=plan.server.device, say=say)


def requests(plan: ServePlan) -> Workload:
    """The requests of a campaign: the same whenever they are chosen.

    Raises:
        UserError: the dataset is damaged, or leaves nothing to send.
    """
    asked = plan.workload
    return choose(
        None if asked.dataset is None else Path(asked.dataset),
        Path(plan.server.tokenizer),
        seed=asked.seed,
        prompts=asked.prompts,
        output_len=asked.output_len,
        max_prompt=asked.max_prompt,
        max_total=asked.max_total,
    )


def run(journal: ServeJournal, told: Told = lambda done, total: None) -> tuple[ServeLaunch, ...]:
    """Run what is still missing of a campaign; all its launches.

    Args:
        journal: of the campaign, new or interrupted.
        told: at the start and after each block.

    Raises:
        Interrupted: by Ctrl-C; the finished launches are kept.
        ServerFailed: a server died, hung or would not start; likewise.
        UserError, EnvironmentMissing: the dataset or a release cannot be had.
    """
    plan = journal.plan
    with journal.running(ServerFailed, EnvironmentMissing):
        workload = requests(plan)
        _same_requests(journal, workload)
        waits = _waits(journal, workload)
        total = plan.launches * blocks_of(plan)
        done = total - len(journal.missing()) * blocks_of(plan)
        told(done, total)

        def tick() -> None:
            nonlocal done
            done += 1
            told(done, total)

        for number in journal.missing():
            journal.record(run_launch(plan, number, workload, waits, journal.directory / "logs", tick))
    return journal.finished()


def _waits(journal: ServeJournal, workload: Workload) -> Waits:
    """The busy waits of handicapped roles, found once for a campaign: a percentage is one of a build in this server."""
    plan = journal.plan
    handicaps = {role: variant.handicap for role, variant in plan.variants.items() if variant.handicap is not None}
    if not handicaps:
        return {}
    kept = journal.waits()
    if kept is None:
        build_us = 0.0
        if any(handicap.unit == "%" for handicap in handicaps.values()):
            build_us = _build_us(journal, workload)
        kept = {role: {"build": handicap.nanoseconds(build_us)} for role, handicap in handicaps.items()}
        journal.record_waits(kept)
    return {role: waits["build"] for role, waits in kept.items()}


def _build_us(journal: ServeJournal, workload: Workload) -> float:
    """What the most frequent kind of build takes without a handicap, microseconds, from a short launch of its own."""
    plan = journal.plan
    bare = {role: str(variant.bare) for role, variant in plan.variants.items()}
    short = replace(plan, sides=bare, loads=tuple(replace(load, rounds=2) for load in plan.loads))
    found = run_launch(short, 0, workload, {}, journal.directory / "logs")
    most = max(found.coverage[BEFORE], key=lambda builds: builds.builds if builds.kind is not Kind.MIXED else 0)
    return most.median_us or 0.0


def _same_requests(journal: ServeJournal, workload: Workload) -> None:
    for launch in journal.finished():
        if dict(launch.workload) != dict(workload.identity):
            raise UserError(
                f"the requests differ from those of launch {launch.number}: the dataset or tokenizer has changed; "
                "begin a new campaign"
            )
