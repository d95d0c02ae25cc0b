"""Where a history lies: a folder of this machine, or anything that fsspec reaches, such as `s3://bucket/runs`."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gdnbench.history.names import is_aside
from gdnbench.history.needs import require_libraries
from gdnbench.oracle.cache import ASIDE, aside
from gdnbench.values.errors import EnvironmentMissing, UserError

LAST = "run.json"
"""The file that is written last: where a directory cannot be renamed, a run is there when this is."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a place holds.

    Attributes:
        runs: by directory, the sizes of its files in bytes by name.
        asides: directories that somebody is writing, or never finished.
    """

    runs: Mapping[str, Mapping[str, int]]
    asides: tuple[str, ...]


class Place:
    """A folder of runs.

    Args:
        location: a path, or a URL that fsspec knows.

    Raises:
        UserError: it is neither.
        EnvironmentMissing: the extra, or the library for such a URL, is missing.
    """

    def __init__(self, location: str) -> None:
        require_libraries()
        from fsspec.core import url_to_fs

        self.location = location
        try:
            self._files, self._root = url_to_fs(location if "://" in location else str(Path(location).expanduser()))
        except ImportError as error:
            raise EnvironmentMissing(f"--history {location}: {error}") from None
        except ValueError as error:
            raise UserError(f"--history {location}: {error}") from None
        self._local = Path(self._root) if "file" in self._protocols else None

    @property
    def _protocols(self) -> tuple[str, ...]:
        given = self._files.protocol
        return (given,) if isinstance(given, str) else tuple(given)

    def exists(self) -> bool:
        """Whether there is such a folder."""
        return bool(self._files.isdir(self._root))

    def prepare(self) -> None:
        """Make the folder, so that what is to be kept later can be.

        Raises:
            EnvironmentMissing: it cannot be made or written.
        """
        try:
            self._files.makedirs(self._root, exist_ok=True)
        except Exception as error:
            raise self._refused(error) from None
        if self._local is not None and not os.access(self._local, os.W_OK):
            raise EnvironmentMissing(f"cannot write to the history {self.location} (no permission)")

    def names(self) -> list[str]:
        """The names of everything in it.

        Raises:
            EnvironmentMissing: it cannot be read.
        """
        self._files.invalidate_cache()
        try:
            return [str(path).rstrip("/").rpartition("/")[2] for path in self._files.ls(self._root, detail=False)]
        except Exception as error:
            raise EnvironmentMissing(f"cannot read the history {self.location} ({_reason(error)})") from None

    def contents(self) -> Contents:
        """Everything in it, in one listing.

        Raises:
            EnvironmentMissing: it cannot be read.
        """
        self._files.invalidate_cache()
        try:
            found = self._files.find(self._root, maxdepth=2, withdirs=True, detail=True)
        except Exception as error:
            raise EnvironmentMissing(f"cannot read the history {self.location} ({_reason(error)})") from None
        runs: dict[str, dict[str, int]] = {}
        for path, facts in found.items():
            directory, _, file = str(path)[len(self._root) :].strip("/").partition("/")
            if facts["type"] == "directory" and directory:
                runs.setdefault(directory, {})
            elif file:
                runs.setdefault(directory, {})[file] = int(facts["size"] or 0)
        asides = sorted(name for name in runs if is_aside(name))
        return Contents({name: files for name, files in runs.items() if name not in asides}, tuple(asides))

    def read(self, paths: Sequence[str], most: int) -> list[bytes | Exception]:
        """Files by their paths in the folder, at most so many bytes of each; for what cannot be read, the error."""
        full = [f"{self._root}/{path}" for path in paths]
        if not full:
            return []
        answers: list[Any] = self._files.cat_ranges(full, [0] * len(full), [most] * len(full), on_error="return")
        return [answer if isinstance(answer, bytes | Exception) else bytes(answer) for answer in answers]

    def write(self, directory: str, files: Mapping[str, bytes]) -> None:
        """Put a new directory there, whole or not at all: aside and renamed, or where that cannot be, `LAST` last.

        Raises:
            EnvironmentMissing: the disk refuses. Nothing of it is left behind.
        """
        self.prepare()
        try:
            if self._local is not None:
                with aside(self._local / directory) as made:
                    for name, content in files.items():
                        _write(made / name, content)
                    _sync(made)
                _sync(self._local)
            else:
                self._put(f"{self._root}/{directory}", files)
        except Exception as error:
            raise self._refused(error) from None

    def put(self, path: str, content: bytes) -> None:
        """Put a new file into one of its directories, whole or not at all.

        Args:
            path: in the folder; a name that no other writer takes.

        Raises:
            EnvironmentMissing: the disk refuses.
        """
        self.prepare()
        target = f"{self._root}/{path}"
        try:
            self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
            if self._local is not None:
                _write_aside(self._local / path, content)
            else:
                self._files.pipe_file(target, content)
        except Exception as error:
            raise self._refused(error) from None

    def files(self, directory: str) -> list[str]:
        """Paths of the files in one of its directories, in order of their names; none if it is not there.

        Raises:
            EnvironmentMissing: it cannot be read.
        """
        self._files.invalidate_cache()
        try:
            found = self._files.ls(f"{self._root}/{directory}", detail=False)
        except FileNotFoundError:
            return []
        except Exception as error:
            raise EnvironmentMissing(f"cannot read the history {self.location} ({_reason(error)})") from None
        return sorted(f"{directory}/{str(path).rstrip('/').rpartition('/')[2]}" for path in found)

    def _put(self, target: str, files: Mapping[str, bytes]) -> None:
        try:
            self._files.makedirs(target, exist_ok=True)
            for name in sorted(files, key=lambda name: name == LAST):
                self._files.pipe_file(f"{target}/{name}", files[name])
        except BaseException:
            if self._files.exists(target):
                self._files.rm(target, recursive=True)
            raise

    def _refused(self, error: Exception) -> EnvironmentMissing:
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        advice = "free some space" if full else "name a folder that can be written"
        return EnvironmentMissing(f"cannot write to the history {self.location} ({_reason(error)}): {advice}")


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(0o644)


def _write_aside(path: Path, content: bytes) -> None:
    made = path.with_name(f"{ASIDE}{path.name}")
    try:
        _write(made, content)
        made.rename(path)
    finally:
        made.unlink(missing_ok=True)
    _sync(path.parent)


def _sync(directory: Path) -> None:
    """So that a machine that loses power keeps names as well as contents."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:200]
