"""Did each side's builder run where it should, only there, and with the metadata that was promised?

mixed_steps      the side changed within a step
wrong_side       a block was built by another side, or not by its own
builds_per_step  other than in the unpatched server: the side does less or more than its share
unequal          metadata differed in live steps, where it was promised equal or where sides share their state
unproven         sides that promise nothing took turns in one server, and were not compared there
never_ran        no step ran what the change touched
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from gdn_impl.catalog import ANY_STEP, CATALOG, Level, LivePath
from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.serving.judging.findings import Finding
from gdnbench.serving.judging.rounds import where
from gdnbench.serving.plan import Compared, ServePlan
from gdnbench.serving.planning import promised_equal
from gdnbench.serving.records import Block, ServeLaunch
from gdnbench.values.coverage import Builds, Kind, total
from gdnbench.values.serving import Coverage

NEVER_RAN = "the changed code never ran"
SAME_BUILDS = 0.01
"""Within which builds per step count as the same: a step cut off by the end of the count is no difference."""


def build_findings(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Finding]:
    """Everything that is wrong with the builders of the sides."""
    for launch in launches:
        for block in launch.blocks:
            yield from _block(plan, launch.number, block)
        yield from _per_step(launch)
        yield from _equality(plan, launch)
    yield from _never_ran(plan, launches)


def promises(plan: ServePlan) -> bool:
    """Whether both sides must give the same metadata."""
    return promised_equal(plan.variants[BEFORE], plan.variants[AFTER])


def coverage(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Coverage:
    """All launches together."""
    path = live_path(plan)
    merged = {role: _merged([launch.coverage.get(role, ()) for launch in launches]) for role in plan.sides}
    return Coverage(merged, path.steps, {role: ran(plan, builds) for role, builds in merged.items()})


def live_path(plan: Compared) -> LivePath:
    """The steps that run what differs between the sides."""
    same = plan.variants[BEFORE].bare == plan.variants[AFTER].bare
    return ANY_STEP if same or plan.change is None else CATALOG[plan.change].live


def _block(plan: ServePlan, launch: int, block: Block) -> Iterator[Finding]:
    at = where(launch, block)
    if block.mixed_steps:
        what = f"the side changed within {block.mixed_steps} of its steps"
        yield Finding("mixed_steps", at, what, block.concurrency)
    if block.builds is None:
        return
    others = {role: count for role, count in block.builds.items() if role != block.role and count}
    if others:
        what = " and ".join(f"{count:,} builds of {role}" for role, count in others.items())
        yield Finding("wrong_side", at, f"{what} ran in it", block.concurrency)
    if not block.builds.get(block.role):
        yield Finding("wrong_side", at, f"no build of {block.role} ran in it", block.concurrency)


def _per_step(launch: ServeLaunch) -> Iterator[Finding]:
    for server in launch.servers:
        own, theirs = server.builds_per_step, server.unpatched_builds_per_step
        if own is not None and theirs is not None and abs(own - theirs) > SAME_BUILDS * max(own, theirs):
            at = f"launch {launch.number}{f', {server.role}' if server.role else ''}"
            yield Finding("builds_per_step", at, f"{own:.2f} builds a step, and {theirs:.2f} in the unpatched server")


def _equality(plan: ServePlan, launch: ServeLaunch) -> Iterator[Finding]:
    found, promised, shared = launch.equality, promises(plan), plan.method == "switch"
    at = f"launch {launch.number}"
    if found is not None and found.different and (promised or shared):
        why = "which were promised equal" if promised else "and the sides share their state"
        fields = ", ".join(found.fields)
        yield Finding("unequal", at, f"{found.different:,} of {found.builds:,} live builds differ in {fields}, {why}")
    if shared and not promised and not (found and found.builds):
        yield Finding("unproven", at, "nothing shows that the sides, which share their state, give equal metadata")


def _never_ran(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Finding]:
    path, change = live_path(plan), CATALOG.get(plan.change or 0)
    same = plan.variants[BEFORE].bare == plan.variants[AFTER].bare
    if change is not None and not same and not change.judged_at(Level.SERVER):
        reason = change.not_judged_at[Level.SERVER]
        yield Finding("never_ran", "", f"{NEVER_RAN}: a live server does not judge {change.number}: {reason}")
        return
    code = "a build" if change is None or path is ANY_STEP else f"the code of {change.number}"
    if path.speculation and plan.server.speculative is None:
        yield Finding("never_ran", "", f"{NEVER_RAN}: {path.steps} run {code}, and this server does not speculate")
        return
    for launch in launches:
        for role in (BEFORE, AFTER):
            builds = launch.coverage.get(role, ())
            if not ran(plan, builds):
                met = f"none of the {total(builds):,} builds of {role} in launch {launch.number} was one"
                yield Finding("never_ran", "", f"{NEVER_RAN}: {path.steps} run {code}, and {met}")


def ran(plan: Compared, builds: Iterable[Builds]) -> int:
    """Builds in steps that run what differs between the sides."""
    path = live_path(plan)
    if path.speculation and plan.server.speculative is None:
        return 0
    return total(builds, *(Kind(kind) for kind in path.kinds))


def _merged(launches: Iterable[Iterable[Builds]]) -> tuple[Builds, ...]:
    """One entry for each kind: builds added up, means weighted by them, medians the median of the launches'."""
    groups: dict[tuple[Kind, bool], list[Builds]] = {}
    for one in (build for builds in launches for build in builds):
        groups.setdefault((one.kind, one.staged), []).append(one)
    order = list(Kind)
    return tuple(_sum(groups[key]) for key in sorted(groups, key=lambda key: (order.index(key[0]), key[1])))


def _sum(found: Sequence[Builds]) -> Builds:
    timed = [(one.mean_us, one.builds) for one in found if one.mean_us is not None and one.builds]
    medians = [one.median_us for one in found if one.median_us is not None]
    weight = sum(count for _, count in timed)
    return Builds(
        kind=found[0].kind,
        staged=found[0].staged,
        builds=sum(one.builds for one in found),
        mean_us=sum(mean * count for mean, count in timed) / weight if weight else None,
        median_us=median(medians) if medians else None,
    )
