"""Which parts each change has, and the drivers that run them: ours, and the oracle's over a real release.

A change of the catalogue that has no entry here has one part, the GDN build: most changes need none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from gdn_impl.catalog import CATALOG

if TYPE_CHECKING:  # importing a driver imports torch; the table alone must not
    from gdnbench.drivers.base import Driver

SIDES = ("before", "after")


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of code that a change touched.

    Attributes:
        name: as the user sees it.
        ours: `module:Class` of our driver, or `module:Class@change` of one that serves several changes.
        oracle: `module:Class` of the driver over the real release, or None.
        reason: why there is no oracle on a CPU (one line), empty where there is one.
        measured: whether cost and step time are measured on it, or only conformance.
        compares_operations: the sides whose operations are compared with the release's; of a side that its release
            rewrote beside the change, only fields can be.
        uncompared: why operations are not compared on the other sides (one line).
        foreign: what else the release pair changes in this part, one line each.
    """

    name: str
    ours: str
    oracle: str | None = None
    reason: str = ""
    measured: bool = True
    compares_operations: tuple[str, ...] = SIDES
    uncompared: str = "this release rewrote the part beside the change"
    foreign: tuple[str, ...] = ()


def _gdn_build(change: int, *foreign: str) -> Part:
    ours = f"gdnbench.drivers.gdn:BuildDriver@{change}"
    return Part("build", ours, "gdnbench.oracle.gdn:ReleaseBuildDriver", foreign=foreign)


def _gdn_capture(change: int, *foreign: str) -> Part:
    ours = f"gdnbench.drivers.gdn:CaptureDriver@{change}"
    return Part("capture", ours, "gdnbench.oracle.gdn:ReleaseCaptureDriver", foreign=foreign)


def _bound_part(name: str, driver: str, *foreign: str, compares_operations: tuple[str, ...] = SIDES) -> Part:
    """A part of 40654; `driver` is `module:Class`, the same in both packages but for `Release`."""
    ours = f"gdnbench.drivers.{driver}"
    oracle = f"gdnbench.oracle.{driver.replace(':', ':Release')}"
    return Part(name, ours, oracle, compares_operations=compares_operations, foreign=foreign)


_BOUND_CONSUMERS = (
    _bound_part("slices", "bound_consumers:SlicesDriver"),
    _bound_part("split", "bound_consumers:SplitDriver"),
    _bound_part("cross attention", "bound_consumers:CrossAttentionDriver"),
    _bound_part(
        "mla",
        "bound_mla:MLADriver",
        "0.20.0 also counts, on the host, the tokens of prefills that have context",
    ),
    _bound_part(
        "flashmla sparse",
        "bound_mla:FlashMLASparseDriver",
        "decodes are planned without a view of top-k's lengths, and handed one of their own",
    ),
    _bound_part(
        "indexer",
        "bound_mla:IndexerDriver",
        "prefill spans are made on the device by one fused kernel; ours is in torch operations, so costs differ",
        "the decode half is rewritten (ours stays that of 0.19.1, and its fields are not compared)",
        compares_operations=("before",),
    ),
)

_BOUND_PRODUCERS = (
    _bound_part(
        "v1 runner",
        "bound_producers:V1RunnerDriver",
        "padded rows point at block 0, no longer at -1; only real rows' block tables are compared",
        "the tokens' positions are handed on",
    ),
    _bound_part("v2 preparation", "bound_producers:V2PreparationDriver", "the tokens' positions are handed on"),
    _bound_part("v2 post-processing", "bound_producers:V2PostProcessingDriver"),
    _bound_part("draft proposer", "bound_proposer:PreparationDriver"),
    replace(
        _bound_part("draft loop", "bound_proposer:LoopDriver", compares_operations=()),
        measured=False,  # one of its kernels is stood in for by torch operations
        uncompared="between two advances of the lengths the release feeds and runs the drafter's model",
    ),
)


def _padding_part(name: str, driver: str, *foreign: str, measured: bool = True) -> Part:
    """A part of 41873."""
    ours, oracle = f"gdnbench.drivers.padding:{driver}", f"gdnbench.oracle.padding:Release{driver}"
    return Part(name, ours, oracle, measured=measured, foreign=foreign)


_PADDING = (
    _padding_part("attention metadata", "AttentionMetadataDriver"),
    _padding_part(
        "mamba build",
        "MambaBuildDriver",
        "0.22.0 makes a resumed chunk of one token a decode, and asks for such rows in every build; steps that have "
        "one are not driven",
        "0.22.0 lets prefix caching speculate: fields that are None without it",
    ),
    _padding_part("input batch", "InputBatchDriver", measured=False),  # tables of NumPy and lists: no operations
)

_SPECIAL: dict[int, tuple[Part, ...]] = {
    51913: (
        _gdn_build(51913, "0.27.0 makes the zero before the chunk offsets of a list, so one host operation is missing"),
    ),
    55404: (_gdn_capture(55404),),
    41873: _PADDING,
    40654: _BOUND_CONSUMERS + _BOUND_PRODUCERS,
}

PARTS: dict[int, tuple[Part, ...]] = {number: _SPECIAL.get(number) or (_gdn_build(number),) for number in CATALOG}

GDN_CHANGES = tuple(
    number for number, parts in PARTS.items() if all(part.ours.startswith("gdnbench.drivers.gdn:") for part in parts)
)
"""The changes of the GDN builder itself: `gdn_impl/prN.py` holds the builder before and after."""


def load(path: str) -> type[Driver]:
    """The driver class at `module:Class` or `module:Class@change`."""
    from gdnbench.drivers.base import Driver

    place, _, change = path.partition("@")
    module, _, name = place.partition(":")
    driver: type[Driver] = getattr(import_module(module), name)
    assert issubclass(driver, Driver), path
    return type(name, (driver,), {"change": int(change)}) if change else driver
