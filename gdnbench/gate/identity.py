"""What is measured here, by what code, on which machine."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import torch

import gdn_impl
import gdnbench
from gdnbench.campaign.surroundings import cpu_model
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


def digest(places: Iterable[Path]) -> str:
    """SHA-256 of Python files: of each the name below its place, and its bytes."""
    whole = hashlib.sha256()
    for place in places:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            name, content = path.relative_to(place.parent).as_posix(), path.read_bytes()
            whole.update(f"{name}\0{len(content)}\0".encode())
            whole.update(content)
    return whole.hexdigest()
