"""Which machine this is, and of which kind: launches of different hardware are never judged together."""

from __future__ import annotations

import hashlib
import hmac
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gdnbench.values.errors import UserError

VARIABLE = "GDNBENCH_MACHINE"
LONGEST_NAME = 64

_NVIDIA = Path("/proc/driver/nvidia/gpus")


@dataclass(frozen=True, slots=True)
class Hardware:
    """A kind of machine.

    Attributes:
        processor: its name as the system gives it.
        cores: how many, whoever may use them.
        accelerators: names of its GPUs, each once, in order.
    """

    processor: str
    cores: int
    accelerators: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join([self.processor, f"{self.cores} cores", *self.accelerators])

    @classmethod
    def of(cls, environment: Mapping[str, Any]) -> Hardware:
        """The hardware that `campaign.surroundings` found."""
        accelerators = tuple(environment.get("accelerators") or ())
        return cls(str(environment.get("cpu", "")), int(environment.get("cores") or 0), accelerators)


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def accelerators(place: Path = _NVIDIA) -> tuple[str, ...]:
    """Names of the GPUs that NVIDIA's driver has, each once, without waking any of them.

    Args:
        place: where the driver tells of them.
    """
    names = set()
    for path in place.glob("*/information"):
        lines = path.read_text(errors="replace").splitlines()
        names |= {line.partition(":")[2].strip() for line in lines if line.startswith("Model:")}
    return tuple(sorted(names))


def host() -> str:
    """What stands for this machine: the name in `GDNBENCH_MACHINE`, or twelve digits that give no name away.

    The digits are a keyed digest of the system's machine identity, as its manual page asks for; without one, of the
    name that the machine has in its network, which a container changes with every start: there, give it a name.

    Raises:
        UserError: the name that was given cannot stand in tables.
    """
    given = os.environ.get(VARIABLE, "")
    if given:
        if len(given) > LONGEST_NAME or not given.isprintable():
            raise UserError(f"{VARIABLE}: at most {LONGEST_NAME} printable characters are needed")
        return given
    try:
        identity = Path("/etc/machine-id").read_text("ascii").strip()
    except (OSError, ValueError):
        identity = ""
    return keyed(identity or platform.node())


def keyed(name: str) -> str:
    """Twelve digits that stand for the name of a machine; nothing for nothing."""
    return hmac.new(b"gdnbench history", name.encode(), hashlib.sha256).hexdigest()[:12] if name else ""
