"""One launch of a server campaign: fresh servers, both sides, blocks of the same requests.

`switch`: one server in which all roles take turns, block by block; the plugin switches between them.
`apart`: one server after the other, each with its side from start to end, in an order that swaps from launch to launch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gdnbench.campaign.surroundings import surroundings
from gdnbench.campaign.turns import AFTER, BEFORE, creation, turns
from gdnbench.oracle.environment import release_process
from gdnbench.plugin.activation import server_environment
from gdnbench.plugin.control import Control
from gdnbench.serving.load import LoadGenerator
from gdnbench.serving.plan import Load, ServePlan
from gdnbench.serving.records import LiveEquality, LoadFacts, ServeLaunch, ServerFacts
from gdnbench.serving.server import Server
from gdnbench.serving.session import UNPATCHED, Session, Tick, log_directory, requests_of
from gdnbench.values.coverage import Builds
from gdnbench.workloads.workload import Workload

SAMPLING = {"temperature": 0}

Waits = Mapping[str, int]
"""By role, nanoseconds that each of its builds is made slower."""


def blocks_of(plan: ServePlan) -> int:
    """How often a launch ticks: its blocks and its passes that do not count."""
    servers = 1 if plan.method == "switch" else len(plan.sides)
    passes = servers * len(plan.loads)
    return passes + sum(load.rounds for load in plan.loads) * len(plan.sides)


def run_launch(
    plan: ServePlan, number: int, workload: Workload, waits: Waits, logs: Path, tick: Tick = lambda: None
) -> ServeLaunch:
    """One launch.

    Args:
        number: from 1.
        workload: the requests of the campaign.
        waits: of handicapped roles.
        logs: where the logs of servers and load generators go, one directory for each launch.
        tick: called after each block.

    Raises:
        ServerFailed: a server or load generator died, hung or would not start; the line names its log.
        UserError, EnvironmentMissing: a release cannot be had.
    """
    started = datetime.now(UTC)
    loads = plan.loads if number % 2 else plan.loads[::-1]
    launch = _Launch(
        plan=plan,
        number=number,
        order=_order(plan, number),
        rounds={load: requests_of(load, len(workload.requests), f"{plan.workload.seed}/{number}") for load in loads},
        workload=workload,
        waits=waits,
        directory=log_directory(logs, number),
        clock=time.monotonic(),
        tick=tick,
    )
    found = _switch(launch) if plan.method == "switch" else _apart(launch)
    return ServeLaunch(
        number=number,
        started=started.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - launch.clock, 1),
        order=launch.order,
        seed=plan.workload.seed,
        servers=tuple(found.servers),
        load=LoadFacts(plan.load_release, plan.load_cores, SAMPLING, plan.workload.output_len, ignore_eos=True),
        workload=workload.identity,
        blocks=tuple(found.blocks),
        pooled=tuple(found.pooled),
        coverage=found.coverage,
        equality=found.equality,
        environment={**surroundings(), "engine": found.engine},
    )


def _order(plan: ServePlan, number: int) -> tuple[str, ...]:
    """By `apart` the sides swap from launch to launch, so that neighbouring servers of two launches have one side."""
    roles = tuple(plan.sides)
    if plan.method == "switch":
        return creation(roles, number)
    return roles if number % 2 else roles[::-1]


@dataclass(frozen=True)
class _Launch:
    """What a launch is about."""

    plan: ServePlan
    number: int
    order: tuple[str, ...]
    rounds: Mapping[Load, list[list[int]]]
    workload: Workload
    waits: Waits
    directory: Path
    clock: float
    tick: Tick


class _Found:
    """What the servers of a launch gave."""

    def __init__(self) -> None:
        self.servers: list[ServerFacts] = []
        self.blocks: list[Any] = []
        self.pooled: list[Any] = []
        self.coverage: dict[str, tuple[Builds, ...]] = {}
        self.equality: LiveEquality | None = None
        self.engine: Mapping[str, Any] = {}

    def add(self, session: Session, role: str | None, unpatched: float, per_step: float) -> None:
        snapshot, facts = session.control.snapshot(), session.control.facts()
        server, setting = session.server, session.plan.server
        self.engine = facts
        self.blocks += session.blocks
        self.pooled += session.pooled()
        for name in snapshot.roles:
            if name in session.plan.sides and (role is None or name == role):
                self.coverage[name] = session.coverage(name)
        if snapshot.compared:
            self.equality = LiveEquality(snapshot.compared, snapshot.different, snapshot.different_fields)
        self.servers.append(
            ServerFacts(
                role=role,
                release=str(facts["release"]),
                command=server.command,
                settings=dict(setting.settings),
                runner=str(facts["runner"]),
                graphs=str(facts["graphs"]),
                groups=snapshot.groups,
                prefix_caching=bool(facts["prefix_caching"]),
                start_s=round(server.start_s, 1),
                cores=session.plan.server_cores,
                builds_per_step=per_step,
                unpatched_builds_per_step=unpatched,
                notes=session.notes(),
            )
        )


def _switch(launch: _Launch) -> _Found:
    plan, found = launch.plan, _Found()
    with _session(launch, plan.sides, launch.directory) as session:
        unpatched = _first_builds(session, launch, UNPATCHED)
        for load, rounds in launch.rounds.items():
            session.warm_up(load, rounds, BEFORE, compare=AFTER in plan.sides)
        per_step = _first_builds(session, launch, launch.order[0])
        for load, rounds in launch.rounds.items():
            for turn, roles in enumerate(turns(tuple(plan.sides), launch.number, load.rounds)):
                for role in roles:
                    session.measure(role, load, turn, rounds[turn])
        found.add(session, None, unpatched, per_step)
    return found


def _apart(launch: _Launch) -> _Found:
    found = _Found()
    for role in launch.order:
        directory = launch.directory / role
        directory.mkdir()
        with _session(launch, {role: launch.plan.sides[role]}, directory) as session:
            unpatched = _first_builds(session, launch, UNPATCHED)
            for load, rounds in launch.rounds.items():
                session.warm_up(load, rounds, role, compare=False)
            per_step = _first_builds(session, launch, role)
            for load, rounds in launch.rounds.items():
                for turn in range(load.rounds):
                    session.measure(role, load, turn, rounds[turn])
            found.add(session, role, unpatched, per_step)
    return found


def _bind(server: Server, engine: int, plan: ServePlan) -> None:
    """Leaves the engine alone on its cores: the rest of the server answers from those of the load generator."""
    if plan.server_cores is None or plan.load_cores is None or set(plan.server_cores) == set(plan.load_cores):
        return
    for pid in server.pids():
        cores = plan.server_cores if pid == engine else plan.load_cores
        with suppress(OSError):  # a process that has just ended
            for thread in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setaffinity(int(thread.name), cores)


def _first_builds(session: Session, launch: _Launch, role: str) -> float:
    load, rounds = next(iter(launch.rounds.items()))
    return session.builds_per_step(role, load, rounds[0])


@contextmanager
def _session(launch: _Launch, sides: Mapping[str, str], directory: Path) -> Iterator[Session]:
    """A server with these sides in it, and a load generator that is ready; they start side by side."""
    plan = launch.plan
    release = plan.releases[next(iter(sides))]
    roles = {**sides, UNPATCHED: f"vllm@{release}"}
    with ExitStack() as stack:
        control = stack.enter_context(Control.create(directory / "control", tuple(roles)))
        load_process = release_process(plan.load_release, whole=True, device=plan.server.device)
        load = stack.enter_context(LoadGenerator(load_process, directory / "load.log", plan.load_cores))
        process = release_process(release, whole=True, device=plan.server.device)
        extra = server_environment(directory, control, roles, launch.waits, base=process.env)
        server = stack.enter_context(Server(process, plan.server, directory, env=extra, explain=control.refusal))
        server.start()
        _bind(server, control.snapshot().process, plan)
        load.prepare(
            url=server.url,
            key=server.key,
            model=server.model_name,
            tokenizer=plan.server.tokenizer,
            requests=launch.workload.requests,
            sampling=SAMPLING,
            ignore_eos=True,
        )
        yield Session(plan, launch.number, server, load, control, launch.clock, launch.tick)
