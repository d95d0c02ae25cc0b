"""From variants to drivers: which part of which change a comparison drives, and the class that drives a side of it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from gdn_impl import faults
from gdnbench.drivers.registry import PARTS, Part, load
from gdnbench.values.errors import UserError
from gdnbench.values.variants import Variant

if TYPE_CHECKING:
    from gdnbench.drivers.base import Driver

RELEASES_ONLY = "build"
"""The part that two releases are compared by, if none is named."""


def change_of(variants: Iterable[Variant]) -> int | None:
    """The change that a comparison is about: that of its first variant that names one, else that of its first fault."""
    variants = tuple(variants)
    named = next((variant.change for variant in variants if variant.change is not None), None)
    found = [faults.find(variant.fault) for variant in variants if variant.fault is not None]
    return named if named is not None else next((fault.change for fault in found if fault is not None), None)


def choose_part(variants: Iterable[Variant], name: str | None = None) -> str:
    """The name of the part that a comparison drives: `name` if it has one, else its change's first that is measured.

    Raises:
        UserError: the change of some variant has no such part, or a fault breaks no GDN builder.
    """
    variants = tuple(variants)
    for variant in variants:
        _refuse_fault(variant)
    changes = [variant.change for variant in variants if variant.change is not None]
    if name is None:
        parts = sorted((part for change in changes[:1] for part in PARTS.get(change, ())), key=lambda p: not p.measured)
        name = parts[0].name if parts else RELEASES_ONLY
    for variant in variants:
        find_part(variant.change or change_of(variants), name)
    return name


def has_limit(part: str) -> bool:
    """Whether the variant `limit` has that part: it builds GDN metadata, for steps and at capture."""
    return part in ("build", "capture")


def find_part(change: int | None, name: str) -> Part:
    """The part of that name: of `change`, or of any change, one with an oracle first.

    Raises:
        UserError: there is none; the line lists those that are.
    """
    parts = PARTS.get(change, ()) if change is not None else tuple(part for parts in PARTS.values() for part in parts)
    found = sorted((part for part in parts if part.name == name), key=lambda part: part.oracle is None)
    if found:
        return found[0]
    known = sorted({part.name for part in parts})
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
    raise UserError(f"{'no change has' if change is None else f'{change} has no'} part {name!r}: {hint}")


def driver_class(variant: Variant, part: str, change: int | None = None) -> type[Driver]:
    """The class that drives a part of a variant; call it with `variant.state`, a scenario and a device.

    Args:
        variant: a release's needs its own vLLM importable.
        part: the part's name.
        change: the change that the comparison is about, where the variant names none.

    Raises:
        UserError: there is no such part, or vLLM's own code for it cannot be driven.
    """
    _refuse_fault(variant)
    found = find_part(variant.change or change, part)
    if variant.kind in ("pr", "limit", "fault"):
        return load(found.ours)
    if found.oracle is None:
        raise UserError(f"{variant}: its part {part!r} cannot be driven: {found.reason}")
    return load(found.oracle)


def _refuse_fault(variant: Variant) -> None:
    """Only faults of GDN builders are variants of a step; the others are shown by `gdnbench faults`."""
    if variant.fault is None:
        return
    if variant.fault in faults.OF_SERVERS:
        raise UserError(f"{variant} ends a live server: it is for gdnbench serve")
    fault = faults.find(variant.fault)
    if fault is None:
        near = faults.near(variant.fault)
        hint = f"did you mean fault:{near}?" if near else f"known: {', '.join(faults.FAULTS)}"
        raise UserError(f"unknown variant {variant}: {hint}")
    if fault.broken is None:
        raise UserError(f"{variant} breaks no GDN builder: see gdnbench faults")
