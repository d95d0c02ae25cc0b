"""Every reference builder in the place of the real builders of the releases that a server may run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from gdnbench.oracle.environment import release_process

SCRIPT = Path(__file__).with_name("fitting_releases.py")

LEFT_AT_DEFAULT = {
    "0.27.0": [],
    "0.28.0": [],
    "0.29.0": [],
    "0.30.0": [],
    "0.31.0": ["spec_sequence_masks_cpu", "uniform_spec_sequence_length"],
    "0.32.0": ["checkpoint", "spec_sequence_masks_cpu", "uniform_spec_sequence_length", "aiter_prefill_metadata"],
}


IN_CI = ("0.29.0", "0.31.0")


@pytest.mark.slow
@pytest.mark.parametrize(
    "release",
    [one if one in IN_CI else pytest.param(one, marks=pytest.mark.thorough) for one in LEFT_AT_DEFAULT],
)
def test_reference_builders_fit_the_release_and_build_the_same_there(release):
    process = release_process(release)
    command = [str(process.python), str(SCRIPT), release]
    done = subprocess.run(command, env=process.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"different": [], "left": LEFT_AT_DEFAULT[release]}
