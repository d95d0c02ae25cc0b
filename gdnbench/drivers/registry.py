"""Which parts each change has, and the drivers that run them: ours, and the oracle's over a real release."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing a driver imports torch; the table alone must not
    from gdnbench.drivers.base import Driver


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of code that a change touched.

    Attributes:
        name: as the user sees it.
        ours: `module:Class` of our driver, or `module:Class@change` of one that serves several changes.
        oracle: `module:Class` of the driver over the real release, or None.
        reason: why there is no oracle on a CPU (one line), empty where there is one.
        measured: whether cost and step time are measured on it, or only conformance.
        compares_operations: False where the after side of the pair is a rewrite, so that only fields can be compared.
        foreign: what else the release pair changes in this part, one line each.
    """

    name: str
    ours: str
    oracle: str | None = None
    reason: str = ""
    measured: bool = True
    compares_operations: bool = True
    foreign: tuple[str, ...] = ()


def _gdn_build(change: int, *foreign: str) -> Part:
    ours = f"gdnbench.drivers.gdn:BuildDriver@{change}"
    return Part("build", ours, "gdnbench.oracle.gdn:ReleaseBuildDriver", foreign=foreign)


def _gdn_capture(change: int, *foreign: str) -> Part:
    ours = f"gdnbench.drivers.gdn:CaptureDriver@{change}"
    return Part("capture", ours, "gdnbench.oracle.gdn:ReleaseCaptureDriver", foreign=foreign)


PARTS: dict[int, tuple[Part, ...]] = {
    51913: (_gdn_build(51913),),
    52078: (_gdn_build(52078),),
    55404: (_gdn_capture(55404),),
    51565: (_gdn_build(51565),),
}


def load(path: str) -> type[Driver]:
    """The driver class at `module:Class` or `module:Class@change`."""
    from gdnbench.drivers.base import Driver

    place, _, change = path.partition("@")
    module, _, name = place.partition(":")
    driver: type[Driver] = getattr(import_module(module), name)
    assert issubclass(driver, Driver), path
    return type(name, (driver,), {"change": int(change)}) if change else driver
