"""The limit's KV groups against those of vLLM's V2 runner, which builds one and updates the block table of the others.

`python -m gdnbench.campaign.group_updates` prints the ratio of both, step by step in turns in one process. It is a
measurement of its own because such updates happen on CUDA alone (vLLM 0.31.0 and newer): here they are called by hand.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from statistics import median, quantiles

from gdnbench.campaign.pipes import leave

RELEASE = "0.32.0"
SCENARIOS = ("16q1s1k/g30", "16q9s1kd8/g30")
STEPS = 400
WARMING = 20


def measure(scenario: str, steps: int = STEPS) -> list[float]:
    """For each step how long the limit took, as a fraction of what the release's build and updates took."""
    import torch

    from gdnbench.devices.base import CpuDevice
    from gdnbench.devices.clocks import HostClock
    from gdnbench.drivers.gdn import BuildDriver, GDNStep
    from gdnbench.oracle.gdn import ReleaseBuildDriver
    from gdnbench.values.scenarios import parse

    class Updates(ReleaseBuildDriver):
        def run(self, inputs: GDNStep) -> list[object]:
            first, *others = inputs.groups
            built = self.builders[0].build(0, first, inputs.accepted, inputs.drafts)
            return [
                built,
                *(
                    builder.update_block_table(built, group.block_table_tensor, group.slot_mapping)
                    for builder, group in zip(self.builders[1:], others, strict=True)
                ),
            ]

    clock, found = HostClock(), []
    with torch.inference_mode():
        sides = Updates(RELEASE, parse(scenario), CpuDevice()), BuildDriver("limit", parse(scenario), CpuDevice())
        gc.collect()
        gc.freeze()
        for number in range(WARMING + steps):
            turn = sides if number % 2 else sides[::-1]
            us = {side: clock.time(side.run, side.inputs(), b"") for side in turn}
            found.append(us[sides[1]] / us[sides[0]])
    return found[WARMING:]


def main() -> int:
    if sys.argv[1:] != ["inside"]:
        from gdnbench.oracle.environment import release_process

        process = release_process(RELEASE)
        return subprocess.run(process.command(__spec__.name, "inside"), env=process.env, check=False).returncode
    for scenario in SCENARIOS:
        ratios = measure(scenario)
        low, *_, high = quantiles(ratios, n=10)
        print(
            f"{scenario}: limit takes {median(ratios):.2f} of one build and 29 block-table updates of vLLM {RELEASE} "
            f"(8 steps in 10: {low:.2f} to {high:.2f})",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    leave(main())
