"""What is measured here, by what code, on which machine."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import torch

import gdn_impl
import gdnbench
from gdnbench.campaign.code import digest
from gdnbench.campaign.machine import cpu_model
from gdnbench.gate.commits import checked_out
from gdnbench.values.gate import Identity

COUNTING = ("values/scenarios.py", "devices", "drivers", "probes")
"""What of the harness decides a count."""

HARNESS = Path(gdnbench.__file__).resolve().parent


def identity_of(builders: Path | None = None, commit: str | None = None) -> Identity:
    """The identity of what this process measures now.

    Args:
        builders: the folder that holds another `gdn_impl`, default this process's own.
        commit: whose they are.
    """
    own = Path(gdn_impl.__file__).resolve().parent
    found, changed = (commit, False) if builders is not None else checked_out(HARNESS.parent)
    return Identity(
        torch=str(torch.__version__),
        source=digest([own if builders is None else builders / own.name]),
        harness=digest(HARNESS / name for name in COUNTING),
        commit=found,
        changed=changed,
        cpu=cpu_model(),
        cores=os.cpu_count() or 1,
        gpu=torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        python=platform.python_version(),
        system=platform.system(),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )
