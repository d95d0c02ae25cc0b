"""What runs on a machine of a cluster: the look at whether it will do, and a launch."""

from __future__ import annotations

import os
import pickle
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gdnbench.campaign.code import contents, own_code
from gdnbench.campaign.executors.base import Needs, Work, hardware_here
from gdnbench.campaign.machine import Hardware
from gdnbench.values.errors import UserError

T = TypeVar("T")

PREFIX = "gdnbench-launch-"

MOST_LOGS, LOG_BYTES = 16, 256 << 10
"""What of a failed launch's logs comes home: so many, and so much of the end of each."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a machine says of itself.

    Attributes:
        refusal: why it will not do, one line; None where it will.
        hardware: what it is.
    """

    refusal: str | None
    hardware: Hardware | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A launch that ended with an error that is meant for the user.

    Attributes:
        kind: of the error.
        message: its line, in which `place` stands for the directory of logs.
        place: that directory, on the machine where it ran.
        logs: by path below it, their ends.
    """

    kind: type[UserError]
    message: str
    place: str
    logs: Mapping[str, str]

    def at_home(self, directory: Path) -> UserError:
        """The error with its logs below a campaign's directory, where its line names them."""
        home = directory / "elsewhere" / secrets.token_hex(3)
        for name, text in self.logs.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return self.kind(self.message.replace(self.place, str(home)))


def look(code: Mapping[str, str], sent: bytes) -> Look:
    """Whether this machine will do.

    Args:
        code: what the campaign's own process runs, as `own_code` gives it.
        sent: the pickled needs and the digests of their paths; read only by the same code that wrote them.
    """
    own = own_code()
    for name, theirs in code.items():
        if own[name] != theirs:
            return Look(f"it has {name} {own[name]}, and the campaign {theirs}: install the same on all machines")
    needs: Needs
    digests: Mapping[Path, str | None]
    needs, digests = pickle.loads(sent)
    for path, digest in digests.items():
        found = contents(path)
        if found is None:
            return Look(f"{path} is not there: put it at the same path on every machine")
        if found != digest:
            return Look(f"{path} has other contents than where the campaign was begun: copy it anew")
    hardware = hardware_here()
    if needs.device == "cuda" and len(hardware.accelerators) != 1:
        several = f"it has several kinds of GPUs ({', '.join(hardware.accelerators)}), and kinds are never mixed"
        return Look(several if hardware.accelerators else "which GPU it has cannot be told: no /proc/driver/nvidia")
    try:
        needs.check(lambda line: None)
    except UserError as error:
        return Look(str(error))
    return Look(None, hardware)


def launch(work: Work[T], number: int) -> T | Failed:
    """Run a launch in a directory that is gone afterwards; or, where Ray kills this process, after the next."""
    _sweep()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as place:
        try:
            return work(number, Path(place), lambda: None)
        except UserError as error:
            return Failed(type(error), str(error), place, _logs(Path(place)))


def _sweep() -> None:
    """Remove what launches left whose processes were killed."""
    for place in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        process = place.name.removeprefix(PREFIX).partition("-")[0]
        if process.isdigit():
            try:
                os.kill(int(process), 0)
            except ProcessLookupError:
                shutil.rmtree(place, ignore_errors=True)
            except PermissionError:
                pass  # somebody else's


def _logs(place: Path) -> dict[str, str]:
    found = sorted(place.rglob("*.log"))[:MOST_LOGS]
    return {path.relative_to(place).as_posix(): _end(path) for path in found}


def _end(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LOG_BYTES))
        return file.read().decode(errors="replace")
