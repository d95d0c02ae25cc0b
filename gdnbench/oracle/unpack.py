"""Takes the package `vllm` out of a wheel, or its Python and JSON files alone, and trusts nothing the archive says."""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO

PACKAGE = "vllm"
SUFFIXES = frozenset({".py", ".json"})
MAX_FILES = 20_000
MAX_BYTES = 512 << 20
"""Of all Python and JSON files together, unpacked; a release has about 40 MB."""
MAX_WHOLE_BYTES = 2 << 30
"""Of a whole wheel, unpacked; a release has about 450 MB, nearly all in its native libraries."""


class UnsoundWheelError(Exception):
    """The archive is damaged or no honest wheel; the message is the reason, in a few words."""


def unpack(wheel: Path, into: Path, *, whole: bool = False) -> int:
    """Writes files of `wheel` below the empty directory `into`; returns how many.

    Args:
        whole: all of `vllm/` and of the wheel's `dist-info`, which names the release; else `vllm/**.py` and
            `vllm/**.json` alone.

    Raises:
        UnsoundWheelError: the archive cannot be read, an entry would land elsewhere, or it is far too large.
        OSError: the disk refuses.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            entries = [entry for entry in archive.infolist() if _wanted(entry, whole)]
            if not any(entry.filename.startswith(f"{PACKAGE}/") for entry in entries):
                raise UnsoundWheelError(f"it holds no package {PACKAGE}")
            if len(entries) > MAX_FILES:
                raise UnsoundWheelError(f"it holds more than {MAX_FILES} files")
            room = limit = MAX_WHOLE_BYTES if whole else MAX_BYTES
            for entry in entries:
                target = into / entry.filename
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source, target.open("xb") as sink:
                    room -= _copy(source, sink, room, limit)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise UnsoundWheelError(str(error) or type(error).__name__) from None
    except FileExistsError as error:
        raise UnsoundWheelError(f"it holds {Path(error.filename).name} twice") from None
    return len(entries)


def _wanted(entry: zipfile.ZipInfo, whole: bool) -> bool:
    """Whether to unpack an entry. One that would land outside condemns the whole archive, wanted or not."""
    path = PurePosixPath(entry.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in entry.orig_filename or ":" in entry.orig_filename:
        raise UnsoundWheelError(f"its entry {entry.orig_filename!r} points outside")
    if entry.is_dir() or not path.parts or not _belongs(path, whole):
        return False
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise UnsoundWheelError(f"its entry {entry.filename!r} is not a plain file")
    return True


def _belongs(path: PurePosixPath, whole: bool) -> bool:
    top = path.parts[0]
    if not whole:
        return top == PACKAGE and path.suffix in SUFFIXES
    return top == PACKAGE or (top.startswith(f"{PACKAGE}_cpu-") and top.endswith(".dist-info"))


def _copy(source: IO[bytes], sink: IO[bytes], room: int, limit: int) -> int:
    """Copies at most `room` bytes, whatever size the archive declares; returns how many."""
    written = 0
    while block := source.read(1 << 20):
        written += len(block)
        if written > room:
            raise UnsoundWheelError(f"it unpacks to more than {limit >> 20} MiB")
        sink.write(block)
    return written
