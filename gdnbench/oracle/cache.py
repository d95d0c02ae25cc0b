"""The cache of releases on disk: where it lies, and directories that are written aside, then renamed."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gdnbench.values.errors import EnvironmentMissing

ASIDE = ".aside-"


def cache_root() -> Path:
    """`$GDNBENCH_CACHE`, or `~/.cache/gdnbench`."""
    given = os.environ.get("GDNBENCH_CACHE")
    return Path(given).expanduser() if given else Path.home() / ".cache" / "gdnbench"


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """Turns what the disk refuses into one line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise EnvironmentMissing(
            f"cannot write to the cache {root} ({reason}): set GDNBENCH_CACHE to a directory that can be written"
        ) from None


@contextmanager
def aside(target: Path) -> Iterator[Path]:
    """A new directory beside `target` that becomes `target` when the block ends well, and vanishes when it does not.

    Where `target` is there by then, another process was faster, and its result stands: names tell contents.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=ASIDE, dir=target.parent))
    try:
        yield made
        made.chmod(0o755)
        with suppress(FileExistsError):
            _rename(made, target)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _rename(made: Path, target: Path) -> None:
    try:
        made.rename(target)
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:
            raise FileExistsError(target) from None
        raise


def write_aside(target: Path, content: str | bytes) -> None:
    """Writes a file beside `target`, then renames it."""
    descriptor, made = tempfile.mkstemp(prefix=ASIDE, dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content.encode("utf-8") if isinstance(content, str) else content)
        Path(made).chmod(0o644)
        Path(made).replace(target)
    finally:
        Path(made).unlink(missing_ok=True)
