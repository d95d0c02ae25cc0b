"""The sides of one builder: for each role the function that builds, whatever its variant is."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from gdnbench.plugin import faults
from gdnbench.plugin.reference import Reference
from gdnbench.plugin.settings import ORIGINAL, PluginSettings
from gdnbench.values.errors import UserError
from gdnbench.values.variants import parse

Side = Callable[..., Any]
"""Builds the metadata of one step: called as the release's `build` of one builder, with its five arguments."""


def make_sides(
    settings: PluginSettings, builder: Any, original: Side, release: str, metadata_class: type, common_class: type
) -> tuple[Side, ...]:
    """The sides of one vLLM builder, in the order of the settings' roles; behind them the server's own.

    Args:
        builder: vLLM's.
        original: its own `build`, bound.
        release: of vLLM.
        metadata_class, common_class: the release's `GDNAttentionMetadata` and `CommonAttentionMetadata`.

    Raises:
        UserError: a variant cannot run in this server.
    """

    def side(role: str, text: str) -> Side:
        if text == ORIGINAL:
            return original
        variant = parse(text)
        if variant.fault is not None:
            faults.check(variant.fault)
        if variant.fault in faults.ENDINGS:
            build: Side = striking(original, faults.ENDINGS[variant.fault], settings.fault_at)
        elif variant.kind in ("pr", "limit", "fault"):
            build = Reference(variant, builder, metadata_class, common_class).build
        elif variant.release == release:
            build = original
        else:
            raise UserError(f"{variant} is not in this server, which runs vLLM {release}")
        if variant.handicap is None:
            return build
        if role not in settings.waits:
            raise UserError(f"{variant}: its settings do not say how long it waits")
        return waiting(build, settings.waits[role])

    return (*(side(role, text) for role, text in settings.variants.items()), original)


def waiting(build: Side, nanoseconds: int) -> Side:
    """A side made slower by a busy wait."""

    def slower(*arguments: Any) -> Any:
        metadata = build(*arguments)
        end = perf_counter_ns() + nanoseconds
        while perf_counter_ns() < end:
            pass
        return metadata

    return slower


def striking(build: Side, strike: faults.Strike, at: int) -> Side:
    """A side with a fault that strikes in build number `at`, from 1."""
    builds = 0

    def broken(*arguments: Any) -> Any:
        nonlocal builds
        metadata = build(*arguments)
        builds += 1
        if builds == at:
            strike()
        return metadata

    return broken
