"""Reads JSON from outside entry by entry: in bounded memory, always as UTF-8, with a plain word for what is wrong.

The files are one array of entries, or lines of one object each. Files are data: of limited size, never executed.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from gdnbench.values.errors import UserError
from gdnbench.workloads.manifests import BLOCK, Count, uncounted
from gdnbench.workloads.signs import Fault, beginning, fault_of_head

MAX_FILE = 4 << 30
MAX_ENTRY = 64 << 20
"""Bytes, and characters: ShareGPT has 0.7 GB, and its largest entries a few megabytes."""

_spaces = re.compile(r"[ \t\n\r]*").match
_decode = json.JSONDecoder().raw_decode
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_number_goes_on = re.compile(r"\.|[eE][+-]?").fullmatch


class DamagedFile(UserError):  # noqa: N818 - what the file is, not a fault of ours
    """A file that cannot be read as a data set. The message names it, what it is, its size and its sha256."""

    def __init__(self, path: Path, fault: Fault, size: int, digest: str, entries: int) -> None:
        super().__init__(f"{path}: {fault.what} ({size} bytes, sha256 {digest})")
        self.path, self.fault, self.bytes, self.sha256, self.entries = path, fault, size, digest, entries

    def to_json(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "sound": False,
            "fault": self.fault.kind,
            "what": self.fault.what,
            "whole_entries": self.entries,
            "bytes": self.bytes,
            "sha256": self.sha256,
        }


class JsonFile:
    """A file of JSON entries. Iterate once; then its facts are known.

    Attributes:
        format: `array` or `lines`; `object` for a single one.
        entries: how many there are (before the damage, in a damaged file).
        bytes, sha256: of the whole file.
    """

    def __init__(self, path: Path, count: Count = uncounted) -> None:
        self.path = path
        self.format = ""
        self.entries = 0
        self.bytes = 0
        self.sha256 = ""
        self._count = count

    def __iter__(self) -> Iterator[Any]:
        """The entries, in order.

        Raises:
            DamagedFile: it is no such file, or a broken one.
            UserError: it cannot be read, or is larger than we read.
        """
        with _opened(self.path) as stream:
            text = _Text(stream, self._count)
            try:
                yield from self._read(text)
            except _Broken as broken:
                text.finish()
                raise DamagedFile(self.path, broken.fault, text.read, text.digest.hexdigest(), self.entries) from None
            self.bytes, self.sha256 = text.read, text.digest.hexdigest()

    def _read(self, text: _Text) -> Iterator[Any]:
        text.more(0)
        fault = fault_of_head(text.head)
        if fault is not None:
            raise _Broken(fault)
        at = text.skip(0)
        if text.at(at) not in ("[", "{"):
            raise _Broken(
                Fault("not-json", f"neither a JSON array nor JSON Lines (starts with {beginning(text.head)})")
            )
        if text.at(at) == "[":
            self.format = "array"
            yield from self._array(text, at + 1)
        else:
            self.format = "lines"
            yield from self._lines(text, at)
            if self.entries == 1:
                self.format = "object"

    def _array(self, text: _Text, at: int) -> Iterator[Any]:
        at = text.skip(at)
        more = text.at(at) != "]"
        while more:
            value, at = self._entry(text, at)
            yield value
            at = text.skip(at)
            more = text.at(at) == ","
            if more:
                at = text.skip(at + 1)
            elif text.at(at) not in ("]", ""):
                raise text.broken(at, "no comma after an entry")
        if text.at(at) == "":
            raise self._cut(text, "between two entries")
        at = text.skip(at + 1)
        if text.at(at):
            raise text.broken(at, "more after the end of the array")

    def _lines(self, text: _Text, at: int) -> Iterator[Any]:
        while text.at(at):
            if text.at(at) != "{":
                raise text.broken(at, "no object where one must begin")
            value, at = self._entry(text, at)
            yield value
            at = text.skip(at)

    def _entry(self, text: _Text, at: int) -> tuple[Any, int]:
        """The entry that begins at `at`, and where it ends."""
        while True:
            try:
                value, end = _decode(text.text, at)
                if end < len(text.text) or text.ended:
                    self.entries += 1
                    return value, end
            except json.JSONDecodeError as error:
                if not _is_cut(error):
                    raise text.broken(error.pos, error.msg) from None
                if text.ended:
                    raise self._cut(text, _where(text, at, error)) from None
            except RecursionError:
                raise text.broken(at, "an entry nested too deeply") from None
            except ValueError as error:  # such as a number of too many digits
                raise text.broken(at, f"an entry that cannot be read: {error}") from None
            if len(text.text) - at > MAX_ENTRY:
                raise text.broken(at, f"an entry of more than {MAX_ENTRY} characters")
            at = text.more(at)

    def _cut(self, text: _Text, where: str) -> _Broken:
        whole = "1 entry is" if self.entries == 1 else f"{self.entries} entries are"
        return _Broken(Fault("truncated", f"truncated at byte {text.read}, {where}; {whole} whole before it"))


class _Broken(Exception):  # noqa: N818 - caught in this file
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.what)
        self.fault = fault


class _Text:
    """The part of a file that is being looked at, as text, and where in the file it lies."""

    def __init__(self, stream: IO[bytes], count: Count) -> None:
        self.text = ""
        self.head = b""
        self.read = 0
        self.ended = False
        self.digest = hashlib.sha256()
        self._stream, self._count, self._start = stream, count, 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def more(self, at: int) -> int:
        """Lets go of what lies before `at` and reads on; where `at` is now. Reads the more, the more is pending."""
        self._start = self.offset(at)
        self.text = self.text[at:]
        block = self._block(max(BLOCK, len(self.text)))
        pending = self._decoder.getstate()[0]
        try:
            self.text += self._decoder.decode(block)
        except UnicodeDecodeError as error:
            self.head = self.head or block
            fault = fault_of_head(self.head) or Fault(
                "not-utf-8",
                f"not UTF-8: byte 0x{error.object[error.start]:02x} at byte "
                f"{self.read - len(block) - len(pending) + error.start}",
            )
            raise _Broken(fault) from None
        self.head = self.head or block
        if not block:
            self.ended = True
            self.text += "\ufffd" if pending else ""
        return 0

    def skip(self, at: int) -> int:
        """Where the next character that is no white space lies, or the end."""
        while True:
            match = _spaces(self.text, at)
            at = at if match is None else match.end()
            if at < len(self.text) or self.ended:
                return at
            at = self.more(at)

    def at(self, at: int) -> str:
        """The character there; nothing at the end of the file."""
        return self.text[at : at + 1]

    def offset(self, at: int) -> int:
        """The byte of the file at which a character begins."""
        return self._start + len(self.text[:at].encode())

    def finish(self) -> None:
        """Reads to the end, for the size and the checksum."""
        while self._block(BLOCK):
            pass

    def broken(self, at: int, what: str) -> _Broken:
        """What is wrong at a place."""
        byte = self.offset(at)
        if self.at(at) == "\0":
            return _Broken(Fault("zero-bytes", f"zero bytes from byte {byte} on: a download that did not finish"))
        return _Broken(Fault("not-json", f"not JSON at byte {byte}: {what}"))

    def _block(self, size: int) -> bytes:
        block = self._stream.read(size)
        self.digest.update(block)
        self.read += len(block)
        self._count(self.read)
        return block


def _is_cut(error: json.JSONDecodeError) -> bool:
    """Whether it may be that the text only ends too early."""
    if error.msg.startswith("Unterminated string"):
        return True
    rest = error.doc[error.pos :]
    if "escape" in error.msg:
        return len(rest) < len(r"\uXXXX") + 1 and '"' not in rest
    if _number_goes_on(rest) or any(word.startswith(rest) for word in _LITERALS):
        return True
    return not rest.strip(" \t\n\r")


def _where(text: _Text, at: int, error: json.JSONDecodeError) -> str:
    """In what the entry at `at` was cut."""
    if error.msg.startswith("Unterminated string"):
        return f"inside a string that begins at byte {text.offset(error.pos)}"
    if "escape" in error.msg:
        return "inside a string"
    return "between two entries" if error.pos == at else "inside an entry"


def _opened(path: Path) -> IO[bytes]:
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise UserError(f"{path} is no file: name a file of conversations")
        if facts.st_size > MAX_FILE:
            raise UserError(f"{path} has {facts.st_size} bytes: files of more than {MAX_FILE} bytes are not read")
        return path.open("rb")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or os.strerror(error.errno or 0)}") from None
