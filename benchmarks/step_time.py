"""Microseconds per step. All variants take turns inside each launch; a launch gives one sample.

The samples are medians of launches, so that asv's own interval speaks of what varies between processes. For a verdict
on two variants use `gdnbench step`, which judges the ratios within launches; asv compares the medians of two runs.
GDNBENCH_ASV_LAUNCHES says how many launches (default 7: fewer can never be flagged by asv's test).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.common import SCENARIOS, VARIANTS

BUILDS = [name for name in VARIANTS if name.split(".")[0] in ("pr51913", "pr52078", "pr51565")]
STEPS = [name for name in SCENARIOS if "/capture" not in name]
Samples = dict[tuple[str, str], list[float]]


class StepTime:
    """The metadata build of one step, all KV groups, on the CPU, under inference mode."""

    params = (BUILDS, STEPS)
    param_names = ("variant", "scenario")
    timeout = 1200

    def setup_cache(self) -> Samples:
        from gdnbench.campaign.campaign import begin, run
        from gdnbench.campaign.plan import Plan
        from gdnbench.campaign.turns import BEFORE

        first, *others = BUILDS
        sides = {BEFORE: first} | {name: name for name in others}
        launches = int(os.environ.get("GDNBENCH_ASV_LAUNCHES", "7"))
        plan = Plan(sides, tuple(STEPS), "build", launches=launches, rounds=20)
        samples: Samples = {}
        with tempfile.TemporaryDirectory() as directory:
            for launch in run(begin(plan, Path(directory) / "campaign")):
                for measured in launch.measured:
                    for role, us in measured.medians_us.items():
                        samples.setdefault((sides[role], measured.scenario), []).append(us)
        return samples

    def track_step_time(self, samples: Samples, variant: str, scenario: str) -> dict[str, object]:
        # Not documented, hence asv is pinned: samples are stored, with their median and interval.
        return {"samples": samples[variant, scenario], "number": 1}

    track_step_time.unit = "us"  # type: ignore[attr-defined]
    track_step_time.version = "1"  # type: ignore[attr-defined]
