"""What a reader must know of a campaign beside its verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean, median

from gdnbench.campaign.surroundings import priority_caveats
from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.serving.judging.builds import promises
from gdnbench.serving.judging.rounds import at_once, blocks_of, one_token, rounds
from gdnbench.serving.judging.sameness import is_compilation, server_of, sides_are_releases, started
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import Block, ServeLaunch
from gdnbench.values.metrics import TPOT
from gdnbench.values.verdicts import Caveat

SLOW, SLOWER_THAN_ALL = 1.5, 1.2
"""So many times slower than the rest typically, and than the slowest of it, is no scatter: blocks of identical requests
vary by a few percent."""


def caveats(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Caveat]:
    """All of them, but for those of the split and of the texts."""
    yield from _slow_start(plan, launches)
    yield from _all_at_once(launches)
    yield from _order(launches)
    yield from _servers(plan, launches)
    yield from _one_token_requests(plan, launches)
    yield from _workload(launches[0])
    yield from _environment(launches)


def _all_at_once(launches: Sequence[ServeLaunch]) -> Iterator[Caveat]:
    blocks = [block for launch in launches for block in launch.blocks]
    count = sum(at_once(block) for block in blocks)
    if count:
        what = (
            f"in {count:,} of {len(blocks):,} blocks answers came all at once; their times between tokens are left out"
        )
        yield Caveat("at_once", what, "keep other work off the load generator's core")


def _slow_start(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Caveat]:
    """Cold starts inside what was measured: the first blocks of a server against the rest."""
    found: list[str] = []
    for launch in launches:
        for load in plan.loads:
            for role in (None,) if plan.method == "switch" else tuple(plan.sides):
                blocks = blocks_of(launch, load.concurrency, role)
                if slow := _slow_blocks(blocks):
                    first, times = slow
                    which = f"the first {f'{first} blocks' if first > 1 else 'block'} at concurrency {load.concurrency}"
                    found.append(f"launch {launch.number}: {which} took {times:.1f} times as long as the rest")
    if found:
        more = f" (and {len(found) - 1} more like this)" if len(found) > 1 else ""
        advice = "see that the pass that is thrown away sends the same requests at the same concurrency"
        yield Caveat("slow_start", f"{found[0]}{more}", advice)


def _slow_blocks(blocks: Sequence[Block]) -> tuple[int, float] | None:
    """How many blocks at the start are slower than every later one, and how many times slower than those typically.

    Blocks differ by their prompts, so to be slower than typical is not enough.
    """
    each = [block.duration_s / block.output_tokens for block in blocks if block.output_tokens > 0]
    for first in range(len(each) // 2, 0, -1):
        slow, rest = each[:first], each[first:]
        if min(slow) > SLOWER_THAN_ALL * max(rest) and min(slow) > SLOW * median(rest):
            return first, mean(slow) / median(rest)
    return None


def _order(launches: Sequence[ServeLaunch]) -> Iterator[Caveat]:
    """Whether one side always came after the other within launches; between launches every row says it itself."""
    ran = [
        one.blocks[BEFORE].started < one.blocks[AFTER].started
        for one in rounds(launches)
        if BEFORE in one.blocks and AFTER in one.blocks
    ]
    first = sum(ran)
    if abs(2 * first - len(ran)) > max(1, len(ran) / 3):
        says = f"order not balanced: {BEFORE} ran before {AFTER} in {first} of {len(ran)} rounds"
        yield Caveat("unbalanced", says, "swap the roles from round to round and from launch to launch")


def _servers(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Caveat]:
    before, after = (server_of(launches[0], role) for role in (BEFORE, AFTER))
    if before and after and sides_are_releases(plan) and (unlike := started(after, before)):
        says = "the releases chose " + ", ".join(
            f"{name} {_shown(before, name)} -> {_shown(after, name)}" for name in unlike if hasattr(before, name)
        )
        yield Caveat(
            "chosen", says, "the ratio tells of that choice too: fix it with --server-flag to compare builders"
        )
    if plan.method == "switch" and promises(plan) and not all(one.equality and one.equality.builds for one in launches):
        advice = "hold the sides against each other with `gdnbench conform`"
        yield Caveat("uncompared", "metadata of both sides was not compared in live steps", advice)
    if any(
        server.builds_per_step is None or server.unpatched_builds_per_step is None
        for launch in launches
        for server in launch.servers
    ):
        advice = "measure with the plugin in the server"
        yield Caveat("uncounted", "builds per step were not held against those of the unpatched server", advice)
    lines = [line for one in launches for server in one.servers for line in server.notes if not is_compilation(line)]
    for line in dict.fromkeys(lines):
        yield Caveat("log", f"the server's log says: {line}", "judge whether it bears on what was measured")


def _shown(server: object, name: str) -> str:
    value = getattr(server, name)
    return " ".join(value) if name == "command" else str(value)


def _one_token_requests(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Caveat]:
    for load in plan.loads:
        blocks = [block for launch in launches for block in blocks_of(launch, load.concurrency)]
        completed = sum(block.completed for block in blocks)
        longer = sum(block.samples.get(TPOT.tag, 0) for block in blocks)
        if longer < completed and not one_token(launches, load.concurrency):
            says = f"at concurrency {load.concurrency} TPOT rests on {longer:,} of {completed:,} requests"
            yield Caveat("one_token", f"{says}: the others gave one token", "read TTFT and throughput for those")


def _workload(launch: ServeLaunch) -> Iterator[Caveat]:
    """What is odd about the requests, as their own identity has it."""
    sent, distinct = launch.workload.get("requests", 0), launch.workload.get("distinct_prompts")
    if distinct is not None and distinct < sent:
        says = f"{sent} requests from {distinct} distinct prompts"
        yield Caveat("repeated-prompts", says, "keep prefix caching off, or ask for fewer prompts")
    if others := launch.workload.get("not_from_human"):
        says = f"{others} of {sent} prompts do not start with human"
        yield Caveat("not-from-human", says, "these are vLLM's own: compare with runs that chose alike")


def _environment(launches: Sequence[ServeLaunch]) -> Iterator[Caveat]:
    first = launches[0].environment
    cores, loads = first.get("cores"), [one.environment.get("load_average") for one in launches]
    busiest = max((float(load[0]) for load in loads if load), default=0.0)
    if cores and busiest > cores:
        says = f"the load average reached {busiest:g} on {cores} cores"
        yield Caveat("busy", says, "free the machine of other work: noise widens the intervals")
    yield from priority_caveats(one.environment for one in launches)
    for key in ("cpu", "gpu", "torch", "python", "system"):
        kinds = {str(one.environment.get(key)) for one in launches}
        if len(kinds) > 1:
            yield Caveat("environment", f"launches ran under {len(kinds)} kinds of {key}", "begin a new campaign")
