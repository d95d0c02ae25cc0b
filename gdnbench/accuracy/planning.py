"""What `gdnbench accuracy` was asked for, as a plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gdn_impl.catalog import CATALOG, Level
from gdnbench.accuracy.judging import FLOOR
from gdnbench.accuracy.plan import ORDER, AccuracyPlan, Backend
from gdnbench.accuracy.tasks import find_task
from gdnbench.serving.planning import check_served, release_of, server_setting, speculation_for
from gdnbench.serving.presets import preset
from gdnbench.values.errors import UserError
from gdnbench.values.variants import parse

CONCURRENCY = 16


def plan_accuracy(
    before: str,
    after: str,
    *,
    task: str = "word-problems",
    data: Path | None = None,
    shots: int | None = None,
    limit: int | None = None,
    preset_name: str = "tiny-cpu",
    release: str | None = None,
    model: str | None = None,
    tokenizer: Path | None = None,
    speculative: str | None = None,
    flags: Sequence[str] = (),
    floor: float = FLOOR,
    backend: Backend = "local-completions",
) -> AccuracyPlan:
    """The plan of a new comparison: before, after, and before again.

    Args:
        before, after: variants; each gets servers of its own.
        task, data, shots: see `gdnbench.accuracy.tasks.find_task`.
        limit: only so many documents.
        preset_name: the setting everything else is taken from that is not given.
        release: the vLLM that serves reference builders.
        model, tokenizer: instead of the preset's.
        speculative: JSON, a word of the preset's such as `mtp`, or `none`; default, on where a change is about it.
        flags: more arguments of the server.
        floor: the smallest difference that matters, as a fraction.
        backend: `local-completions` or `vllm`.

    Raises:
        UserError: something is mistyped, or the sides cannot be judged by accuracy.
        EnvironmentMissing: the task's files are not here.
    """
    sides = parse(before), parse(after)
    chosen = preset(preset_name)
    for variant in sides:
        check_served(variant, Level.ACCURACY)
        if variant.handicap is not None:
            raise UserError(f"{variant}: a handicap changes no answer; leave it out")
    find_task(task, data, shots)
    if limit is not None and limit < 2:
        raise UserError(f"--limit {limit}: at least 2 documents are needed")
    if not 0 < floor < 1:
        raise UserError(f"--floor: between 0 and 100 points are needed, not {floor * 100:g}")
    concerned = any(CATALOG[side.change].live.speculation for side in sides if side.change is not None)
    wanted = speculative if speculative is not None else speculation_for(chosen, concerned)
    return AccuracyPlan(
        sides=dict(zip(ORDER, map(str, (*sides, sides[0])), strict=True)),
        releases={
            role: release_of(variant, sides, release) for role, variant in zip(ORDER, (*sides, sides[0]), strict=True)
        },
        server=server_setting(chosen, model, tokenizer, wanted, CONCURRENCY, flags),
        task=task,
        data=None if data is None else str(data.expanduser().absolute()),
        shots=shots,
        limit=limit,
        concurrency=CONCURRENCY,
        floor=floor,
        backend=backend,
    )
