"""The command that asks the same as a plan."""

from __future__ import annotations

import json
import shlex

from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.planning import NO_SPECULATION, RELEASE
from gdnbench.serving.presets import TINY_CPU, Preset, preset

CONCURRENCY = (1, 16)
PLACE = "{launches}"


def command(plan: ServePlan) -> str:
    """A line for a shell, with `{launches}` where the number of launches belongs; what is default is left out."""
    chosen, server, asked = preset(plan.server.preset), plan.server, plan.workload
    before = plan.variants[BEFORE]
    words = ["gdnbench", "serve", plan.sides[BEFORE], plan.sides.get(AFTER, plan.sides[BEFORE])]
    concurrency = tuple(load.concurrency for load in plan.loads)
    options = (
        ("--concurrency", ",".join(map(str, concurrency)), concurrency != CONCURRENCY),
        ("--rounds", str(plan.loads[0].rounds), not _usual(plan, chosen)),
        ("--method", plan.method, plan.method == "apart"),
        ("--preset", chosen.name, chosen is not TINY_CPU),
        ("--release", plan.releases[BEFORE], before.release is None and plan.releases[BEFORE] != RELEASE),
        ("--model", server.model, server.model != chosen.model),
        ("--tokenizer", server.tokenizer, server.tokenizer != server.model),
        ("--speculative", _speculative(plan, chosen), server.speculative != _by_default(chosen)),
        ("--dataset", asked.dataset or "", asked.dataset is not None),
        ("--output-len", str(asked.output_len), asked.output_len != chosen.output_len),
        ("--seed", str(asked.seed), asked.seed != 0),
        ("--observation", "", plan.observation),
        *((f"--server-flag={flag}", "", True) for flag in _more_flags(plan, chosen)),
    )
    for option, value, needed in options:
        if needed:
            words += [option, value] if value else [option]
    return f"{shlex.join(words).replace('{', '{{').replace('}', '}}')} --launches {PLACE}"


def _usual(plan: ServePlan, chosen: Preset) -> bool:
    """Whether its rounds are the preset's, or those of a first look; after a first look comes a whole one."""
    loads = [tuple(chosen.load(load.concurrency, quick) for load in plan.loads) for quick in (False, True)]
    return plan.loads in loads


def _speculative(plan: ServePlan, chosen: Preset) -> str:
    """By the preset's word for it, if it has one."""
    asked = plan.server.speculative
    if asked is None:
        return NO_SPECULATION
    known = [word for word, options in chosen.speculative.items() if dict(options) == dict(asked)]
    return known[0] if known else json.dumps(dict(asked))


def _by_default(chosen: Preset) -> dict[str, object] | None:
    return None if chosen.speculates is None else dict(chosen.speculative[chosen.speculates])


def _more_flags(plan: ServePlan, chosen: Preset) -> tuple[str, ...]:
    """Flags beyond the preset's; they stand behind them."""
    return plan.server.flags[len(chosen.flags) :]
