"""Were both sides, and all launches, the same but for what is compared?

sampling        requests were sampled or ended differently, or not as planned
release         a server or the load generator ran another vLLM than planned, or the sides differ in it by accident
flags           servers were started differently
workload        launches had other requests
prefix_caching  it was on: later blocks are served from earlier ones
compilation     the server compiled while it was measured
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.serving.judging.findings import Finding
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import ServeLaunch, ServerFacts
from gdnbench.values.serving import ServeIdentity

_COMPILATION = re.compile(r"compil|\bjit\b|autotun|captur", re.IGNORECASE)
_CHOSEN_BY_A_RELEASE = ("runner", "graphs", "groups")
"""What a release chooses by itself: two releases may differ in it, and a reader is told."""
_OUR_SETTINGS = "GDNBENCH_"


def sameness_findings(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Finding]:
    """Everything in which sides or launches differ that should not."""
    first = launches[0]
    if not sides_are_releases(plan) and plan.releases[BEFORE] != plan.releases[AFTER]:
        yield Finding("release", "", f"{BEFORE} ran in {plan.releases[BEFORE]} and {AFTER} in {plan.releases[AFTER]}")
    for launch in launches:
        at = f"launch {launch.number}"
        yield from _load(plan, first, launch, at)
        if dict(launch.workload) != dict(first.workload):
            what = f"unlike launch {first.number} in {_unlike(first.workload, launch.workload)} of the requests"
            yield Finding("workload", at, what)
        for role in plan.sides:
            if plan.method == "apart":
                yield from _server(plan, first, launch, role, f"{at}, {role}")
        if plan.method == "switch":
            yield from _server(plan, first, launch, BEFORE, at)


def _load(plan: ServePlan, first: ServeLaunch, launch: ServeLaunch, at: str) -> Iterator[Finding]:
    load = launch.load
    if load.release != plan.load_release:
        yield Finding("release", at, f"the load generator was that of {load.release}, not {plan.load_release}")
    if _sampling(launch) != _sampling(first):
        unlike = _unlike(first.load.sampling, load.sampling)
        yield Finding("sampling", at, f"unlike launch {first.number} in {unlike} of the sampling")
    if load.output_len != plan.workload.output_len:
        asked = plan.workload.output_len
        yield Finding("sampling", at, f"{load.output_len} tokens a request were asked for, not {asked}")
    if not load.ignore_eos:
        yield Finding("sampling", at, "the end of a sequence was not ignored")


def _server(plan: ServePlan, first: ServeLaunch, launch: ServeLaunch, role: str, at: str) -> Iterator[Finding]:
    server, of_first = server_of(launch, role), server_of(first, role)
    if server is None or of_first is None:
        yield Finding("flags", at, "no server of this side is on record")
        return
    if server.release != plan.releases[role]:
        yield Finding("release", at, f"the server ran {server.release}, not {plan.releases[role]}")
    if server.prefix_caching:
        yield Finding("prefix_caching", at, "prefix caching was on: later blocks are served from earlier ones")
    for line in server.notes:
        if is_compilation(line):
            yield Finding("compilation", at, f"the server compiled while it was measured: {line}")
    between_sides = _CHOSEN_BY_A_RELEASE if sides_are_releases(plan) else ()
    for other, named, allowed in (
        (server_of(launch, BEFORE), BEFORE, between_sides),
        (of_first, f"launch {first.number}", ()),
    ):
        unlike = [] if other is None else [name for name in started(server, other) if name not in allowed]
        if unlike:
            yield Finding("flags", at, f"unlike {named} in its {', '.join(unlike)}")


def started(one: ServerFacts, other: ServerFacts) -> list[str]:
    """In what two servers differ, but for release and side."""
    names = ("command", "runner", "graphs", "groups", "cores")
    found = [name for name in names if getattr(one, name) != getattr(other, name)]
    own, theirs = (
        {key: value for key, value in server.settings.items() if not key.startswith(_OUR_SETTINGS)}
        for server in (one, other)
    )
    return found + (["settings"] if own != theirs else [])


def server_of(launch: ServeLaunch, role: str) -> ServerFacts | None:
    """The server in which a side ran."""
    return next((server for server in launch.servers if server.role in (None, role)), None)


def sides_are_releases(plan: ServePlan) -> bool:
    """Whether the question is about two releases as they are."""
    return any(plan.variants[role].vllm is not None for role in (BEFORE, AFTER))


def is_compilation(line: str) -> bool:
    """Whether a line of a server's log tells of compilation; it would be no part of what is measured."""
    return _COMPILATION.search(line) is not None


def identity(plan: ServePlan, launches: Sequence[ServeLaunch]) -> ServeIdentity:
    """What was compared, and in which servers: as the first launch has it."""
    first = launches[0]
    servers = {role: server for role in plan.sides if (server := server_of(first, role)) is not None}
    return ServeIdentity(
        sides=dict(plan.sides),
        releases=dict(plan.releases),
        method=plan.method,
        load_release=plan.load_release,
        preset=plan.server.preset,
        model=plan.server.model,
        flags=plan.server.flags,
        settings=dict(plan.server.settings),
        speculative=plan.server.speculative,
        device=plan.server.device,
        runner={role: server.runner for role, server in servers.items()},
        graphs={role: server.graphs for role, server in servers.items()},
        groups=max((server.groups for server in servers.values()), default=0),
        loads=tuple((load.concurrency, load.requests, load.rounds) for load in plan.loads),
        sampling=dict(first.load.sampling),
        output_len=plan.workload.output_len,
        workload=dict(first.workload),
        launches=len(launches),
        environment=dict(first.environment),
    )


def _sampling(launch: ServeLaunch) -> dict[str, Any]:
    """A launch's seed is its own."""
    return {key: value for key, value in launch.load.sampling.items() if key != "seed"}


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    return ", ".join(sorted(key for key in {*one, *other} if one.get(key) != other.get(key)))
