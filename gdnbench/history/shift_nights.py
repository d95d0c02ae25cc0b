"""Four hundred nights of two thousand series, by our rule: false shifts, steps found, reruns asked for.

`python -m gdnbench.history.shift_nights` prints two tables in Markdown.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import get_args

import numpy as np

from gdnbench.stats.shifts import RULE
from gdnbench.stats.simulated_nights import MOST_RERUNS, Nights, Outcome, Shape, follow
from gdnbench.stats.student import Floats

STEPS = (0.02, 0.05, 0.12)
SHARED = (0.0, 0.25, 0.5)
FIRST_STEP = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=2000)
    parser.add_argument("--nights", type=int, default=400)
    asked = parser.parse_args()
    base = Nights(asked.series, asked.nights, noise=0.02, seed=11)

    print("| noise | a night's runs share | false shifts a week | suspects a night | reruns a night | without reruns |")
    print("|---|---|---|---|---|---|", flush=True)
    for shape in get_args(Shape):
        for shared in SHARED:
            drawn = replace(base, shape=shape, shared=shared)
            outcome, without = follow(drawn), follow(replace(drawn, reruns=0))
            judged = drawn.nights - RULE.history
            cells = [
                f"{_weekly(outcome, judged):.2f}",
                f"{outcome.suspects / judged:,.0f}",
                f"{outcome.reruns / judged:,.0f}",
                f"{_weekly(without, judged):.2f}",
            ]
            print(f"| {shape} | {shared:.0%} |", " | ".join(cells), "|", flush=True)

    print("\n| step | reruns | night 1 | night 2 | night 3 | night 7 | night 14 | in the range | nights in the range |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    at = np.random.default_rng(0).integers(FIRST_STEP, asked.nights - 14, asked.series)
    for step in STEPS:
        for reruns in (MOST_RERUNS, 0):
            outcome = follow(replace(base, step=step, at=at, reruns=reruns, seed=12))
            delays = outcome.delays(at)
            found = [f"{(delays <= night).mean():.1%}" for night in (1, 2, 3, 7, 14)]
            inside, length = _range(outcome, at)
            print(f"| {step:.0%} | {reruns} |", " | ".join(found), f"| {inside:.1%} | {length:.1f} |", flush=True)


def _weekly(outcome: Outcome, nights: int) -> float:
    return 7 * len(outcome.rows) / nights


def _range(outcome: Outcome, at: Floats) -> tuple[float, float]:
    """How often the range given for a shift holds the night of the step, and how many nights it has on average."""
    rows, nights = np.array(outcome.rows), np.array(outcome.night)
    first, last = np.array(outcome.earliest), np.array(outcome.latest)
    real = nights >= at[rows]
    step = at[rows][real]
    inside = (first[real] <= step) & (step <= last[real])
    return float(inside.mean()), float((last - first + 1)[real].mean())


if __name__ == "__main__":
    main()
