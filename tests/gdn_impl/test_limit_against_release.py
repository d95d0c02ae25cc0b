"""The limit against the real builder of vLLM 0.32.0: every field, in named and random steps and in sequences."""

from __future__ import annotations

import json
import subprocess

import pytest

from gdnbench.oracle.environment import release_process
from gdnbench.values.errors import EnvironmentMissing

SCRIPT = """
import json, random, sys
import torch
from gdnbench.devices.base import CpuDevice
from gdnbench.devices.traced import TracedDevice
from gdnbench.drivers.gdn import BuildDriver
from gdnbench.oracle.gdn import ReleaseBuildDriver
from gdnbench.probes.equality import compare, difference
from gdnbench.values.scenarios import named, random_scenario
sys.path.insert(0, sys.argv[1])
from sequences import sequence_step

steps, sequences, length = map(int, sys.argv[2:5])
found, compared = [], 0

def check(scenario, device):
    global compared
    if BuildDriver.refuses(scenario) is None:
        compared += 1
        with device.active(), torch.inference_mode():
            sides = BuildDriver("limit", scenario, device), ReleaseBuildDriver("0.32.0", scenario, device)
        found.extend(f"{scenario.name} on {device.name}: {one}" for one in compare(*sides))

for scenario in named():
    for device in (CpuDevice(), TracedDevice()):
        check(scenario, device)
for seed in range(steps):
    check(random_scenario(random.Random(seed)), CpuDevice())
for seed in range(sequences):
    rng, device, kept = random.Random(seed), CpuDevice(), {}
    depth, staged, groups = rng.choice([0, 2, 8]), rng.random() < 0.8, rng.choice([1, 3])
    for number in range(length):
        scenario = sequence_step(rng, depth, staged, groups)
        results = []
        for kind, state in ((BuildDriver, "limit"), (ReleaseBuildDriver, "0.32.0")):
            driver = kind(state, scenario, device)
            driver.builders = kept.setdefault(state, driver.builders)
            with torch.inference_mode():
                inputs = driver.inputs()
                results.append(driver.fields(inputs, driver.run(inputs)))
        left, right = results
        assert left.keys() == right.keys(), left.keys() ^ right.keys()
        found.extend(f"sequence {seed}, step {number}, {scenario.name}: {name}: {what}"
                     for name in left if (what := difference(left[name], right[name], device)))
print(json.dumps({"compared": compared, "found": found[:5], "count": len(found)}))
"""


def against(root, steps: int, sequences: int, length: int) -> dict:
    try:
        process = release_process("0.32.0")
    except EnvironmentMissing as missing:
        pytest.skip(str(missing))
    arguments = [str(root), str(steps), str(sequences), str(length)]
    command = [str(process.python), "-c", SCRIPT, *arguments]
    done = subprocess.run(command, env=process.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_some_steps_and_sequences(request):
    found = against(request.path.parent, 200, 10, 60)
    assert found["found"] == []
    assert found["compared"] > 150


@pytest.mark.slow
@pytest.mark.thorough
def test_two_thousand_steps_and_two_hundred_sequences_of_two_hundred(request):
    found = against(request.path.parent, 2600, 200, 200)
    assert found["found"] == []
    assert found["compared"] >= 2000
