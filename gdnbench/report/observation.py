"""`gdnbench serve --observation` for the reader."""

from __future__ import annotations

import json
from pathlib import Path

from gdnbench.report.console import wide_console
from gdnbench.report.numbers import share
from gdnbench.serving.again import PLACE, command
from gdnbench.serving.plan import ServePlan
from gdnbench.values.observation import ObservationCost
from gdnbench.values.verdicts import Verdict


def print_observation(plan: ServePlan, cost: ObservationCost, journal: Path, *, as_json: bool) -> None:
    """One JSON object, or a few lines."""
    if as_json:
        print(json.dumps({**cost.to_json(), "headline": headline(cost), "journal": str(journal)}))
        return
    console = wide_console(width=120)
    console.print(headline(cost), style="bold", markup=False, highlight=False, soft_wrap=True)
    own = cost.judgement
    lines = [
        f"a step takes {cost.unobserved_us:,.0f} us unobserved and {cost.observed_us:,.0f} us observed "
        f"(geometric means, {cost.steps:,} steps without a prefill, every third observed)",
        f"control: unobserved steps against each other {_fine(cost.control.ratio)} ({_ends(cost.control.interval)}); "
        f"such a campaign finds {share(own.smallest_detectable)}",
        f"Launches are kept in {journal}",
    ]
    if own.verdict is Verdict.UNKNOWN:
        more = "more" if own.more_launches is None else str(own.launches + own.more_launches)
        lines.append(f"Next: {command(plan).replace(PLACE, more)}")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def headline(cost: ObservationCost) -> str:
    """One sentence."""
    own = cost.judgement
    told = f"{own.verdict.value}: observing builds changes a step by {_fine(own.ratio)}"
    return f"{told} (95 % interval {_ends(own.interval)}); {own.launches} launches"


def _fine(ratio: float | None) -> str:
    """Two decimals: the question is about half a percent."""
    return "n/a" if ratio is None else f"{(ratio - 1) * 100:+.2f} %"


def _ends(ends: tuple[float, float] | None) -> str:
    return "n/a" if ends is None else f"{_fine(ends[0])} to {_fine(ends[1])}"
