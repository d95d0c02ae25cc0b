"""Can the builds account for what throughput did? They can give back no more time than they take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.serving.judging.rounds import blocks_of
from gdnbench.serving.records import ServeLaunch
from gdnbench.values.coverage import Builds
from gdnbench.values.serving import Coverage, Decomposition, ServeRow
from gdnbench.values.verdicts import Caveat, Verdict

TIMES = 3.0
"""A change beyond so many times what the builds account for has another cause: case 56 of a public thread."""


def budget_caveats(splits: Sequence[Decomposition], rows: Sequence[ServeRow]) -> Iterator[Caveat]:
    """Verdicts on throughput that the builds' own time does not explain; what acceptance did is left aside."""
    by_concurrency = {split.concurrency: split for split in splits}
    for row in rows:
        if not row.primary or row.judgement.verdict not in (Verdict.IMPROVED, Verdict.REGRESSED):
            continue
        split = by_concurrency[row.concurrency]
        ratio = split.throughput.ratio / (1.0 if split.acceptance is None else split.acceptance.ratio)
        alone = split.builds_alone
        if alone is not None and abs(math.log(ratio)) > max(TIMES * abs(math.log(alone)), row.metric.log_floor(1.0)):
            says = (
                f"at concurrency {row.concurrency} tok/s changed by {ratio - 1:+.1%}, acceptance aside, and the time "
                f"of the builds accounts for {alone - 1:+.1%}"
            )
            yield Caveat("budget", says, "look for another cause: no builder can claim the whole of it")


def builds_alone(launches: Sequence[ServeLaunch], coverage: Coverage, concurrency: int) -> float | None:
    """The ratio of throughput, if what builds took more or less changed the time of blocks and nothing else did."""
    before, after = (_mean_us(coverage.builds.get(role, ())) for role in (BEFORE, AFTER))
    blocks = [block for launch in launches for block in blocks_of(launch, concurrency, AFTER)]
    if before is None or after is None or any(block.builds is None for block in blocks):
        return None
    builds = sum((block.builds or {}).get(AFTER, 0) for block in blocks)
    seconds = sum(block.duration_s for block in blocks)
    saved = builds * (before - after) / 1e6
    return (seconds + saved) / seconds if seconds > 0 and seconds + saved > 0 else None


def _mean_us(builds: Sequence[Builds]) -> float | None:
    timed = [(one.mean_us, one.builds) for one in builds if one.mean_us is not None]
    count = sum(weight for _, weight in timed)
    return sum(mean * weight for mean, weight in timed) / count if count else None
