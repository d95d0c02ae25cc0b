"""Run inside a release's process: every reference builder in the place of the release's own, on its own batches.

Prints one JSON object: what differs from our builder alone, and the fields that only the release has.
"""

from __future__ import annotations

import json
import sys

import torch
from vllm.v1.attention.backend import CommonAttentionMetadata
from vllm.v1.attention.backends.gdn_attn import GDNAttentionMetadata

from gdnbench.devices.base import CpuDevice
from gdnbench.drivers.gdn import BuildDriver
from gdnbench.drivers.registry import GDN_CHANGES
from gdnbench.oracle.gdn import ReleaseBuildDriver
from gdnbench.plugin.comparison import same
from gdnbench.plugin.reference import Reference, left_at_default
from gdnbench.values.scenarios import parse as scenario
from gdnbench.values.variants import parse

SPECS = (
    "16q1s1k",
    "16q1s1k/eager",
    "13q1s1k_3pad",
    "15q1s1k_q2k",
    "15q1s1k_q1s1p64",
    "16q9s1kd8",
    "13q9s1kd8_3pad",
    "8q9s1kd8_4q5s1kd4_4q1s1kd0",
    "8q9s1kd8_6q1s1k_2q128",
)


def differences(release: str, change: int, side: str, spec: str) -> list[str]:
    """Fields in which a reference builder under the release's batch and class differs from itself under ours."""
    step, device = scenario(spec), CpuDevice()
    theirs = ReleaseBuildDriver(release, step, device)
    ours = type("Driver", (BuildDriver,), {"change": change})(side, step, device)
    variant = parse(f"pr{change}.{side}")
    with torch.inference_mode():
        inputs, own = theirs.inputs(), ours.inputs()
        made = [
            Reference(variant, builder, GDNAttentionMetadata, CommonAttentionMetadata).build(
                0, common, inputs.accepted, inputs.drafts
            )
            for builder, common in zip(theirs.builders, inputs.groups, strict=True)
        ]
        assert all(type(one) is GDNAttentionMetadata for one in made)
        expected = ours.fields(own, ours.run(own))
        found = theirs.fields(inputs, made)
    return [f"{variant} {spec} {name}" for name, value in expected.items() if not same(found[name], value)]


def main(release: str) -> None:
    sides = [(change, side) for change in GDN_CHANGES for side in ("before", "after")]
    different = [line for change, side in sides for spec in SPECS for line in differences(release, change, side, spec)]
    print(json.dumps({"different": different, "left": left_at_default(GDNAttentionMetadata)}))


if __name__ == "__main__":
    main(sys.argv[1])
