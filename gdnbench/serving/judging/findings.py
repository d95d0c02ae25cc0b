"""What checks find, block by block, put together into one named fault each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gdnbench.values.serving import Fault


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong in one place.

    Attributes:
        code: of the fault.
        where: block, launch or nothing, in words.
        what: is wrong there.
        concurrency: at which; None for all.
        metrics: tags of those that it spoils; empty for all.
    """

    code: str
    where: str
    what: str
    concurrency: int | None = None
    metrics: tuple[str, ...] = ()


def together(findings: Iterable[Finding]) -> tuple[Fault, ...]:
    """One fault for each code, concurrency and set of metrics: its first finding in full, the others counted."""
    groups: dict[tuple[str, int | None, tuple[str, ...]], list[Finding]] = {}
    for one in findings:
        groups.setdefault((one.code, one.concurrency, one.metrics), []).append(one)
    return tuple(Fault(code, _line(found), at, metrics) for (code, at, metrics), found in groups.items())


def _line(found: list[Finding]) -> str:
    first, others = found[0], len(found) - 1
    more = f" (and {others} more like this)" if others else ""
    return f"{first.where}{': ' if first.where else ''}{first.what}{more}"
