"""Which machine and which code a run was measured by."""

from __future__ import annotations

import hashlib
import hmac
import os
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import gdn_impl
from gdnbench.gate.commits import checked_out
from gdnbench.gate.identity import COUNTING, HARNESS, digest
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.runs import Machine, Source

VARIABLE = "GDNBENCH_MACHINE"
LONGEST_NAME = 64

_LIBRARIES = ("torch", "numpy", "python", "vllm")


def host() -> str:
    """What stands for this machine: the name in `GDNBENCH_MACHINE`, or twelve digits that give no name away.

    The digits are a keyed digest of the system's machine identity, as its manual page asks for; without one, of the
    name that the machine has in its network, which a container changes with every start: there, give it a name.

    Raises:
        UserError: the name that was given cannot stand in tables.
    """
    given = os.environ.get(VARIABLE, "")
    if given:
        if len(given) > LONGEST_NAME or not given.isprintable():
            raise UserError(f"{VARIABLE}: at most {LONGEST_NAME} printable characters are needed")
        return given
    try:
        identity = Path("/etc/machine-id").read_text("ascii").strip()
    except (OSError, ValueError):
        identity = ""
    return keyed(identity or platform.node())


def keyed(name: str) -> str:
    """Twelve digits that stand for the name of a machine; nothing for nothing."""
    return hmac.new(b"gdnbench history", name.encode(), hashlib.sha256).hexdigest()[:12] if name else ""


def machine_of(environment: Mapping[str, Any], device: str, **libraries: str) -> Machine:
    """The machine that an environment tells of, as `campaign.surroundings` found it when it measured.

    Args:
        libraries: further versions by name.
    """
    gpu = environment.get("gpu")
    versions = {name: str(environment[name]) for name in _LIBRARIES if environment.get(name) is not None}
    return Machine(
        host=host(),
        device=device,
        processor=str(environment.get("cpu", "")),
        gpu=str(gpu.get("name", "") if isinstance(gpu, Mapping) else gpu or ""),
        cores=int(environment.get("cores") or 0),
        system=str(environment.get("system", "")),
        libraries=versions | libraries,
    )


@cache
def source() -> Source:
    """The code of ours that runs here."""
    try:
        commit, changed = checked_out(HARNESS.parent)
    except EnvironmentMissing:
        commit, changed = None, False
    builders = digest([Path(gdn_impl.__file__).resolve().parent])
    return Source(commit or "", changed, builders, digest(HARNESS / name for name in COUNTING))
