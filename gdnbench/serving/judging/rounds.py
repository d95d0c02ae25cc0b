"""The blocks of launches, put side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gdnbench.serving.records import Block, ServeLaunch

NO_TIME_MS = 1e-3
"""Less is no time between tokens but the rounding of clocks: an answer that came all at once."""


@dataclass(frozen=True, slots=True)
class Round:
    """The blocks, by role, in which all sides had the same requests to answer."""

    launch: int
    concurrency: int
    number: int
    blocks: Mapping[str, Block]

    def where(self, role: str) -> str:
        return where(self.launch, self.blocks[role])


def where(launch: int, block: Block) -> str:
    """Which block it is, in words."""
    return f"launch {launch}, concurrency {block.concurrency}, round {block.round}, {block.role}"


def rounds(launches: Iterable[ServeLaunch], concurrency: int | None = None) -> Iterator[Round]:
    """Every round of these launches, at one concurrency or at all."""
    for launch in launches:
        found: dict[tuple[int, int], dict[str, Block]] = {}
        for block in launch.blocks:
            if concurrency in (None, block.concurrency):
                found.setdefault((block.concurrency, block.round), {})[block.role] = block
        for (at, number), blocks in found.items():
            yield Round(launch.number, at, number, blocks)


def blocks_of(launch: ServeLaunch, concurrency: int, role: str | None = None) -> list[Block]:
    """The blocks of a launch at one concurrency, of one role or of all, in the order in which they ran."""
    return [one for one in launch.blocks if one.concurrency == concurrency and role in (None, one.role)]


def one_token(launches: Sequence[ServeLaunch], concurrency: int) -> bool:
    """Whether no request had a second token, so that there is no time between tokens."""
    blocks = [block for launch in launches for block in blocks_of(launch, concurrency)]
    return all(block.output_tokens <= block.completed for block in blocks)


def at_once(block: Block) -> bool:
    """Whether answers came all at once, so that the client saw no time between their tokens: it, or what lies between
    it and the server, stood still meanwhile."""
    names = (f"{statistic}_{tag}_ms" for tag in ("tpot", "itl") for statistic in ("mean", "median", "p99"))
    return any(value and abs(value) < NO_TIME_MS for value in map(block.figures.get, names))
