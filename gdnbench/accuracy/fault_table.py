"""Every fault through every check: equality, exact cost, and, where a server can express it, accuracy.

Campaigns of answers: `plain`, `drafts` (with speculation), and `ngram`, the fault that nobody made: n-gram speculation
on vLLM's CPU runner. In each the sound side runs once and every other side is held against it. Two more ask the limit
beside the release whose metadata it gives, with and without drafts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from gdn_impl.faults import FAULTS
from gdnbench.accuracy import campaign
from gdnbench.accuracy.campaign import AccuracyJournal, loss_in_words
from gdnbench.accuracy.fault_checks import Pair, build_scenarios, first_seen
from gdnbench.accuracy.judging import judge_accuracy
from gdnbench.accuracy.outputs import Output, read_output
from gdnbench.accuracy.plan import AccuracyPlan
from gdnbench.accuracy.planning import plan_accuracy
from gdnbench.accuracy.runs import AccuracyRun
from gdnbench.campaign.journal import new_directory
from gdnbench.campaign.turns import BEFORE
from gdnbench.serving.planning import OF_LIMIT
from gdnbench.values.faults import FaultRow, FaultTable
from gdnbench.values.variants import parse
from gdnbench.values.verdicts import Verdict

SOUND = "pr52078.after"
"""The state of 0.29.0, which serves."""
ALSO_SOUND = ("pr52078.before", "pr51913.after")
"""Other states of the builder, right and no costlier in a step: nothing may object to them."""

LIMIT = 200

PLAIN, DRAFTS, NGRAM = "plain", "drafts", "ngram"
LIMITED = {"limit-plain": "none", "limit-drafts": "mtp"}
"""Campaigns of the limit, and how they speculate. Steps of it are held against the release by its own tests."""
LIMIT_ROW = FaultRow("limit", "nothing", "gdn_impl/limit.py", None, "")
NGRAM_RELEASE = "0.29.0"
NGRAM_SETTING = {"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_max": 4, "prompt_lookup_min": 1}
NGRAM_ROW = FaultRow(
    "ngram-on-cpu",
    "rows without a draft leave the speculative path, so the offset of the last accepted token is not applied",
    f"vLLM {NGRAM_RELEASE} as it is: n-gram speculation of a GDN model on its CPU runner; see also "
    "https://github.com/vllm-project/vllm/pull/56531",
    None,
    "",
)

Told = Callable[[str, int, int], None]
"""Told a stage, how much of it is done, and how much there is."""
Answers = Mapping[str, tuple[AccuracyRun, Output]]
"""By side, as it is spelled."""


def fault_table(
    limit: int | None, root: Path | None, *, server: bool, told: Told = lambda stage, done, total: None
) -> FaultTable:
    """Run every fault through every check, and what is sound as well.

    Args:
        limit: documents for accuracy; None for all.
        root: directory of the campaigns of answers, new or to go on with; None for a new one in the cache.
        server: whether a server is asked at all.
        told: what is going on.

    Raises:
        Interrupted: by Ctrl-C; what is finished is kept.
        UserError, EnvironmentMissing: something cannot be had, or a server failed.
    """
    rows = [FaultRow(fault.name, fault.what, fault.source, None, "") for fault in FAULTS.values()]
    sound = [FaultRow(name, "nothing", "the catalogue", None, "") for name in ALSO_SOUND]
    pairs = [Pair.of(fault) for fault in FAULTS.values()] + [_sound_pair(name) for name in ALSO_SOUND]
    seen = []
    for number, pair in enumerate(pairs, 1):
        seen.append(first_seen(pair))
        told("equality and exact cost", number, len(pairs))
    checked = [
        row if found is None else replace(row, by=found[0], seen=found[1])
        for row, found in zip([*rows, *sound], seen, strict=True)
    ]
    rows, sound = checked[: len(rows)], checked[len(rows) :]
    if not server:
        return FaultTable(tuple(rows), tuple(sound), {})
    place = root or new_directory({"": "all"}, "faults")
    if (place / "plan.json").is_file():
        place = place.parent  # one of its campaigns was named, which is what an interrupted one names
    answers = _ask(limit, place, told)
    rows = [_with_answers(row, answers) for row in rows]
    rows.append(_judged(NGRAM_ROW, answers[PLAIN][SOUND], answers[NGRAM][f"vllm@{NGRAM_RELEASE}"]))
    for name in (PLAIN, DRAFTS):
        sound = [_judged(row, answers[name][SOUND], answers[name][row.fault]) for row in sound]
    limited = LIMIT_ROW
    for name in LIMITED:
        limited = _judged(limited, answers[name][f"vllm@{OF_LIMIT}"], answers[name][limited.fault])
    sound.append(limited)
    first, _ = answers[PLAIN][SOUND]
    identity = {"limit": limit, "release": first.server.release, "environment": dict(first.environment)}
    return FaultTable(tuple(rows), tuple(sound), identity | {"journal": str(place)})


def _sound_pair(name: str) -> Pair:
    """Both sides in a step, which every state of the builder has, even where a change is about capture."""
    state = parse(name)
    return Pair(
        (FAULTS["rotated-states"].change, "after"), (state.change or 0, state.state), "build", build_scenarios()
    )


def _ask(limit: int | None, place: Path, told: Told) -> dict[str, Answers]:
    """The answers of every side, by campaign."""
    plans = {
        PLAIN: _plan(SOUND, [*ALSO_SOUND, *_live(speculation=False)], limit, "none"),
        DRAFTS: _plan(SOUND, [*ALSO_SOUND, *_live(speculation=True)], limit, "mtp"),
        NGRAM: _plan(f"vllm@{NGRAM_RELEASE}", [], limit, json.dumps(NGRAM_SETTING)),
        **{
            name: _plan(f"vllm@{OF_LIMIT}", [LIMIT_ROW.fault], limit, speculative)
            for name, speculative in LIMITED.items()
        },
    }
    for plan in plans.values():
        campaign.check(plan)
    found: dict[str, Answers] = {}
    for name, plan in plans.items():
        directory = place / name
        begun = (directory / "plan.json").is_file()
        journal = AccuracyJournal.open(directory) if begun else campaign.begin(plan, directory)
        runs = campaign.run(journal, partial(_tell, told, name))
        found[name] = {journal.plan.sides[run.role]: (run, read_output(journal.directory / run.folder)) for run in runs}
    return found


def _tell(told: Told, name: str, role: str, done: int, total: int) -> None:
    told(f"{name}: {role}", done, total)


def _live(*, speculation: bool) -> list[str]:
    return [f"fault:{fault.name}" for fault in FAULTS.values() if fault.live and fault.speculation == speculation]


def _plan(sound: str, others: Sequence[str], limit: int | None, speculative: str) -> AccuracyPlan:
    """The sound side as `before`, every other one under its own name."""
    plan = plan_accuracy(sound, sound, limit=limit, speculative=speculative)
    sides = {BEFORE: sound, **{name: name for name in others}}
    return replace(plan, sides=sides, releases=dict.fromkeys(sides, plan.releases[BEFORE]))


def _with_answers(row: FaultRow, answers: Mapping[str, Answers]) -> FaultRow:
    fault = FAULTS[row.fault]
    if not fault.live:
        return replace(row, accuracy=f"no server was asked: {fault.why_not}")
    name = DRAFTS if fault.speculation else PLAIN
    return _judged(row, answers[name][SOUND], answers[name][f"fault:{fault.name}"])


def _judged(row: FaultRow, sound: tuple[AccuracyRun, Output], other: tuple[AccuracyRun, Output]) -> FaultRow:
    """A row with what the answers say; whatever saw it before keeps the credit."""
    run, output = other
    result = judge_accuracy(sound[1], output)
    found = result.primary
    told = f"{found.before.value:.1%} -> {found.after.value:.1%}"
    if found.paired is not None:
        told += f", {found.paired.lost} lost and {found.paired.gained} gained"
    caught = result.verdict in (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.INVALID)
    return replace(
        row,
        by=row.by or ("accuracy" if caught else None),
        seen=row.seen or (told if caught else ""),
        accuracy_before=found.before.value,
        accuracy_after=found.after.value,
        accuracy="; ".join(filter(None, [row.accuracy, told])),
        lost=row.lost or (loss_in_words(run.witness) if run.witness and run.witness["losses"] else ""),
    )
