"""What `gdnbench serve` was asked for, as the plan of a campaign."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gdn_impl.catalog import CATALOG, Level
from gdnbench.campaign.turns import AFTER, BEFORE, CONTROL
from gdnbench.plugin import faults
from gdnbench.serving.plan import Compared, Method, ServePlan, ServerSetting, WorkloadRequest
from gdnbench.serving.presets import Preset, preset
from gdnbench.stats.median import ALPHA, fewest
from gdnbench.values.errors import UserError
from gdnbench.values.variants import Variant, parse

RELEASE = "0.29.0"
"""The first with 51913 and 52078."""
OF_LIMIT = "0.32.0"
"""Whose metadata `limit` gives."""

NO_SPECULATION = "none"
ROUNDS_OF_OBSERVATION = 8
"""Times those of a campaign of two sides, since half a percent is to be told from nothing."""


def plan_serve(
    before: str,
    after: str,
    *,
    concurrency: Sequence[int] = (1, 16),
    launches: int | None = None,
    rounds: int | None = None,
    method: str | None = None,
    preset_name: str = "tiny-cpu",
    release: str | None = None,
    model: str | None = None,
    tokenizer: Path | None = None,
    speculative: str | None = None,
    dataset: Path | None = None,
    output_len: int | None = None,
    seed: int = 0,
    flags: Sequence[str] = (),
    observation: bool = False,
    quick: bool = False,
) -> ServePlan:
    """The plan of a new campaign.

    Args:
        before, after: variants.
        concurrency: requests in flight, one load each.
        launches: default, the fewest that can say something of every load.
        rounds: blocks of each side in a launch at each concurrency; default, the preset's.
        method: `switch` or `apart`; default, `switch` where it is sound.
        preset_name: the setting everything else is taken from that is not given.
        release: the vLLM that serves reference builders.
        model, tokenizer: instead of the preset's.
        speculative: JSON, a word of the preset's such as `mtp`, or `none`.
        dataset: a ShareGPT file.
        output_len: tokens of each answer.
        seed: of the choice and order of requests.
        flags: more arguments of the server.
        observation: find what observing costs: both variants are one, and it is observed in every third step.
        quick: fewer rounds, for a first look.

    Raises:
        UserError: something is mistyped, or the sides cannot be compared in a server.
    """
    sides = parse(before), parse(after)
    chosen = preset(preset_name)
    for variant in sides:
        check_served(variant)
    releases = [release_of(variant, sides, release) for variant in sides]
    if method not in (None, "switch", "apart"):
        raise UserError(f"--method {method}: there are switch and apart")
    obstacle = _no_switch(sides, releases)
    if method == "switch" and obstacle:
        raise UserError(f"--method switch: {obstacle}; use --method apart")
    how: Method = "apart" if method == "apart" or obstacle else "switch"
    if observation and (how == "apart" or sides[0] != sides[1]):
        raise UserError("--observation compares a side with itself, by switch: give one variant twice")
    texts = {BEFORE: str(sides[0])}
    if not observation:
        texts[AFTER] = str(sides[1])
    if how == "switch" and not observation:
        texts[CONTROL] = str(sides[0])
    loads = tuple(chosen.load(c, quick) for c in sorted(set(concurrency)))
    if observation:
        loads = tuple(replace(load, rounds=load.rounds * ROUNDS_OF_OBSERVATION) for load in loads)
    if rounds is not None:
        loads = tuple(replace(load, rounds=rounds) for load in loads)
    server_cores, load_cores = _cores(chosen.device)
    return ServePlan(
        sides=texts,
        method=how,
        releases=dict(zip(texts, [*releases, releases[0]], strict=False)),
        load_release=releases[0],
        server=server_setting(chosen, model, tokenizer, speculative, max(concurrency), flags),
        loads=loads,
        workload=WorkloadRequest(
            dataset=None if dataset is None else str(dataset.expanduser().absolute()),
            seed=seed,
            prompts=chosen.prompts,
            output_len=output_len or chosen.output_len,
        ),
        launches=launches or fewest(ALPHA / len(loads)),
        server_cores=server_cores,
        load_cores=load_cores,
        observation=observation,
    )


def promised_equal(before: Variant, after: Variant) -> bool:
    """Whether two sides must give the same metadata: one builder twice, a change that promises it, or its release."""
    if before.kind == "fault" or after.kind == "fault":
        return False
    if before.bare == after.bare:
        return True
    if before.change is not None and before.change == after.change:
        return CATALOG[before.change].promises_equal
    limits = {before.kind, after.kind} == {"limit", "vllm"} and OF_LIMIT in (before.release, after.release)
    return limits or _same_state(before, after) or _same_state(after, before)


def _same_state(ours: Variant, release: Variant) -> bool:
    """Whether a reference builder stands at the state of a release."""
    if ours.change is None or release.release is None:
        return False
    first, second = CATALOG[ours.change].releases
    return release.release == (first if ours.side == "before" else second)


def check_served(variant: Variant, level: Level = Level.SERVER) -> None:
    """Make sure that a variant can run in a server.

    Raises:
        UserError: it cannot, or its change cannot be judged at that level.
    """
    change = CATALOG.get(variant.change or 0)
    if change is not None and not change.judged_at(level):
        raise UserError(f"{variant}: {change.not_judged_at[level]}")
    if variant.fault is not None:
        faults.check(variant.fault)
    if variant.kind == "path":
        raise UserError(f"{variant}: a server runs releases only; build a wheel of the checkout and install it")


def release_of(variant: Variant, sides: tuple[Variant, Variant], asked: str | None) -> str:
    """The vLLM that serves a side: its own if it is one, else the one asked for, else one that its builder fits."""
    if variant.release is not None:
        return variant.release
    if asked is not None:
        return asked
    for side in sides:
        if side.release is not None:
            return side.release
    if any(side.kind == "limit" for side in sides):
        return OF_LIMIT
    change = CATALOG.get(variant.change or 0)
    return RELEASE if change is None else max(RELEASE, change.releases[1], key=_numbers)


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:3])


def _no_switch(sides: tuple[Variant, Variant], releases: Sequence[str]) -> str | None:
    """Why the sides cannot take turns in one server, or None."""
    if len(set(releases)) > 1:
        return f"one server runs one release, not {' and '.join(releases)}"
    if not promised_equal(*sides):
        return f"{sides[0]} and {sides[1]} need not give equal metadata, and one would find the other's state"
    return None


def server_setting(
    chosen: Preset,
    model: str | None,
    tokenizer: Path | None,
    speculative: str | None,
    most: int,
    more: Sequence[str],
) -> ServerSetting:
    """A preset's setting with what was asked for in its place; at most `most` requests are in flight.

    Raises:
        UserError: the speculative configuration cannot be read.
    """
    served = model or chosen.model
    flags = [*chosen.flags, *more]
    if "--max-num-seqs" in flags:
        place = flags.index("--max-num-seqs") + 1
        flags[place] = str(max(int(flags[place]), most))
    return ServerSetting(
        preset=chosen.name,
        model=served,
        tokenizer=str(tokenizer or served),
        flags=tuple(flags),
        settings=dict(chosen.settings),
        speculative=_speculative(chosen, speculative),
        device=chosen.device,
    )


def speculation_for(chosen: Preset, concerned: bool) -> str | None:
    """By default: as the preset has it, and on where a change is about drafts and the preset can draft."""
    if chosen.speculates is not None or not concerned:
        return chosen.speculates
    return next(iter(chosen.speculative), NO_SPECULATION)


def _speculative(chosen: Preset, asked: str | None) -> Mapping[str, Any] | None:
    word = chosen.speculates if asked is None else asked
    if word is None or word == NO_SPECULATION:
        return None
    if word in chosen.speculative:
        return dict(chosen.speculative[word])
    try:
        found = json.loads(word)
    except ValueError:
        known = ", ".join([*chosen.speculative, NO_SPECULATION])
        raise UserError(f"--speculative {word}: neither JSON nor one of {known}") from None
    if not isinstance(found, dict) or "num_speculative_tokens" not in found:
        raise UserError(f"--speculative {word}: an object with num_speculative_tokens is needed")
    return found


def bound_here(plan: ServePlan) -> ServePlan:
    """The same, on another machine than it was made on: what is bound to cores is bound to those of this machine."""
    server_cores, load_cores = _cores(plan.server.device)
    return replace(plan, server_cores=server_cores, load_cores=load_cores)


def _cores(device: str) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """On a CPU the last core for the load generator and the others for the server; on a GPU nothing is bound."""
    if device != "cpu" or not hasattr(os, "sched_getaffinity"):
        return None, None
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        return tuple(cores), tuple(cores)
    return tuple(cores[:-1]), (cores[-1],)


def same_sides(plan: Compared, before: str | None, after: str | None) -> None:
    """Check that a resumed campaign is the one that was asked for; its plan stands as it was made.

    Raises:
        UserError: other sides.
    """
    for role, text in ((BEFORE, before), (AFTER, after)):
        planned = plan.sides.get(role, plan.sides[BEFORE])
        if text is not None and str(parse(text)) != planned:
            raise UserError(f"the campaign to resume has {planned} as its {role} side, not {text}")
