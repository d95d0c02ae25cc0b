"""What the harness tells the plugin before the server starts: the sides, in a file that the environment names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from gdnbench.values.errors import UserError

VARIABLE = "GDNBENCH_PLUGIN"
"""Names the file; without it the plugin does nothing at all."""

ORIGINAL = "original"
"""A side that is the server's own builder, whatever its release."""


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """The sides of one server.

    Attributes:
        control: path of the control file.
        variants: how each role's side is spelled, or `original`.
        waits: by role, nanoseconds that each of its builds is made slower; whatever has a handicap must have one.
        fault_at: the build of a KV group, from 1, in which faults that end a server do so.
        witness: file for what `plugin.witness` sees; None to leave it out.
    """

    control: str
    variants: Mapping[str, str]
    waits: Mapping[str, int] = field(default_factory=dict)
    fault_at: int = 200
    witness: str | None = None

    def write(self, path: Path) -> None:
        """The file that `read` reads."""
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> PluginSettings:
        """The settings in a file.

        Raises:
            UserError: it is missing or damaged.
        """
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise UserError(f"{VARIABLE} names {path}, which cannot be read ({error}): unset it") from None
