"""What each data set is, where it comes from, and the size and sha256 of every file of it.

Manifests of public data sets lie in `manifests/` beside this file; those of our own lie with their data, in
`datasets/*/manifest.json` of the checkout.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import gdnbench
from gdnbench.oracle.cache import cache_root
from gdnbench.values.errors import UserError

BLOCK = 1 << 20
Count = Callable[[int], None]
"""Is told how many bytes are done."""


def uncounted(done: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a data set.

    Attributes:
        name: its name in `path`'s directory.
        path: where it lies, or will once it is fetched.
        url: where it is fetched from; None for what comes with the checkout.
        bytes: its size.
        sha256: of its content.
    """

    name: str
    path: Path
    url: str | None
    bytes: int
    sha256: str

    def state(self, count: Count = uncounted) -> str:
        """`good`, `absent`, or what is wrong with it, in one phrase. Reads all of it."""
        if not self.path.is_file():
            return "absent"
        size = self.path.stat().st_size
        if size != self.bytes:
            return f"{size} bytes instead of {self.bytes}"
        found = sha256(self.path, count)
        return "good" if found == self.sha256 else f"its sha256 is {found}, not {self.sha256}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """A data set.

    Attributes:
        name: one word.
        what: one line.
        source: where it comes from, a URL or a sentence.
        licence: as its publisher states it.
        format: of its main files, as `gdnbench data inspect` names it; empty for a model.
        files: of it.
    """

    name: str
    what: str
    source: str
    licence: str
    format: str
    files: tuple[DataFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "what": self.what,
            "source": self.source,
            "licence": self.licence,
            "format": self.format,
            "bytes": self.bytes,
            "files": [
                {
                    "name": file.name,
                    "path": str(file.path),
                    "url": file.url,
                    "bytes": file.bytes,
                    "sha256": file.sha256,
                    "here": file.path.is_file(),
                }
                for file in self.files
            ],
        }


def manifests() -> tuple[Manifest, ...]:
    """All that there are: public data sets, then those of this checkout."""
    public = resources.files("gdnbench.workloads").joinpath("manifests").iterdir()
    found = [
        _manifest(entry.name.removesuffix(".json"), json.loads(entry.read_text("utf-8")), None)
        for entry in sorted(public, key=lambda entry: entry.name)
        if entry.name.endswith(".json")
    ]
    checkout = Path(gdnbench.__file__).resolve().parent.parent / "datasets"
    found += [
        _manifest(path.parent.name, json.loads(path.read_text("utf-8")), path.parent)
        for path in sorted(checkout.glob("*/manifest.json"))
    ]
    return tuple(found)


def manifest(name: str) -> Manifest:
    """The data set of that name.

    Raises:
        UserError: there is none.
    """
    known = {one.name: one for one in manifests()}
    if name not in known:
        raise UserError(f"no data set {name!r}: there are {', '.join(known)}")
    return known[name]


def known(checksum: str) -> str | None:
    """The data set and file that has this checksum, such as `gsm8k test.jsonl`."""
    return next(
        (f"{one.name} {file.name}" for one in manifests() for file in one.files if file.sha256 == checksum), None
    )


def sha256(path: Path, count: Count = uncounted) -> str:
    """The checksum of a file of any size, as hexadecimal digits."""
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
            done += len(block)
            count(done)
    return digest.hexdigest()


def _manifest(name: str, data: Mapping[str, Any], directory: Path | None) -> Manifest:
    folder = cache_root() / "datasets" / name if directory is None else directory
    files = tuple(
        DataFile(file, folder / file, entry.get("url"), entry["bytes"], entry["sha256"])
        for file, entry in data["files"].items()
    )
    return Manifest(
        name, data.get("what", data["source"]), data["source"], data["licence"], data.get("format", ""), files
    )
