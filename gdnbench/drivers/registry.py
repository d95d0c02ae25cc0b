"""Which parts each change has, and the drivers that run them: ours, and the oracle's over a real release."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from gdnbench.drivers.base import Driver


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of code that a change touched.

    Attributes:
        name: as the user sees it.
        ours: `module:Class` of our driver.
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


GDN_BUILD = Part("build", "gdnbench.drivers.gdn:BuildDriver", "gdnbench.oracle.gdn:ReleaseBuildDriver")
GDN_CAPTURE = Part("capture", "gdnbench.drivers.gdn:CaptureDriver", "gdnbench.oracle.gdn:ReleaseCaptureDriver")

PARTS: dict[int, tuple[Part, ...]] = {
    51913: (GDN_BUILD,),
    52078: (GDN_BUILD,),
    55404: (GDN_CAPTURE,),
    51565: (GDN_BUILD,),
}


def load(path: str) -> type[Driver]:
    """The driver class at `module:Class`."""
    module, _, name = path.partition(":")
    driver: type[Driver] = getattr(import_module(module), name)
    assert issubclass(driver, Driver), path
    return driver
