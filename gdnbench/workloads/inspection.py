"""What a file of data is: its format, entries, size and sha256, and what vLLM's limits would leave of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from gdnbench.workloads.conversations import Conversation, conversations
from gdnbench.workloads.manifests import Count, known, uncounted
from gdnbench.workloads.selection import COUNTED, Limits
from gdnbench.workloads.signs import Fault
from gdnbench.workloads.stream import DamagedFile, JsonFile
from gdnbench.workloads.tokens import Tokens

_TOGETHER = 256
"""Conversations whose tokens are counted at a time."""
_LIMITS = Limits()
_WITHOUT_TOKENS = ("entries", "no_conversations", "under_two_turns")
_ALL = tuple(name for name in COUNTED if name not in ("not_from_human", "not_looked_at"))


@dataclass(frozen=True, slots=True)
class Inspection:
    """A file that is whole.

    Attributes:
        path: of it.
        format: `ShareGPT`, another `JSON array`, or `JSON Lines`.
        entries: how many.
        bytes, sha256: of its content.
        known: the data set and file that it is by its checksum; None if it is no published one.
        counts: by `COUNTED`'s names, where it is ShareGPT: what can be counted without a tokenizer, or all with one.
        not_from_human: conversations of two turns that do not start with a human.
    """

    path: Path
    format: str
    entries: int
    bytes: int
    sha256: str
    known: str | None
    counts: dict[str, int] | None
    not_from_human: int

    def __str__(self) -> str:
        known = f", the published {self.known}" if self.known else ""
        noun = "entry" if self.entries == 1 else "entries"
        return f"{self.path}: {self.format}, {self.entries} {noun}{known} ({self.bytes} bytes, sha256 {self.sha256})"

    def to_json(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "sound": True,
            "format": self.format,
            "entries": self.entries,
            "bytes": self.bytes,
            "sha256": self.sha256,
            "known": self.known,
            "counts": self.counts,
            "not_from_human": self.not_from_human,
        }


def inspect(path: Path, tokens: Tokens | None = None, count: Count = uncounted) -> Inspection:
    """Read all of a file, in bounded memory.

    Args:
        tokens: to count which conversations vLLM's limits leave, without a fixed output length.
        count: is told how many bytes are read.

    Raises:
        DamagedFile: it is broken, or no data set.
        UserError: it cannot be read.
    """
    file = JsonFile(path, count)
    counts: Counter[str] = Counter()
    speakers: Counter[bool] = Counter()
    for some in _batches(conversations(file, counts)):
        speakers.update(one.from_human for one in some if one is not None)
        if tokens is not None:
            counts.update(_judged(some, tokens))
    if file.format == "object":
        fault = Fault("object", "a single JSON object, no set of data")
        raise DamagedFile(path, fault, file.bytes, file.sha256, file.entries)
    if not file.entries:
        raise DamagedFile(path, Fault("empty", "no entries, no set of data"), file.bytes, file.sha256, 0)
    sharegpt = file.format == "array" and counts["no_conversations"] < counts["entries"]
    return Inspection(
        path,
        "ShareGPT" if sharegpt else "JSON array" if file.format == "array" else "JSON Lines",
        file.entries,
        file.bytes,
        file.sha256,
        known(file.sha256),
        {name: counts[name] for name in (_ALL if tokens else _WITHOUT_TOKENS)} if sharegpt else None,
        speakers[False],
    )


def _batches(found: Iterator[Conversation | None]) -> Iterator[list[Conversation | None]]:
    while some := list(islice(found, _TOGETHER)):
        yield some


def _judged(some: list[Conversation | None], tokens: Tokens) -> Iterator[str]:
    """What becomes of each."""
    prompts = tokens.counts(["" if one is None else one.prompt for one in some])
    answers = tokens.counts(["" if one is None else one.answer for one in some])
    for conversation, prompt_len, output_len in zip(some, prompts, answers, strict=True):
        yield _LIMITS.objection(conversation, prompt_len, output_len) or "kept"
