"""Runs a server campaign: its launches one after another, each kept as soon as it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from gdnbench.campaign.executors.base import LOCAL, Executor, LaunchLost, Needs, Tick
from gdnbench.campaign.journal import new_directory
from gdnbench.campaign.machine import Hardware
from gdnbench.campaign.turns import BEFORE
from gdnbench.oracle.environment import release_process
from gdnbench.serving.failures import ServerFailed
from gdnbench.serving.journal import ServeJournal
from gdnbench.serving.launch import Waits, blocks_of, run_launch
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.planning import bound_here
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


def needs(plan: ServePlan, hardware: Hardware | None = None) -> Needs:
    """What a machine must have for launches of a plan; not the dataset, since requests are sent with each launch.

    Args:
        hardware: of the launches that are finished.
    """
    drafter = (plan.server.speculative or {}).get("model")
    named = [Path(place) for place in (plan.server.model, plan.server.tokenizer, drafter) if place]
    paths = [place for place in dict.fromkeys(named) if place.exists()]
    return Needs(plan.server.device, partial(check_releases, plan), tuple(paths), hardware)


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


def run(
    journal: ServeJournal, told: Told = lambda done, total: None, executor: Executor = LOCAL
) -> tuple[ServeLaunch, ...]:
    """Run what is still missing of a campaign; all its launches.

    Args:
        journal: of the campaign, new or interrupted.
        told: at the start and after each block; after each launch, where that runs on another machine.
        executor: runs the launches; prepared, where that is not this machine.

    Raises:
        Interrupted: by Ctrl-C; the finished launches are kept.
        ServerFailed: a server died, hung or would not start; likewise.
        LaunchLost: machines of a cluster were lost; likewise.
        UserError, EnvironmentMissing: the dataset or a release cannot be had.
    """
    plan = journal.plan
    with journal.running(ServerFailed, LaunchLost, EnvironmentMissing, options=executor.options):
        workload = requests(plan)
        _same_requests(journal, workload)
        waits = _waits(journal, workload, executor)
        missing, each = journal.missing(), blocks_of(plan)
        total = plan.launches * each
        done = total - len(missing) * each
        told(done, total)

        def tick() -> None:
            nonlocal done
            done += 1
            told(done, total)

        launch = partial(_launch, plan, workload, waits, executor.here)
        records = executor.run(launch, missing, journal.directory, tick)
        for finished, record in enumerate(records, start=plan.launches - len(missing) + 1):
            journal.record(record)
            done = finished * each
            told(done, total)
    return journal.finished()


def _launch(
    plan: ServePlan, workload: Workload, waits: Waits, here: bool, number: int, directory: Path, tick: Tick
) -> ServeLaunch:
    return run_launch(plan if here else bound_here(plan), number, workload, waits, directory / "logs", tick)


def _waits(journal: ServeJournal, workload: Workload, executor: Executor) -> Waits:
    """The busy waits of handicapped roles, found once for a campaign: a percentage is one of a build in this server."""
    plan = journal.plan
    handicaps = {role: variant.handicap for role, variant in plan.variants.items() if variant.handicap is not None}
    if not handicaps:
        return {}
    kept = journal.waits()
    if kept is None:
        build_us = 0.0
        if any(handicap.unit == "%" for handicap in handicaps.values()):
            build_us = _build_us(journal, workload, executor)
        kept = {role: {"build": handicap.nanoseconds(build_us)} for role, handicap in handicaps.items()}
        journal.record_waits(kept)
    return {role: waits["build"] for role, waits in kept.items()}


def _build_us(journal: ServeJournal, workload: Workload, executor: Executor) -> float:
    """What the most frequent kind of build takes without a handicap, microseconds, from a short launch of its own."""
    plan = journal.plan
    bare = {role: str(variant.bare) for role, variant in plan.variants.items()}
    short = replace(plan, sides=bare, loads=tuple(replace(load, rounds=2) for load in plan.loads))
    launch = partial(_launch, short, workload, {}, executor.here)
    (found,) = executor.run(launch, [0], journal.directory, lambda: None)
    most = max(found.coverage[BEFORE], key=lambda builds: builds.builds if builds.kind is not Kind.MIXED else 0)
    return most.median_us or 0.0


def _same_requests(journal: ServeJournal, workload: Workload) -> None:
    for launch in journal.finished():
        if dict(launch.workload) != dict(workload.identity):
            raise UserError(
                f"the requests differ from those of launch {launch.number}: the dataset or tokenizer has changed; "
                "begin a new campaign"
            )
