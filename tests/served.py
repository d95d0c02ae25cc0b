"""Launches of server campaigns that never ran: sound ones, to be damaged one figure at a time."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gdnbench.campaign.turns import AFTER, BEFORE, CONTROL, creation, turns
from gdnbench.serving.plan import Load, ServePlan, ServerSetting, WorkloadRequest
from gdnbench.serving.records import (
    Acceptance,
    Block,
    LiveEquality,
    LoadFacts,
    Pooled,
    ServeLaunch,
    ServerFacts,
)
from gdnbench.values.coverage import Builds, Kind

MTP = {"method": "mtp", "num_speculative_tokens": 2}
STEP_MS, TTFT_MS, PROMPT = 5.0, 20.0, 50
ENVIRONMENT = {"cpu": "a processor", "cores": 2, "load_average": [0.5], "torch": "2.13.0", "python": "3", "system": "L"}
WORKLOAD = {
    "dataset": {"name": "sharegpt-like", "version": 1, "seed": 0},
    "tokenizer": {"name": "tiny-gdn", "sha256": "70"},
    "limits": {"min_tokens": 4, "max_prompt": 1024, "max_total": 2048},
    "requests": 64,
    "distinct_prompts": 64,
    "not_from_human": 0,
    "sha256": "5e",
}


def plan(
    before: str = "pr51913.before",
    after: str = "pr51913.after",
    *,
    method: str = "switch",
    speculative: Mapping[str, Any] | None = None,
    loads: tuple[tuple[int, int, int], ...] = ((1, 4, 6), (16, 32, 6)),
    launches: int = 9,
    releases: tuple[str, str] = ("0.29.0", "0.29.0"),
    output_len: int = 32,
) -> ServePlan:
    sides = {BEFORE: before, AFTER: after, **({CONTROL: before} if method == "switch" else {})}
    return ServePlan(
        sides=sides,
        method=method,  # type: ignore[arg-type]
        releases=dict(zip(sides, [*releases, releases[0]], strict=False)),
        load_release=releases[0],
        server=ServerSetting("tiny-cpu", "tiny", "tiny", ("--enforce-eager",), {"OMP": "1"}, speculative, "cpu"),
        loads=tuple(Load(*load) for load in loads),
        workload=WorkloadRequest(None, 0, 64, output_len),
        launches=launches,
        server_cores=(0,),
        load_cores=(1,),
    )


def campaign(asked: ServePlan, step: float = 1.0, accepted: float = 1.0, **rest: float) -> list[ServeLaunch]:
    """All launches; `step` and `accepted` are ratios after / before of step time and tokens per step."""
    return [launch(asked, number, step, accepted, **rest) for number in range(1, asked.launches + 1)]


def launch(
    asked: ServePlan, number: int, step: float = 1.0, accepted: float = 1.0, scatter: float = 0.003, bias: float = 0.0
) -> ServeLaunch:
    order = creation(tuple(asked.sides), number)
    rng = random.Random(number)
    blocks: list[Block] = []
    for load in asked.loads:
        for turn, roles in enumerate(_turns(asked, order, number, load.rounds)):
            for role in roles:
                own = (step, accepted) if role == AFTER else (1.0, 1.0)
                noise = math.exp(rng.gauss(bias if role == AFTER else 0.0, scatter))
                blocks.append(block(asked, load, role, turn, len(blocks), own[0] * noise, own[1]))
    return ServeLaunch(
        number=number,
        started="2026-01-01T00:00:00+00:00",
        seconds=60.0,
        order=order,
        seed=0,
        servers=tuple(server(asked, role) for role in ((None,) if asked.method == "switch" else order)),
        load=LoadFacts(asked.load_release, asked.load_cores, {"temperature": 0}, asked.workload.output_len, True),
        workload=WORKLOAD,
        blocks=tuple(blocks),
        pooled=pooled(blocks),
        coverage={role: covered(asked, role, blocks, step if role == AFTER else 1.0) for role in asked.sides},
        equality=LiveEquality(500, 0, ()) if asked.method == "switch" else None,
        environment=ENVIRONMENT,
    )


def block(
    asked: ServePlan, load: Load, role: str, turn: int, place: int, step: float = 1.0, accepted: float = 1.0
) -> Block:
    """One block, of `load.requests` requests of like length, whose figures agree with each other."""
    length, n = asked.workload.output_len, load.requests
    tokens_per_step = 2.5 * accepted if asked.server.speculative else 1.0
    itl = STEP_MS * step * (1 if load.concurrency == 1 else 2)
    tpot, ttft = itl / tokens_per_step, TTFT_MS * load.concurrency**0.5
    e2el = ttft + tpot * (length - 1)
    duration = n * e2el / 1000 / load.concurrency
    chunks = round(n * (length - 1) / tokens_per_step)
    tokens = n * length
    figures: dict[str, float | None] = {
        "output_throughput": tokens / duration,
        "total_token_throughput": (tokens + n * PROMPT) / duration,
        "request_throughput": n / duration,
    }
    for tag, value in {"ttft": ttft, "tpot": tpot, "itl": itl, "e2el": e2el}.items():
        figures |= {f"mean_{tag}_ms": value, f"median_{tag}_ms": 0.98 * value, f"p99_{tag}_ms": 1.5 * value}
    accepting = Acceptance(chunks, 2 * chunks, round(chunks * (tokens_per_step - 1))) if tokens_per_step > 1 else None
    return Block(
        role=role,
        concurrency=load.concurrency,
        round=turn,
        started=float(place),
        duration_s=duration,
        sent=n,
        completed=n,
        failed=0,
        empty=0,
        input_tokens=n * PROMPT,
        output_tokens=tokens,
        figures=figures,
        samples={"ttft": n, "tpot": n, "itl": chunks, "e2el": n},
        acceptance=accepting,
        prompts=f"prompts-{load.concurrency}-{turn}",
        texts=f"texts-{load.concurrency}-{turn}",
        builds={role: 3 * max(chunks, n)},
    )


def pooled(blocks: list[Block]) -> tuple[Pooled, ...]:
    found = []
    for role, concurrency in dict.fromkeys((one.role, one.concurrency) for one in blocks):
        own = [one for one in blocks if (one.role, one.concurrency) == (role, concurrency)]
        for tag in ("ttft", "tpot", "itl", "e2el"):
            p99 = max(one.figures[f"p99_{tag}_ms"] or 0.0 for one in own)
            found.append(Pooled(role, concurrency, tag, sum(one.samples[tag] for one in own), p99, 2 * p99))
    return tuple(found)


def covered(asked: ServePlan, role: str, blocks: list[Block], step: float = 1.0) -> tuple[Builds, ...]:
    """The builds of a side; what its steps are slower by, its builds are, of which a step has three."""
    more = (step - 1) * STEP_MS * 1000 / 3
    builds = sum((one.builds or {}).get(role, 0) for one in blocks)
    mostly = Kind.SPECULATIVE if asked.server.speculative else Kind.DECODE
    return (
        Builds(mostly, False, builds, 57.0 + more, 55.0 + more),
        Builds(Kind.PREFILL, False, builds // 20, 80.0 + more, 78.0 + more),
        Builds(Kind.MIXED, False, builds // 40, 120.0 + more, 118.0 + more),
    )


def server(asked: ServePlan, role: str | None) -> ServerFacts:
    return ServerFacts(
        role=role,
        release=asked.releases[role or BEFORE],
        command=asked.server.flags,
        settings={**asked.server.settings, "GDNBENCH_ROLE": str(role)},
        runner="V1",
        graphs="NONE",
        groups=3,
        prefix_caching=False,
        start_s=30.0,
        cores=asked.server_cores,
        builds_per_step=3.0,
        unpatched_builds_per_step=3.0,
    )


def with_blocks(
    launches: list[ServeLaunch], change: Callable[[Block], Block | None], number: int | None = 2
) -> list[ServeLaunch]:
    """The launches, with `change` applied to the blocks of one (None: of all); a block that becomes None is dropped."""

    def changed(one: ServeLaunch) -> ServeLaunch:
        return replace(one, blocks=tuple(new for block in one.blocks if (new := change(block)) is not None))

    return [changed(one) if number in (None, one.number) else one for one in launches]


def at(block: Block, role: str = AFTER, concurrency: int = 16, turn: int = 3) -> bool:
    """Whether it is this block: by default one of `after` in the middle."""
    return (block.role, block.concurrency, block.round) == (role, concurrency, turn)


def _turns(asked: ServePlan, order: tuple[str, ...], number: int, rounds: int) -> list[tuple[str, ...]]:
    if asked.method == "switch":
        return list(turns(tuple(asked.sides), number, rounds))
    return [order] * rounds


def judge_ratio(step: float) -> float:
    """What a step that takes `step` times as long does to tok/s at concurrency 1, from `block`'s own arithmetic."""
    asked = plan()
    load = asked.loads[0]
    before, after = (block(asked, load, BEFORE, 0, 0, times) for times in (1.0, step))
    return before.duration_s / after.duration_s
