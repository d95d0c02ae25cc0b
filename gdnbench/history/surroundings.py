"""Which machine and which code a run was measured by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import gdn_impl
from gdnbench.campaign.code import digest
from gdnbench.campaign.machine import host
from gdnbench.gate.commits import checked_out
from gdnbench.gate.identity import COUNTING, HARNESS
from gdnbench.values.errors import EnvironmentMissing
from gdnbench.values.runs import Machine, Source

SEVERAL = "several"
"""In place of a machine's name, where the launches of one campaign ran on several of one kind."""

_LIBRARIES = ("torch", "numpy", "python", "vllm")


def machine_of(
    environment: Mapping[str, Any], device: str, others: Iterable[Mapping[str, Any]] = (), **libraries: str
) -> Machine:
    """The machine that an environment tells of, as `campaign.surroundings` found it when it measured.

    Args:
        others: the environments of the other launches, which may have run on other machines of that kind.
        libraries: further versions by name.
    """
    hosts = {str(one.get("machine") or host()) for one in (environment, *others)}
    gpu = environment.get("gpu")
    versions = {name: str(environment[name]) for name in _LIBRARIES if environment.get(name) is not None}
    return Machine(
        host=hosts.pop() if len(hosts) == 1 else SEVERAL,
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
