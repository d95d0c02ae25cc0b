"""Fetches a file of a data set: goes on where it stopped, checks size and sha256, and only then gives it its name.

What has come so far lies beside the file, as `<name>.part`.
"""

from __future__ import annotations

import fcntl
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from io import FileIO
from pathlib import Path
from urllib.parse import quote, urlsplit

from gdnbench.values.errors import EnvironmentMissing, Interrupted, UserError
from gdnbench.workloads.manifests import BLOCK, Count, DataFile, sha256, uncounted
from gdnbench.workloads.signs import fault_of_head

ATTEMPTS = 3
"""Connections in a row that may bring nothing."""
PAUSE_S = 0.5
TIMEOUT_S = 30.0
"""Without a byte."""


def fetch(file: DataFile, mirror: str | None = None, count: Count = uncounted) -> Path:
    """Bring `file` where it belongs, if it is not there whole already; its path.

    Args:
        mirror: a URL beneath which the same file lies under the same name; default, the manifest's source.
        count: is told how many bytes have come.

    Raises:
        EnvironmentMissing: no network, no such file there, other content, or the disk does not take it.
        Interrupted: by the user; what has come is kept.
        UserError: it has no source, or another process is fetching it.
    """
    url = _url(file, mirror)
    if file.state() == "good":
        return file.path
    part = file.path.with_name(f"{file.name}.part")
    with _locked(part) as stream:
        resumed = stream.seek(0, 2) > 0
        while True:
            try:
                _complete(file, url, stream, count)
            except KeyboardInterrupt:
                raise Interrupted(f"{_so_far(stream, file)}: fetch again, and it goes on from there") from None
            found = sha256(part)
            if found == file.sha256:
                part.replace(file.path)
                return file.path
            stream.truncate(0)
            if not resumed:
                raise EnvironmentMissing(f"{url} is another file: its sha256 is {found}, not {file.sha256}")
            resumed = False  # the older part may have been of another file: once more, from the beginning


def _complete(file: DataFile, url: str, stream: FileIO, count: Count) -> None:
    """Fetches what is missing, over as many connections as it takes."""
    if stream.seek(0, 2) > file.bytes:
        stream.truncate(0)
    failures = 0
    while (before := stream.seek(0, 2)) < file.bytes:
        try:
            _receive(file, url, stream, count)
            reason = "the connection ended early"
        except _Dropped as dropped:
            reason = str(dropped)
        failures = 0 if stream.seek(0, 2) > before else failures + 1
        if failures == ATTEMPTS:
            raise EnvironmentMissing(
                f"cannot fetch {url} ({reason}; {_so_far(stream, file)}): check the network and fetch again, or put "
                f"the file at {file.path}"
            )
        time.sleep(PAUSE_S * failures)


def _receive(file: DataFile, url: str, stream: FileIO, count: Count) -> None:
    """Appends to `stream` what one connection brings."""
    start = stream.seek(0, 2)
    with _connected(url, start) as response:
        if response is None:  # there is nothing at `start`: what has come is of another file
            stream.truncate(0)
            return
        if response.status != HTTPStatus.PARTIAL_CONTENT or not _starts_at(response, start):
            stream.truncate(0)
            if response.status == HTTPStatus.PARTIAL_CONTENT:
                return
            start = 0
        block = _read(response)
        fault = fault_of_head(block) if start == 0 and block else None
        if fault is not None and fault.kind in ("page", "lfs-pointer"):
            raise EnvironmentMissing(f"{url} answers with {fault.what}")
        size = len(block) + (response.length or 0)
        if response.length is not None and start + size != file.bytes:
            raise EnvironmentMissing(f"{url} is another file: it has {start + size} bytes, not {file.bytes}")
        while block:
            start += len(block)
            if start > file.bytes:
                stream.truncate(0)
                raise EnvironmentMissing(f"{url} is another file: it has more than {file.bytes} bytes")
            _write(stream, block, file)
            count(start)
            block = _read(response)


class _Dropped(Exception):  # noqa: N818 - caught in this file
    """A connection that could not be had, or ended too early."""


@contextmanager
def _connected(url: str, start: int) -> Iterator[http.client.HTTPResponse | None]:
    """The answer of the server; None where it has nothing at `start`."""
    headers = {"User-Agent": "gdnbench"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
            yield None
            return
        reason = f"HTTP {error.code} {error.reason}"
        if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code == HTTPStatus.TOO_MANY_REQUESTS:
            raise _Dropped(reason) from None
        raise EnvironmentMissing(f"cannot fetch {url} ({reason}): give a --mirror that has it") from None
    except (OSError, http.client.HTTPException) as error:
        raise _Dropped(str(getattr(error, "reason", error)) or type(error).__name__) from None
    with response:
        yield response


def _starts_at(response: http.client.HTTPResponse, start: int) -> bool:
    return (response.headers.get("Content-Range") or "").startswith(f"bytes {start}-")


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise _Dropped(str(error) or type(error).__name__) from None


def _write(stream: FileIO, block: bytes, file: DataFile) -> None:
    left = memoryview(block)
    try:
        while left:
            left = left[stream.write(left) :]
    except OSError as error:
        raise EnvironmentMissing(
            f"cannot write {file.path.parent} ({error.strerror}; {_so_far(stream, file)}): make room and fetch again, "
            "or set GDNBENCH_CACHE to a larger disk"
        ) from None


def _so_far(stream: FileIO, file: DataFile) -> str:
    return f"{stream.seek(0, 2)} of {file.bytes} bytes of {file.name} are here"


@contextmanager
def _locked(part: Path) -> Iterator[FileIO]:
    """The part so far, for appending, and for nobody else."""
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        stream = FileIO(part, "a")
    except OSError as error:
        raise EnvironmentMissing(
            f"cannot write {part.parent} ({error.strerror}): set GDNBENCH_CACHE to a directory that can be written"
        ) from None
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{part} is being fetched by another process: wait for it") from None
        try:
            yield stream
        finally:
            if part.exists() and not part.stat().st_size:
                part.unlink()


def _url(file: DataFile, mirror: str | None) -> str:
    if mirror is None and file.url is None:
        raise UserError(f"{file.name} comes with the checkout and is not fetched: get it back with git checkout")
    url = str(file.url) if mirror is None else f"{mirror.rstrip('/')}/{quote(file.name)}"
    if urlsplit(url).scheme not in ("http", "https"):
        raise UserError(f"{url} is no address of the web: a mirror begins with https://")
    return url
