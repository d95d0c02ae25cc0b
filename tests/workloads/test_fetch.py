"""Fetching against a real server, which behaves as servers do: it drops, ignores, refuses and lies."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gdnbench.values.errors import EnvironmentMissing, Interrupted, UserError
from gdnbench.workloads import fetch as fetching
from gdnbench.workloads.fetch import fetch
from gdnbench.workloads.manifests import DataFile

CONTENT = bytes(range(256)) * 4096 + b"the end"
HALF = len(CONTENT) // 2
PAGE = b"<!DOCTYPE html><title>Log in</title>"


@dataclass
class Site:
    """A server of one file, and what is wrong with it."""

    content: bytes = CONTENT
    ranges: bool = True
    drops_after: list[int] = field(default_factory=list)
    """For each connection in turn, the bytes after which it ends; then all are sound."""
    status: list[int] = field(default_factory=list)
    """For each connection in turn, an error instead; then none."""
    sends_length: bool = True
    asked: list[str | None] = field(default_factory=list)
    """The range that each connection asked for."""
    url: str = ""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers["Range"]
        self.asked.append(wanted)
        if self.status:
            request.send_error(self.status.pop(0))
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        if start >= len(self.content):
            request.send_error(416)
            return
        body = self.content[start:]
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        if self.sends_length:
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: self.drops_after.pop(0)] if self.drops_after else body)


@pytest.fixture
def site(monkeypatch) -> Iterator[Site]:
    found = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.answer(self)

        def log_message(self, *arguments: object) -> None:
            pass

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(fetching, "PAUSE_S", 0.01)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found.url = f"http://127.0.0.1:{server.server_port}"
        yield found
        server.shutdown()


@pytest.fixture
def file(tmp_path: Path, site: Site) -> DataFile:
    checksum = hashlib.sha256(CONTENT).hexdigest()
    return DataFile("data.json", tmp_path / "cache" / "data.json", f"{site.url}/data.json", len(CONTENT), checksum)


def part_of(file: DataFile) -> Path:
    return file.path.with_name("data.json.part")


def stopped_at(file: DataFile, length: int, content: bytes = CONTENT) -> None:
    file.path.parent.mkdir()
    part_of(file).write_bytes(content[:length])


def is_whole_and_alone(file: DataFile) -> bool:
    return file.path.read_bytes() == CONTENT and list(file.path.parent.iterdir()) == [file.path]


def test_a_file_is_fetched_once(site: Site, file: DataFile) -> None:
    told: list[int] = []
    assert fetch(file, count=told.append) == file.path and is_whole_and_alone(file)
    assert told == sorted(told) and told[-1] == len(CONTENT)
    assert fetch(file) == file.path
    assert site.asked == [None]


def test_it_goes_on_where_it_was_stopped(site: Site, file: DataFile) -> None:
    stopped_at(file, 1000)
    fetch(file)
    assert site.asked == ["bytes=1000-"] and is_whole_and_alone(file)


def test_it_goes_on_where_the_connection_ended(site: Site, file: DataFile) -> None:
    site.drops_after = [HALF, 10]
    fetch(file)
    assert site.asked == [None, f"bytes={HALF}-", f"bytes={HALF + 10}-"] and is_whole_and_alone(file)


def test_a_server_that_ignores_the_range_is_taken_from_the_beginning(site: Site, file: DataFile) -> None:
    site.ranges = False
    stopped_at(file, 1000)
    fetch(file)
    assert site.asked == ["bytes=1000-"] and is_whole_and_alone(file)


@pytest.mark.parametrize("length", [1000, len(CONTENT), len(CONTENT) + 5])
def test_what_was_begun_of_another_file_is_thrown_away(site: Site, file: DataFile, length: int) -> None:
    stopped_at(file, length, b"x" * (len(CONTENT) + 5))
    fetch(file)
    assert site.asked[-1] is None and is_whole_and_alone(file)


def test_a_damaged_file_under_the_final_name_is_replaced(site: Site, file: DataFile) -> None:
    file.path.parent.mkdir()
    file.path.write_bytes(CONTENT[:-1] + b"!")
    fetch(file)
    assert is_whole_and_alone(file)


def test_a_server_that_brings_nothing_is_given_up_and_what_came_is_kept(site: Site, file: DataFile) -> None:
    site.drops_after = [HALF, *[0] * 9]
    with pytest.raises(EnvironmentMissing, match=rf"{HALF} of {len(CONTENT)} bytes .* fetch again") as gave_up:
        fetch(file)
    assert len(site.asked) == 4 and "\n" not in str(gave_up.value)
    assert not file.path.exists() and part_of(file).stat().st_size == HALF


def test_a_busy_server_is_asked_again(site: Site, file: DataFile) -> None:
    site.status = [503, 429]
    fetch(file)
    assert is_whole_and_alone(file)


def refused(file: DataFile, match: str, mirror: str | None = None) -> None:
    """No file is left by a refusal, and it is one line."""
    with pytest.raises(EnvironmentMissing, match=match) as error:
        fetch(file, mirror)
    assert "\n" not in str(error.value) and error.value.exit_code == 4
    assert list(file.path.parent.iterdir()) == []


@pytest.mark.parametrize("sends_length", [True, False])
def test_a_page_instead_of_the_file(site: Site, file: DataFile, sends_length: bool) -> None:
    site.content, site.sends_length = PAGE, sends_length
    refused(file, "answers with an HTML page, not data")


def test_a_pointer_instead_of_the_file(site: Site, file: DataFile) -> None:
    site.content = b"version https://git-lfs.github.com/spec/v1\noid sha256:12ab\nsize 9\n"
    refused(file, "a git-LFS pointer to 9 bytes")


@pytest.mark.parametrize(
    ("content", "sends_length", "match"),
    [
        (CONTENT[:-1], True, f"another file: it has {len(CONTENT) - 1} bytes, not {len(CONTENT)}"),
        (CONTENT + b"!", True, f"another file: it has {len(CONTENT) + 1} bytes, not {len(CONTENT)}"),
        (CONTENT + b"!", False, f"another file: it has more than {len(CONTENT)} bytes"),
        (CONTENT[:-1] + b"!", True, "another file: its sha256 is "),
    ],
)
def test_another_file_than_was_promised(
    site: Site, file: DataFile, content: bytes, sends_length: bool, match: str
) -> None:
    site.content, site.sends_length = content, sends_length
    refused(file, match)


def test_a_file_that_is_not_there(site: Site, file: DataFile) -> None:
    site.status = [404]
    refused(file, "HTTP 404 Not Found.*mirror")
    assert site.asked == [None]


def test_no_network(site: Site, file: DataFile) -> None:
    refused(file, "Connection refused; 0 of .* put the file at", mirror="http://127.0.0.1:1")
    refused(file, "check the network", mirror="http://no-such-host.invalid")


def test_a_mirror(site: Site, file: DataFile) -> None:
    away = DataFile(file.name, file.path, "http://127.0.0.1:1/data.json", file.bytes, file.sha256)
    fetch(away, mirror=f"{site.url}/")
    assert is_whole_and_alone(file)
    with pytest.raises(UserError, match="no address of the web"):
        fetch(away.__class__("x", file.path.with_name("x"), None, 1, ""), mirror="file:///etc")


def test_what_comes_with_the_checkout_is_not_fetched(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="comes with the checkout"):
        fetch(DataFile("x", tmp_path / "x", None, 1, ""))


def test_an_interruption_keeps_what_came(site: Site, file: DataFile) -> None:
    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"of data\.json are here: fetch again, and it goes on"):
        fetch(file, count=stop)
    assert not file.path.exists() and part_of(file).stat().st_size > 0
    fetch(file)
    assert is_whole_and_alone(file)


def test_two_processes_do_not_fetch_into_one_part(site: Site, file: DataFile) -> None:
    def meanwhile(done: int) -> None:
        with pytest.raises(UserError, match="being fetched by another process"):
            fetch(file)

    fetch(file, count=meanwhile)
    assert is_whole_and_alone(file)


LIMITED = """
import resource, sys
from pathlib import Path
from gdnbench.workloads.fetch import fetch
from gdnbench.workloads.manifests import DataFile
from gdnbench.values.errors import EnvironmentMissing
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    fetch(DataFile("data.json", Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]))
except EnvironmentMissing as error:
    print(error)
"""


def test_a_disk_that_takes_no_more(site: Site, file: DataFile) -> None:
    arguments = [str(file.path), str(file.url), str(file.bytes), file.sha256]
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    assert re.fullmatch(r"cannot write .*cache \(File too large; 300000 of .* make room .*\n", run.stdout)
    assert not file.path.exists()
    fetch(file)
    assert site.asked[-1] == "bytes=300000-" and is_whole_and_alone(file)


def test_a_directory_that_cannot_be_made(tmp_path: Path, file: DataFile) -> None:
    file.path.parent.write_text("")
    with pytest.raises(EnvironmentMissing, match=r"cannot write .*GDNBENCH_CACHE"):
        fetch(file)
