"""What the first bytes of a file say it is, where it is no JSON at all: a file from outside may be anything."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEAD = 512
"""Bytes from the beginning of a file that are enough to tell."""

_POINTER = b"version https://git-lfs.github.com/spec/v1"
_ARCHIVES = {
    b"\x1f\x8b": "a gzip archive",
    b"PK\x03\x04": "a zip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"PAR1": "a Parquet file",
}
_OTHER_TEXT = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file.

    Attributes:
        kind: one word for programs.
        what: one phrase, without the file's name.
    """

    kind: str
    what: str


def fault_of_head(head: bytes) -> Fault | None:
    """What the first bytes of a file give away; None where they may be JSON.

    A byte order mark is a fault: vLLM's loader refuses it, and so must we, who promise to send what vLLM would.
    """
    if not head:
        return Fault("empty", "empty, 0 bytes")
    if head.startswith(_BYTE_ORDER_MARK):
        return Fault(
            "byte-order-mark",
            "begins with a UTF-8 byte order mark, which vLLM's loader refuses: take its first 3 bytes off (tail -c +4)",
        )
    for magic, name in (_ARCHIVES | _OTHER_TEXT).items():
        if head.startswith(magic):
            return Fault("other-format", f"{name}, not JSON in UTF-8")
    if head.startswith(_POINTER):
        return _pointer(head)
    text = head.lstrip()
    if text[:1] == b"<":
        name = "an HTML page" if re.match(rb"<!doctype html|<html", text, re.IGNORECASE) else "a page of HTML or XML"
        return Fault("page", f"{name}, not data (starts with {beginning(text)})")
    if not head.strip(b"\0"):
        return Fault("zero-bytes", "zero bytes from byte 0 on: a download that did not finish")
    return None


def beginning(data: bytes) -> str:
    """The first characters, quoted, in ASCII: any terminal can show them."""
    return ascii(data[:24].decode("utf-8", "replace").split("\n")[0])


def _pointer(head: bytes) -> Fault:
    stands_for = ""
    size, oid = re.search(rb"^size (\d+)$", head, re.MULTILINE), re.search(rb"^oid sha256:(\w+)$", head, re.MULTILINE)
    if size and oid:
        stands_for = f" to {size[1].decode()} bytes with sha256 {oid[1].decode()}"
    return Fault("lfs-pointer", f"a git-LFS pointer{stands_for}, not the file itself: get that with git lfs pull")
