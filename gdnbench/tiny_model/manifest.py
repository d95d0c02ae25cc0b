"""What a folder of data holds: its source, its licence, and the size and sha256 of every file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

MANIFEST = "manifest.json"


def write_manifest(folder: Path, source: str, licence: str = "Apache-2.0") -> None:
    """Describes all other files of `folder` in `folder/manifest.json`."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != MANIFEST)
    entries = {path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)} for path in files}
    manifest = {"source": source, "licence": licence, "files": entries}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
