"""What the checks without a server say of a builder that may be broken: equality field by field, and exact costs."""

from __future__ import annotations

from dataclasses import dataclass

from gdn_impl.faults import FAULTS, Fault
from gdnbench.devices.base import CpuDevice, Device
from gdnbench.drivers.base import Driver
from gdnbench.drivers.choice import find_part
from gdnbench.drivers.registry import load
from gdnbench.probes.cost import step_costs
from gdnbench.probes.equality import compare
from gdnbench.values.faults import Check
from gdnbench.values.scenarios import parse


@dataclass(frozen=True, slots=True)
class Pair:
    """A sound side and one that is held against it.

    Attributes:
        sound, other: as drivers spell them; each with the change that it belongs to.
        part: of both.
        scenarios: steps on which they are compared.
    """

    sound: tuple[int, str]
    other: tuple[int, str]
    part: str
    scenarios: tuple[str, ...]

    @classmethod
    def of(cls, fault: Fault) -> Pair:
        """A fault and its sound side."""
        sound, other = ("after", "before") if fault.broken is None else (f"sound:{fault.name}", f"fault:{fault.name}")
        return cls((fault.change, sound), (fault.change, other), fault.part, fault.scenarios)

    def driver(self, side: tuple[int, str], scenario: str, device: Device) -> Driver:
        change, state = side
        with device.active():
            return load(find_part(change, self.part).ours)(state, parse(scenario), device)


def first_seen(pair: Pair) -> tuple[Check, str] | None:
    """The first check that sees a difference, and what it saw; None if neither does."""
    if seen := _unequal(pair):
        return "equality", seen
    if seen := _costlier(pair):
        return "exact cost", seen
    return None


def build_scenarios() -> tuple[str, ...]:
    """Every step in which some fault of a GDN builder shows."""
    return tuple(dict.fromkeys(name for fault in FAULTS.values() if fault.part == "build" for name in fault.scenarios))


def _unequal(pair: Pair) -> str | None:
    for name in pair.scenarios:
        device = CpuDevice()
        if found := compare(pair.driver(pair.sound, name, device), pair.driver(pair.other, name, device)):
            return f"{name}: {found[0]}"
    return None


def _costlier(pair: Pair) -> str | None:
    """Host operations aside: what Python does on the host decides nothing alone."""
    for name in pair.scenarios:
        sound, other = (_costs(pair, side, name) for side in (pair.sound, pair.other))
        unlike = [tag for tag in sound if tag != "host_ops" and sound[tag] != other[tag]]
        if unlike:
            return f"{name}: " + ", ".join(f"{tag} {sound[tag]} -> {other[tag]}" for tag in unlike)
    return None


def _costs(pair: Pair, side: tuple[int, str], scenario: str) -> dict[str, int]:
    return step_costs(lambda device: pair.driver(side, scenario, device)).costs.as_dict()
