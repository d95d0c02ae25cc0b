"""Variants: the ways to build metadata that a person can name on the command line.

    pr51913.before   our builder at the state before (or `.after`) a catalogued change
    vllm@0.29.0      the code of a release
    path:DIR         the code of a vLLM checkout
    limit            the fastest builder that we know, with the metadata of vLLM 0.32.0 (`gdn_impl.limit`)
    fault:NAME       a builder that is broken on purpose (`gdn_impl.faults`)

A suffix makes any of them slower by a busy wait: `+2%` of what the variant itself takes, or `+0.5us` a step.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal

from gdnbench.values.errors import UserError

Kind = Literal["pr", "vllm", "path", "limit", "fault"]
Side = Literal["before", "after"]

FORMS = "prN.before, prN.after, vllm@X.Y.Z, path:DIR, limit, fault:NAME, each with an optional +P% or +Nus"
MOST_PERCENT = 10_000.0
MOST_MICROSECONDS = 1_000_000.0


class VariantError(UserError):
    """A variant that cannot be read or is not known; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Handicap:
    """A busy wait added to each step: a share of the variant's own step time, or microseconds."""

    amount: float
    unit: Literal["%", "us"]

    def __str__(self) -> str:
        return f"+{self.amount:g}{self.unit}"

    def nanoseconds(self, step_us: float) -> int:
        """The wait, for a variant whose step takes `step_us` microseconds without it."""
        return round(10 * self.amount * step_us) if self.unit == "%" else round(1000 * self.amount)


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to build metadata; `str()` gives back its spelling.

    Attributes:
        kind: `pr` (ours), `vllm` (a release), `path` (a checkout), `limit` or `fault`.
        change, side: of a `pr`.
        release: of a `vllm`.
        path: of a `path`, as it was given.
        fault: the name of a `fault`.
        handicap: how much slower it is made, if at all.
    """

    kind: Kind
    change: int | None = None
    side: Side | None = None
    release: str | None = None
    path: str | None = None
    fault: str | None = None
    handicap: Handicap | None = None

    def __str__(self) -> str:
        base = {
            "pr": f"pr{self.change}.{self.side}",
            "vllm": f"vllm@{self.release}",
            "path": f"path:{self.path}",
            "limit": "limit",
            "fault": f"fault:{self.fault}",
        }[self.kind]
        return base + ("" if self.handicap is None else str(self.handicap))

    @property
    def bare(self) -> Variant:
        """The same without its handicap."""
        return replace(self, handicap=None)

    @property
    def vllm(self) -> str | None:
        """Whose vLLM must be importable: `0.29.0`, `path:DIR`, or None for ours. One process holds one at most."""
        return {"vllm": self.release, "path": f"path:{self.path}"}.get(self.kind)

    @property
    def state(self) -> str:
        """What a driver is told to run."""
        return self.side or self.vllm or str(self.bare)


_HANDICAP = re.compile(r"\+(?P<amount>\d+(?:\.\d+)?)(?P<unit>%|us)$")
_PULL_REQUEST = re.compile(r"pr(?P<change>\d{1,9})\.(?P<side>before|after)")
_FAULT = re.compile(r"fault:(?P<fault>[a-z0-9]+(?:-[a-z0-9]+)*)")
_RELEASE = re.compile(r"vllm@(?P<release>\d{1,4}\.\d{1,4}\.\d{1,4}(?:\.post\d{1,3})?)")


def parse(text: str, changes: Collection[int] | None = None) -> Variant:
    """The variant that `text` spells.

    Args:
        text: one of the spellings at the top of this module.
        changes: the numbers of the known changes; default, the catalogue's.

    Raises:
        VariantError: with one line that names the nearest known variant.
    """
    if len(text) > 4096:
        raise VariantError("a variant's name has at most 4,096 characters")
    base, handicap = text.strip(), None
    if match := _HANDICAP.search(base):
        base, handicap = base[: match.start()], _handicap(text, match)
    if base == "limit":
        return Variant("limit", handicap=handicap)
    if base.startswith("fault:"):
        if not (match := _FAULT.fullmatch(base)):
            raise VariantError(f"variant {text!r}: a fault is written fault:NAME, of small letters, digits and hyphens")
        return Variant("fault", fault=match["fault"], handicap=handicap)
    if base.startswith("path:"):
        if not base.removeprefix("path:"):
            raise VariantError(f"variant {text!r}: a checkout's folder must follow path:")
        return Variant("path", path=base.removeprefix("path:"), handicap=handicap)
    if match := _RELEASE.fullmatch(base):
        return Variant("vllm", release=match["release"], handicap=handicap)
    known = _catalogued() if changes is None else changes
    if (match := _PULL_REQUEST.fullmatch(base)) and int(match["change"]) in known:
        side: Side = "before" if match["side"] == "before" else "after"
        return Variant("pr", int(match["change"]), side, handicap=handicap)
    raise VariantError(f"unknown variant {text!r}: {_advice(base, known)}")


def _handicap(text: str, match: re.Match[str]) -> Handicap:
    amount = float(match["amount"])
    if match["unit"] == "%":
        if not 0 < amount <= MOST_PERCENT:
            raise VariantError(f"variant {text!r}: a handicap lies between 0 and {MOST_PERCENT:g} %")
        return Handicap(amount, "%")
    if not 0 < amount <= MOST_MICROSECONDS:
        raise VariantError(f"variant {text!r}: a handicap lies between 0 and {MOST_MICROSECONDS:g} us")
    return Handicap(amount, "us")


def _advice(base: str, changes: Collection[int]) -> str:
    names = [f"pr{number}.{side}" for number in sorted(changes) for side in ("before", "after")]
    if base.lower().startswith("vllm"):
        return "a release is written vllm@X.Y.Z, for example vllm@0.29.0"
    if base.startswith("+") or "+" in base:
        return "a handicap is written +2% or +0.5us at the end"
    near = get_close_matches(base, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    return f"known are {', '.join(f'pr{number}.before/after' for number in sorted(changes))}; in general {FORMS}"


def _catalogued() -> Collection[int]:
    from gdn_impl.catalog import CATALOG

    return CATALOG.keys()
