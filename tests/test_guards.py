"""The guards that the changes lacked: undo a change in a copy of the tree, and a test that names it must fail."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MUTATIONS = {
    "41873 without its clearing line": (
        "gdn_impl/pr41873/runner.py",
        r"\n( +)flags\[step\.num_reqs :\] = False\n",
        r"\n",
        "tests/gdn_impl/test_pr41873.py",
        "41873",
    ),
    "51913 asks for computed lengths on a decode step": (
        "gdn_impl/pr51913.py",
        r"\n        pass\n",
        "\n        common.compute_num_computed_tokens()\n",
        "tests/gdn_impl/test_gdn_builders.py",
        "51913",
    ),
    "one .item() on the device": (
        "gdn_impl/builder.py",
        r"(        buffers\.non_spec_state_indices\[:decodes\]\.copy_)",
        r"        states[0].item()\n\1",
        "tests/probes/test_cost.py",
        "51913",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_undoing_a_change_makes_a_test_fail_that_names_it(name, tmp_path):
    file, pattern, replacement, tests, number = MUTATIONS[name]
    for folder in ("gdn_impl", "gdnbench", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    source = tmp_path / file
    mutated, times = re.subn(pattern, replacement, source.read_text("utf-8"))
    assert times == 1, f"{file} no longer has the line that this mutation undoes"
    source.write_text(mutated, "utf-8")

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", number, tests]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)

    failed = [line for line in run.stdout.splitlines() if line.startswith("FAILED")]
    assert run.returncode == 1, run.stdout[-2000:]
    assert any(number in line for line in failed), failed
