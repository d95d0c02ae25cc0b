"""Live servers: milliseconds per output token, to the first token, per token and between chunks. Lower is better.

One campaign gives all figures: each launch is a fresh server in which all variants take turns, and gives one sample.
For a verdict on two variants use `gdnbench serve`, which judges ratios within launches. Needs the releases' environment
(`make vllm`); without it the suite is skipped. GDNBENCH_ASV_LAUNCHES says how many launches (default 7: fewer can never
be flagged by asv's test), GDNBENCH_ASV_ROUNDS how many blocks of each variant in one.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.common import ROOT, VARIANTS, has_releases, skip_without_releases

SERVED = [name for name in VARIANTS if name.split(".")[0] in ("pr51913", "pr52078")]
CONCURRENCIES = [1, 16]
SPECULATIVE = "mtp"
"""52078 is about rows with drafts, and 51913 about every step without a prefill."""

FIGURES = {"ttft": "median_ttft_ms", "tpot": "mean_tpot_ms", "itl": "mean_itl_ms"}
Samples = dict[tuple[str, str, int], list[float]]


def _campaign(directory: Path, launches: int) -> Samples:
    from dataclasses import replace

    from gdnbench.campaign.turns import BEFORE
    from gdnbench.serving.campaign import begin, run
    from gdnbench.serving.planning import plan_serve

    first, *others = SERVED
    plan = plan_serve(
        first,
        f"{first.partition('.')[0]}.after",
        concurrency=CONCURRENCIES,
        launches=launches,
        rounds=int(rounds) if (rounds := os.environ.get("GDNBENCH_ASV_ROUNDS")) else None,
        quick=True,
        model=str(ROOT / "datasets" / "tiny-gdn"),
        speculative=SPECULATIVE,
    )
    sides = {BEFORE: first} | {name: name for name in others}
    plan = replace(plan, sides=sides, releases=dict.fromkeys(sides, plan.load_release))
    samples: Samples = {}
    for launch in run(begin(plan, directory)):
        for role, variant in sides.items():
            for concurrency in CONCURRENCIES:
                blocks = [one for one in launch.blocks if (one.role, one.concurrency) == (role, concurrency)]
                tokens, seconds = (
                    sum(getattr(one, name) for one in blocks) for name in ("output_tokens", "duration_s")
                )
                samples.setdefault(("token", variant, concurrency), []).append(1000 * seconds / tokens)
                for metric, figure in FIGURES.items():
                    values = [value for one in blocks if (value := one.figures[figure]) is not None]
                    samples.setdefault((metric, variant, concurrency), []).append(median(values))
    return samples


class Serving:
    """vLLM 0.29.0 with the tiny GDN model on the CPU, eager, with two drafts a step."""

    params = (SERVED, CONCURRENCIES)
    param_names = ("variant", "concurrency")
    timeout = 3600

    def setup_cache(self) -> Samples | None:
        if not has_releases():
            return None
        with tempfile.TemporaryDirectory() as directory:
            return _campaign(Path(directory) / "campaign", int(os.environ.get("GDNBENCH_ASV_LAUNCHES", "7")))

    setup_cache.timeout = 3600  # type: ignore[attr-defined]

    def setup(self, samples: Samples | None, variant: str, concurrency: int) -> None:
        skip_without_releases(samples)

    def track_output_token(self, samples: Samples, variant: str, concurrency: int) -> dict[str, object]:
        return {"samples": samples["token", variant, concurrency], "number": 1}

    def track_ttft(self, samples: Samples, variant: str, concurrency: int) -> dict[str, object]:
        return {"samples": samples["ttft", variant, concurrency], "number": 1}

    def track_tpot(self, samples: Samples, variant: str, concurrency: int) -> dict[str, object]:
        return {"samples": samples["tpot", variant, concurrency], "number": 1}

    def track_itl(self, samples: Samples, variant: str, concurrency: int) -> dict[str, object]:
        return {"samples": samples["itl", variant, concurrency], "number": 1}


for track in (Serving.track_output_token, Serving.track_ttft, Serving.track_tpot, Serving.track_itl):
    track.unit = "ms"  # type: ignore[attr-defined]
    track.version = "1"  # type: ignore[attr-defined]
