"""Runs a campaign: its launches one after another, each kept as soon as it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from gdnbench.campaign.executors.base import LOCAL, Executor, LaunchLost, Needs, Tick
from gdnbench.campaign.journal import Journal, log_of, new_directory
from gdnbench.campaign.machine import Hardware
from gdnbench.campaign.plan import Plan
from gdnbench.campaign.processes import Unanswered, ask, python_process
from gdnbench.campaign.records import LaunchRecord
from gdnbench.values.errors import UserError

TIMEOUT_S = 900.0
"""After which a launch counts as hanging; one of all named scenarios takes about a minute."""


SIZINGS = 3
"""Fresh processes that size the busy waits of handicaps: what a wait costs to begin differs between processes."""


class LaunchFailed(UserError):  # noqa: N818 - what happened, not a fault
    """A launch crashed or hung; the line names its log. What was finished is kept."""

    exit_code = 4


def check_sides(plan: Plan, say: Callable[[str], None] = lambda line: None) -> None:
    """Make sure that the sides' releases are at hand, fetching them where they are not; better now than in a launch.

    Args:
        plan: of the campaign.
        say: is told before something that takes long.

    Raises:
        UserError, EnvironmentMissing: they cannot be had.
    """
    for vllm in {variant.vllm for variant in plan.variants.values()}:
        python_process(vllm, say)


def needs(plan: Plan, hardware: Hardware | None = None) -> Needs:
    """What a machine must have for launches of a plan.

    Args:
        hardware: of the launches that are finished.
    """
    checkouts = [vllm.removeprefix("path:") for vllm in plan.vllms if vllm.startswith("path:")]
    paths = [Path(checkout).expanduser().resolve() / "vllm" for checkout in sorted(checkouts)]
    return Needs(plan.device, partial(check_sides, plan), tuple(paths), hardware)


def begin(plan: Plan, directory: Path | None = None) -> Journal:
    """The journal of a new campaign.

    Args:
        plan: what to compare.
        directory: of the journal; default, a new one in the cache.

    Raises:
        UserError: `directory` holds a campaign already.
        EnvironmentMissing: it cannot be written.
    """
    return Journal.create(directory or new_directory(plan.sides), plan)


def run(
    journal: Journal,
    done: Callable[[int], None] = lambda finished: None,
    timeout_s: float = TIMEOUT_S,
    executor: Executor = LOCAL,
) -> tuple[LaunchRecord, ...]:
    """Run what is still missing of a campaign; all its launches.

    Args:
        journal: of the campaign, new or interrupted.
        done: told how many launches are finished, at the start and after each.
        timeout_s: after which a launch counts as hanging.
        executor: runs the launches; prepared, where that is not this machine.

    Raises:
        Interrupted: by Ctrl-C; the finished launches are kept.
        LaunchFailed: a launch crashed or hung; likewise.
        LaunchLost: machines of a cluster were lost; likewise.
        UserError, EnvironmentMissing: a side cannot be driven, on any scenario or on this machine.
    """
    plan = journal.plan
    with journal.running(LaunchLost, options=executor.options):
        waits = journal.waits()
        if waits is None and plan.handicapped:
            size = partial(_size, plan, timeout_s, executor.here)
            waits = typical_waits(list(executor.run(size, [0] * SIZINGS, journal.directory, _nothing)))
            journal.record_waits(waits)
        launch = partial(_launch, plan, waits or {}, timeout_s, executor.here)
        missing = journal.missing()
        done(plan.launches - len(missing))
        records = executor.run(launch, missing, journal.directory, _nothing)
        for finished, record in enumerate(records, start=plan.launches - len(missing) + 1):
            journal.record(record)
            done(finished)
    return journal.finished()


def typical_waits(sized: Sequence[Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """For each role and scenario the median of the waits, in idle loops, that several processes found."""
    return {
        role: {name: round(median(one[role][name] for one in sized)) for name in waits}
        for role, waits in sized[0].items()
    }


def _launch(
    plan: Plan,
    waits: Mapping[str, Mapping[str, int]],
    timeout_s: float,
    here: bool,
    number: int,
    directory: Path,
    tick: Tick,
) -> LaunchRecord:
    clock = time.monotonic()  # as one waits for it, so with the start of the process
    launch = LaunchRecord.from_json(_ask(plan, waits, timeout_s, here, number, directory))
    tick()
    return replace(launch, seconds=round(time.monotonic() - clock, 3))


def _size(
    plan: Plan, timeout_s: float, here: bool, number: int, directory: Path, tick: Tick
) -> dict[str, dict[str, int]]:
    """The busy waits of handicapped sides, as one process finds them."""
    found: dict[str, dict[str, int]] = _ask(plan, {}, timeout_s, here, number, directory)["waits"]
    return found


def _ask(
    plan: Plan, waits: Mapping[str, Mapping[str, int]], timeout_s: float, here: bool, number: int, directory: Path
) -> dict[str, Any]:
    """What the process of one launch answers."""
    plan = plan if here else plan.bound_here()
    log = log_of(directory, number)
    log.parent.mkdir(exist_ok=True)
    request = {"plan": plan.to_json(), "number": number, "waits": waits}
    try:
        reply = ask(python_process(plan.shared_vllm), "gdnbench.campaign.launch", request, log, timeout_s)
    except Unanswered as error:
        raise LaunchFailed(f"launch {number} {error}; its log: {log}") from None
    log.unlink()
    return reply


def _nothing() -> None:
    """A launch of steps takes seconds: it is told when it is done."""
