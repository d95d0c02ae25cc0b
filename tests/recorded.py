"""A recording of a machine that never was: for tests of what reads recordings."""

from __future__ import annotations

import math

import numpy as np

from gdnbench.values.recordings import RecordedPair, Recording, WholeCampaign
from gdnbench.values.verdicts import Verdict

EFFECTS = {"control": 0.0, "+2%": math.log(1.02), "+5%": math.log(1.05)}


def recording(launches: int = 30, spread: float = 0.003, blocks: int = 5, whole: int = 0) -> Recording:
    """Launches whose level varies by 8 %, and whose sides differ by their effect and `spread`, the same every time."""
    rng = np.random.default_rng(1)
    recorded = []
    for _ in range(launches):
        level = 20 * math.exp(rng.normal(0, 0.08))
        before = tuple((level * np.exp(rng.normal(0, 0.02, blocks))).round(3).tolist())
        launch = {}
        for name, effect in EFFECTS.items():
            log_ratio = effect + rng.normal(0, spread)
            after = level * np.exp(log_ratio + rng.normal(0, 0.02, blocks))
            launch[name] = RecordedPair(round(log_ratio, 6), before, tuple(after.round(3).tolist()))
        recorded.append(launch)
    campaigns = [
        campaign
        for number in range(whole)
        for campaign in (
            WholeCampaign("control", 10, Verdict.SAME, 1 + 0.001 * number, 25.0),
            WholeCampaign("+2%", 10, Verdict.REGRESSED, 1.02, 27.5),
        )
    ]
    environment = {"device": "cpu", "cpu": "a processor", "cores": "2", "load_average": "0.1 to 0.4"}
    return Recording(
        "pr51913.after", "16q1s1k", "host_time", tuple(recorded), environment, (2.5,) * launches, tuple(campaigns)
    )
