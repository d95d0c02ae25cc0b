"""Digests of code and of files: whether two processes, commits or machines have the same."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import torch

import gdn_impl
import gdnbench

WHOLE_BYTES = 16 << 20
"""Of a file that is read to the end; of a larger one, such as a model's weights, the length has to do."""


def digest(places: Iterable[Path]) -> str:
    """SHA-256 of Python files: of each the name below its place, and its bytes."""
    whole = hashlib.sha256()
    for place in places:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            name, content = path.relative_to(place.parent).as_posix(), path.read_bytes()
            whole.update(f"{name}\0{len(content)}\0".encode())
            whole.update(content)
    return whole.hexdigest()


@cache
def own_code() -> dict[str, str]:
    """What two machines must have in common before their launches can be of one campaign, by name."""
    packages = [Path(str(package.__file__)).resolve().parent for package in (gdnbench, gdn_impl)]
    return {"gdnbench": digest(packages)[:12], **own_libraries()}


def own_libraries() -> dict[str, str]:
    """Versions of what this process measures with, by name."""
    return {"python": platform.python_version(), "torch": str(torch.__version__), "numpy": np.__version__}


def contents(place: Path) -> str | None:
    """A digest of a file or directory, hidden files and compiled code left out; None where there is none."""
    if not place.exists():
        return None
    whole = hashlib.sha256()
    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        name = path.relative_to(place)
        if not path.is_file() or path.suffix == ".pyc" or any(part.startswith(".") for part in name.parts):
            continue
        size = path.stat().st_size
        whole.update(f"{name.as_posix()}\0{size}\0".encode())
        if size <= WHOLE_BYTES:
            whole.update(path.read_bytes())
    return whole.hexdigest()
