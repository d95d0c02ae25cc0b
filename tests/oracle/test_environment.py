"""Release processes find the release's code and this checkout; what is missing for them is one line with its remedy."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gdnbench.oracle import environment, install
from gdnbench.oracle.environment import MARKER, release_process, release_python
from gdnbench.values.errors import EnvironmentMissing, UserError


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for a vLLM checkout, run by this very interpreter."""
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").write_text("__version__ = '1.2.3'\n")
    monkeypatch.setenv("GDNBENCH_VLLM_PYTHON", sys.executable)
    return tmp_path


def test_the_process_imports_that_vllm_and_this_project(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "elsewhere" / "vllm").mkdir(parents=True)
    (checkout / "elsewhere" / "vllm" / "__init__.py").write_text("__version__ = 'wrong'\n")
    monkeypatch.setenv("PYTHONPATH", str(checkout / "elsewhere"))
    monkeypatch.chdir(checkout / "elsewhere")
    process = release_process(f"path:{checkout}")
    code = "import vllm, gdnbench, os; print(vllm.__version__, gdnbench.__file__, os.environ['OMP_NUM_THREADS'])"
    told = subprocess.run([process.python, "-c", code], env=process.env, capture_output=True, text=True).stdout.split()
    assert told == ["1.2.3", str(environment.repository() / "gdnbench" / "__init__.py"), "1"]


def test_an_installed_project_is_linked_apart_from_what_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site-packages"
    for package in ("gdnbench", "gdn_impl", "torch"):
        (site / package).mkdir(parents=True)
        (site / package / "__init__.py").write_text("")
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(environment.gdnbench, "__file__", str(site / "gdnbench" / "__init__.py"))
    links = environment.importable()
    assert sorted(path.name for path in links.iterdir()) == ["gdn_impl", "gdnbench"]
    assert (links / "gdnbench").resolve() == site / "gdnbench"
    assert environment.importable() == links


def test_a_folder_in_another_checkout_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gdn_impl").mkdir()
    (tmp_path / "gdn_impl" / "catalog.py").write_text("")
    (tmp_path / "docs").mkdir()
    own = environment.repository()
    monkeypatch.chdir(tmp_path / "docs")
    with pytest.raises(UserError, match="belongs to the checkout") as caught:
        environment.repository_here()
    assert str(own) in str(caught.value) and f"pip install -e {tmp_path}" in str(caught.value)


def test_the_process_asks_no_network_and_reports_nothing(checkout: Path) -> None:
    env = release_process(f"path:{checkout}").env
    assert {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}.items() <= env.items()


def test_a_folder_without_vllm_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDNBENCH_VLLM_PYTHON", sys.executable)
    with pytest.raises(UserError, match="no vLLM checkout there") as caught:
        release_process(f"path:{tmp_path}")
    assert caught.value.exit_code == 2


def test_without_an_environment_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GDNBENCH_VLLM_PYTHON", raising=False)
    monkeypatch.setattr(environment, "ENVIRONMENT", ".venv-that-nobody-made")
    with pytest.raises(EnvironmentMissing, match="make vllm") as caught:
        release_process("0.29.0")
    assert caught.value.exit_code == 4


def test_an_environment_whose_installation_stopped_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GDNBENCH_VLLM_PYTHON", raising=False)
    monkeypatch.setattr(environment, "ENVIRONMENT", str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    with pytest.raises(EnvironmentMissing, match="make vllm"):
        release_python()
    (tmp_path / MARKER).write_text("{}")
    assert release_python() == tmp_path / "bin" / "python"


def test_a_whole_environment_is_left_alone(tmp_path: Path) -> None:
    marker = tmp_path / MARKER
    marker.write_text(json.dumps({**install.VERSIONS, "python": ".".join(map(str, sys.version_info[:2]))}))
    assert "whole already" in install.install(tmp_path)
    assert list(tmp_path.iterdir()) == [marker]


def test_a_folder_that_is_something_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("")
    with pytest.raises(UserError, match="no virtual environment"):
        install.install(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


@pytest.mark.slow
def test_installing_without_network_is_one_line_and_leaves_no_marker(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    env |= {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}
    command = [sys.executable, "-m", "gdnbench.oracle.install", "--into", str(tmp_path / "venv")]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 4
    assert done.stdout == ""
    [error] = [line for line in done.stderr.splitlines() if not line.startswith("  ")]
    assert error.startswith("error: cannot install torch 2.13.0: ")
    assert not (tmp_path / "venv" / MARKER).exists()
