"""Takes the Python and JSON files of the package `vllm` out of a wheel, and trusts nothing that the archive says."""

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
"""Of all files together, unpacked; a release has about 40 MB."""


class UnsoundWheelError(Exception):
    """The archive is damaged or no honest wheel; the message is the reason, in a few words."""


def unpack(wheel: Path, into: Path) -> int:
    """Writes `vllm/**.py` and `vllm/**.json` of `wheel` below the empty directory `into`; returns how many files.

    Raises:
        UnsoundWheelError: the archive cannot be read, an entry would land elsewhere, or it is far too large.
        OSError: the disk refuses.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            entries = [entry for entry in archive.infolist() if _wanted(entry)]
            if not entries:
                raise UnsoundWheelError(f"it holds no package {PACKAGE}")
            if len(entries) > MAX_FILES:
                raise UnsoundWheelError(f"it holds more than {MAX_FILES} files")
            room = MAX_BYTES
            for entry in entries:
                target = into / entry.filename
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source, target.open("xb") as sink:
                    room -= _copy(source, sink, room)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise UnsoundWheelError(str(error) or type(error).__name__) from None
    except FileExistsError as error:
        raise UnsoundWheelError(f"it holds {Path(error.filename).name} twice") from None
    return len(entries)


def _wanted(entry: zipfile.ZipInfo) -> bool:
    """Whether to unpack an entry. One that would land outside condemns the whole archive, wanted or not."""
    path = PurePosixPath(entry.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in entry.orig_filename or ":" in entry.orig_filename:
        raise UnsoundWheelError(f"its entry {entry.orig_filename!r} points outside")
    if entry.is_dir() or path.parts[:1] != (PACKAGE,) or path.suffix not in SUFFIXES:
        return False
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise UnsoundWheelError(f"its entry {entry.filename!r} is not a plain file")
    return True


def _copy(source: IO[bytes], sink: IO[bytes], room: int) -> int:
    """Copies at most `room` bytes, whatever size the archive declares; returns how many."""
    written = 0
    while block := source.read(1 << 20):
        written += len(block)
        if written > room:
            raise UnsoundWheelError(f"it unpacks to more than {MAX_BYTES >> 20} MiB")
        sink.write(block)
    return written
