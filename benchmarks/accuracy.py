"""Answers on live servers: wrong ones, and those that flipped against the reference. Lower is better.

Each variant answers the same word problems in a server of its own, by lm-eval. For a verdict on two variants use
`gdnbench accuracy`, which judges in pairs. Needs the releases' environment (`make vllm`); without it the suite is
skipped. GDNBENCH_ASV_DOCUMENTS says how many problems (default 300).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.common import ROOT, has_releases, skip_without_releases
from benchmarks.serving import SERVED

REFERENCE = SERVED[0]
Figures = dict[str, dict[str, float]]


def _answers(directory: Path, documents: int) -> Figures:
    from dataclasses import replace

    from gdnbench.accuracy.campaign import begin, run
    from gdnbench.accuracy.judging import paired
    from gdnbench.accuracy.outputs import read_output
    from gdnbench.accuracy.planning import plan_accuracy
    from gdnbench.campaign.turns import BEFORE

    plan = plan_accuracy(
        REFERENCE,
        REFERENCE,
        limit=documents,
        model=str(ROOT / "datasets" / "tiny-gdn"),
        speculative="mtp",
    )
    sides = {BEFORE: REFERENCE} | {name: name for name in SERVED[1:]}
    plan = replace(plan, sides=sides, releases=dict.fromkeys(sides, plan.releases[BEFORE]))
    journal = begin(plan, directory)
    outputs = {sides[one.role]: read_output(directory / one.folder) for one in run(journal)}
    found: Figures = {"error": {}, "flips": {}}
    for variant, output in outputs.items():
        name = next(iter(output.scores))
        pair = paired(outputs[REFERENCE].answers[name], output.answers[name])
        found["error"][variant] = 100 * (1 - output.scores[name].value)
        found["flips"][variant] = 0 if pair is None else pair.lost + pair.gained
    return found


class Accuracy:
    """vLLM 0.29.0 with the tiny GDN model on the CPU, eager, with two drafts a step; strict match."""

    params = (SERVED,)
    param_names = ("variant",)
    timeout = 3600

    def setup_cache(self) -> Figures | None:
        if not has_releases():
            return None
        with tempfile.TemporaryDirectory() as directory:
            return _answers(Path(directory) / "answers", int(os.environ.get("GDNBENCH_ASV_DOCUMENTS", "300")))

    setup_cache.timeout = 3600  # type: ignore[attr-defined]

    def setup(self, figures: Figures | None, variant: str) -> None:
        skip_without_releases(figures)

    def track_error_rate(self, figures: Figures, variant: str) -> float:
        return figures["error"][variant]

    def track_flips(self, figures: Figures, variant: str) -> float:
        return figures["flips"][variant]


Accuracy.track_error_rate.unit = "%"  # type: ignore[attr-defined]
Accuracy.track_flips.unit = "documents"  # type: ignore[attr-defined]
for track in (Accuracy.track_error_rate, Accuracy.track_flips):
    track.version = "1"  # type: ignore[attr-defined]
