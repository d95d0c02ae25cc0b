"""The file through which the harness steers the plugin inside a server, and reads what it counted.

Standard library only. Harness: `create`, then `command` while the engine is idle, and `snapshot`. Plugin: `open`.
Everything that is counted lies in the mapped file itself, so nothing is lost however the server ends.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gdnbench.plugin import layout
from gdnbench.plugin.snapshot import Snapshot
from gdnbench.values.errors import UserError

__all__ = ["Control", "Snapshot"]

BEFORE, AFTER = "before", "after"
"""The roles that are held against each other."""


class Control:
    """A control file, mapped.

    Attributes:
        path: of the file.
        roles: the sides, in the order of the file.
        words: the file as 8-byte words; a store to one is atomic. Laid out by `gdnbench.plugin.layout`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("r+b") as file:
            if file.read(8) != layout.MAGIC.to_bytes(8, sys.byteorder):
                raise UserError(f"{path} is no control file of this version of gdnbench")
            self._map = mmap.mmap(file.fileno(), 0)
        self.words = memoryview(self._map).cast("Q")
        self.roles: tuple[str, ...] = tuple(json.loads(self._map[layout.text_place(self.words[layout.NAMES])]))

    @classmethod
    def create(cls, path: Path, roles: Sequence[str]) -> Control:
        """A new control file; it stands whole under its name or not at all.

        Args:
            path: where; a file there is replaced.
            roles: of the sides that shall take turns, 1 to 8 of them.

        Raises:
            OSError: the disk is full, or the directory cannot be written.
        """
        names = json.dumps(list(roles)).encode()
        if not 0 < len(roles) <= layout.MOST_ROLES or len(set(roles)) != len(roles) or len(names) > layout.NAMES_SIZE:
            raise ValueError(f"1 to {layout.MOST_ROLES} different roles are needed, not {roles}")
        content = bytearray(layout.file_size(len(roles)))
        content[layout.NAMES_AT : layout.NAMES_AT + len(names)] = names
        with memoryview(content).cast("Q") as words:
            words[0] = layout.MAGIC
            words[layout.COMMAND] = layout.command_word(layout.NOBODY, 0, observe=False, compare=False)
            words[layout.NAMES] = layout.text_word(layout.NAMES_AT, len(names))
        aside = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            aside.write_bytes(content)  # written out: a hole would end the server when the disk is full
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Control:
        """The control file at `path`.

        Raises:
            OSError: it cannot be opened.
            UserError: it is something else.
        """
        return cls(path)

    def close(self) -> None:
        """Ends the mapping; the file stays."""
        self.words.release()
        self._map.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # The harness's side

    def command(
        self, role: str, block: int, *, observe: bool = True, compare: bool = False, alternate: bool = False
    ) -> None:
        """From the next step on a side builds, stamped with a block. Only while the engine is idle: see `Snapshot`.

        Before the first command the server's own builder runs, uncounted.

        Args:
            role: whose builder answers the engine.
            block: a number, higher than that of the command before.
            observe: whether builds are counted and timed; steps always are.
            compare: whether `before` and `after` both build and are held against each other; nothing is timed then,
                and the role is `before`.
            alternate: whether builds are observed in every third step alone, and steps timed by their place among the
                three: what observing costs shows between neighbours, whatever the machine does meanwhile.
        """
        if not 0 <= block < layout.MOST_BLOCKS:
            raise ValueError(f"block {block} does not fit a command")
        if compare and (role != BEFORE or AFTER not in self.roles):
            raise ValueError("what is compared is the side before with the side after")
        self.words[layout.COMMAND] = layout.command_word(self.roles.index(role), block, observe, compare, alternate)

    def snapshot(self) -> Snapshot:
        """What has been counted up to now."""
        return Snapshot(self.roles, self._map[:])

    def refusal(self) -> str | None:
        """Why the plugin refused a side, in one line; None if it did not."""
        return self.snapshot().refusal

    def facts(self) -> Mapping[str, Any]:
        """What the server is; empty before it is ready."""
        return self.snapshot().facts

    # The plugin's side

    def start(self, process: int) -> None:
        """Says that a process has builders and will count."""
        self.words[layout.PROCESS] = process
        if self.words[layout.STATE] == layout.STARTING:
            self.words[layout.STATE] = layout.READY

    def refuse(self, message: str) -> None:
        """Says in one line why a side cannot run in this server."""
        text = " ".join(message.split()).encode()[: layout.MESSAGE_SIZE].decode(errors="ignore").encode()
        self._map[layout.MESSAGE_AT : layout.MESSAGE_AT + len(text)] = text
        self.words[layout.MESSAGE] = layout.text_word(layout.MESSAGE_AT, len(text))
        self.words[layout.STATE] = layout.REFUSED

    def tell(self, facts: Mapping[str, Any]) -> None:
        """Replaces the facts."""
        text = json.dumps(facts).encode()
        if len(text) > layout.FACTS_SIZE:
            raise ValueError(f"facts of {len(text)} bytes do not fit {layout.FACTS_SIZE}")
        first, second = layout.FACTS_AT
        place = second if self.words[layout.FACTS] >> 32 == first else first
        self._map[place : place + len(text)] = text
        self.words[layout.FACTS] = layout.text_word(place, len(text))
