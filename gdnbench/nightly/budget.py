"""Which parts of a night fit into its time."""

from __future__ import annotations

from collections.abc import Sequence

from gdnbench.nightly.parts import Part
from gdnbench.values.variants import parse

LAUNCH_S, RELEASE_LAUNCH_S, SCENARIO_S = 2.0, 15.0, 1.0
"""Of a launch of step time: the start, with releases, and what each scenario takes."""
SERVER_S, BLOCKS_S, DOCUMENT_S = 25.0, 40.0, 0.05
"""Of a server: its start, the blocks of one concurrency, one document of a task."""

ALL_DOCUMENTS = 1319


def estimate_s(part: Part, last: float | None) -> float:
    """The seconds that a part will take: as the last time, else as its plan says, else by what such parts take.

    Args:
        last: what it took the last time on this machine.
    """
    if last is not None:
        return last
    if part.minutes is not None:
        return part.minutes * 60
    asked = part.options
    releases = sum(parse(side).vllm is not None for side in (part.before, part.after))
    if part.kind == "cost":
        return 5 + 10.0 * releases
    if part.kind == "step":
        start = RELEASE_LAUNCH_S if releases else LAUNCH_S
        return float(asked.get("launches", 10) * (start + SCENARIO_S * len(part.scenarios)))
    if part.kind == "serve":
        return float(asked.get("launches", 7) * (SERVER_S + BLOCKS_S * len(asked.get("concurrency", (1, 16)))))
    return float(3 * (SERVER_S + DOCUMENT_S * asked.get("limit", ALL_DOCUMENTS)))


def in_order(parts: Sequence[Part], seconds: Sequence[float], budget_s: float) -> list[int]:
    """The places of the parts in the order in which to measure them: the plan's if all fit, else by value per minute.

    Args:
        seconds: of each part.
        budget_s: the time that there is.
    """
    places = list(range(len(parts)))
    if sum(seconds) <= budget_s:
        return places
    return sorted(places, key=lambda place: -parts[place].value / max(seconds[place], 1.0))
