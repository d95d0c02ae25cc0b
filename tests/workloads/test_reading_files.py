"""Files from outside: what is whole is read entry by entry, and what is not is named (case 9)."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from gdnbench.values.errors import UserError
from gdnbench.workloads import stream
from gdnbench.workloads.stream import DamagedFile, JsonFile

ENTRIES = [
    {"id": "a\u00e9\u4e2d\U0001f600", "list": [1, -2.5e-3, True, None, {"x": False}], "text": 'q"uo\\te\n'},
    {"id": "b", "number": 12},
    {"empty": {}, "conversations": []},
]
TEXTS = {
    "escaped": json.dumps(ENTRIES),
    "indented": json.dumps(ENTRIES, indent=2, ensure_ascii=False),
    "lines": "\n".join(json.dumps(entry, ensure_ascii=False) for entry in ENTRIES) + "\n",
}


@pytest.fixture(params=[5, 1 << 20], ids=["small blocks", "one block"])
def blocks(request, monkeypatch) -> int:
    monkeypatch.setattr(stream, "BLOCK", request.param)
    return request.param


def written(tmp_path: Path, content: bytes | str) -> Path:
    path = tmp_path / "file.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def fault_of(path: Path) -> DamagedFile:
    with pytest.raises(DamagedFile) as found:
        list(JsonFile(path))
    content = path.read_bytes()
    damaged = found.value
    assert (damaged.bytes, damaged.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    line = str(damaged)
    assert "\n" not in line and line.isascii() and line.startswith(f"{path}: ")
    assert f"({len(content)} bytes, sha256 {damaged.sha256})" in line
    return damaged


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_what_is_whole_is_read_as_it_stands(tmp_path: Path, blocks: int, text: str) -> None:
    path = written(tmp_path, f" \n{text}")
    told: list[int] = []
    file = JsonFile(path, told.append)
    assert list(file) == ENTRIES
    assert (file.entries, file.bytes) == (3, path.stat().st_size)
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert told == sorted(told) and told[-1] == file.bytes
    assert file.format == ("lines" if text is TEXTS["lines"] else "array")


@pytest.mark.parametrize("text", [TEXTS["escaped"], TEXTS["indented"]], ids=["escaped", "indented"])
def test_an_array_cut_anywhere_is_truncated_at_that_byte(tmp_path: Path, blocks: int, text: str) -> None:
    content = text.encode()
    for length in range(1, len(content)):
        damaged = fault_of(written(tmp_path, content[:length]))
        assert damaged.fault.kind == "truncated", content[:length]
        assert f": truncated at byte {length}, " in str(damaged)


def test_a_cut_inside_a_string_says_where_the_string_begins_and_what_is_whole(tmp_path: Path, blocks: int) -> None:
    whole = '[{"a": "\u4e2d"}, {"b": "'
    damaged = fault_of(written(tmp_path, f"{whole}some text that goes o"))
    begins = len(whole.encode()) - 1
    assert f"inside a string that begins at byte {begins}; 1 entry is whole before it" in damaged.fault.what
    assert "between two entries; 2 entries are whole" in fault_of(written(tmp_path, '[{"a": 1}, {"b": 2},')).fault.what


def test_a_cut_line_is_known(tmp_path: Path) -> None:
    damaged = fault_of(written(tmp_path, '{"a": 1}\n{"b'))
    assert "truncated at byte 12, inside a string that begins at byte 10; 1 entry is whole" in damaged.fault.what


PAGE = b"\n <!DOCTYPE html><html><body>Sorry \xe2\x9c\x93</body></html>"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:35f0e2\nsize 672837942\n"


@pytest.mark.parametrize(
    ("content", "kind", "what"),
    [
        (b"", "empty", "empty, 0 bytes"),
        (PAGE, "page", "an HTML page, not data (starts with '<!DOCTYPE html>"),
        (b"<html>\n", "page", "an HTML page, not data (starts with '<html>')"),
        (b'<?xml version="1.0"?><Error/>', "page", "a page of HTML or XML, not data (starts with '<?xml"),
        (POINTER, "lfs-pointer", "a git-LFS pointer to 672837942 bytes with sha256 35f0e2, not the file itself"),
        (
            b'\xef\xbb\xbf[{"a": 1}]',
            "byte-order-mark",
            "begins with a UTF-8 byte order mark, which vLLM's loader refuses",
        ),
        ('[{"a": "b"}]'.encode("utf-16"), "other-format", "UTF-16, not JSON in UTF-8"),
        (gzip.compress(b"[]", mtime=0), "other-format", "a gzip archive, not JSON"),
        ('[{"a": "caf\u00e9"}]'.encode("latin-1"), "not-utf-8", "not UTF-8: byte 0xe9 at byte 11"),
        (b"\0" * 4096, "zero-bytes", "zero bytes from byte 0 on"),
        (b'[{"a": "b' + b"\0" * 99, "zero-bytes", "zero bytes from byte 9 on: a download that did not finish"),
        (b"hello", "not-json", "neither a JSON array nor JSON Lines (starts with 'hello')"),
        (b'"text"', "not-json", "neither a JSON array nor JSON Lines"),
        (b'[{"a": 1} {"b": 2}]', "not-json", "not JSON at byte 10: no comma after an entry"),
        (b'[{"a": 1},]', "not-json", "not JSON at byte 10"),
        (b'[{"a": 1}]]', "not-json", "not JSON at byte 10: more after the end of the array"),
        (b'[{"a": 1}]\xe2', "not-json", "not JSON at byte 10: more after the end of the array"),
        (b"[{'a': 1}]", "not-json", "not JSON at byte 2"),
        (b'[{"a": tru}, {}]', "not-json", "not JSON at byte 7"),
        (b'[{"a": "\\u12"}, {}]', "not-json", "not JSON at byte"),
        (b'{"a": 1}\nb', "not-json", "not JSON at byte 9: no object where one must begin"),
        (b'[{"a": ' + b"[" * 200_000, "not-json", "not JSON at byte 1: an entry nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "not-json", "not JSON at byte 1: an entry that cannot be read"),
    ],
    ids=str,
)
def test_what_is_no_data_is_called_by_its_name(tmp_path: Path, content: bytes, kind: str, what: str) -> None:
    damaged = fault_of(written(tmp_path, content))
    assert (damaged.fault.kind, damaged.exit_code) == (kind, 2)
    assert damaged.fault.what.startswith(what) or what in damaged.fault.what


@pytest.mark.parametrize("rest", [b'"a\nb"}]', b'"caf\xe9"}]'], ids=["control character", "not UTF-8"])
def test_a_fault_is_found_at_its_byte_wherever_blocks_end(tmp_path: Path, blocks: int, rest: bytes) -> None:
    before = '[{"a": "\u00e9\u4e2d\U0001f600"}, {"b": '.encode()
    place = len(before) + rest.index(b"\n" if b"\n" in rest else b"\xe9")
    assert f"at byte {place}" in fault_of(written(tmp_path, before + rest)).fault.what


def test_limits_of_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, json.dumps([{"a": "x" * 3000}]))
    monkeypatch.setattr(stream, "MAX_ENTRY", 1000)
    monkeypatch.setattr(stream, "BLOCK", 500)
    assert "an entry of more than 1000 characters" in str(fault_of(path))
    monkeypatch.setattr(stream, "MAX_FILE", 2000)
    with pytest.raises(UserError, match="more than 2000 bytes are not read"):
        list(JsonFile(path))


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps([{"a": "x" * 5000}] * 8000))
    assert path.stat().st_size > 40_000_000
    tracemalloc.start()
    try:
        assert sum(1 for _ in JsonFile(path)) == 8000
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*absent\.json: No such file"):
        list(JsonFile(tmp_path / "absent.json"))
    with pytest.raises(UserError, match="is no file"):
        list(JsonFile(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="is no file"):
        list(JsonFile(tmp_path / "pipe"))
