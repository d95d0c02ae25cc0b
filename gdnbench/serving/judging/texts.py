"""Greedy answers of both sides: equal metadata must give equal texts, as far as the server gives them twice itself.

At one request in flight nothing but the builder tells the sides apart, so identical code answers alike, and an answer
of `after` that differs is a fault. With more requests in flight batches form by chance, sums are taken in another
order, and near-ties fall either way, in identical code too: so wherever `control` differs from `before` as well, the
rounds in which it does are held against those in which `after` does, by exact McNemar. A slower side forms other
batches by right, so that at more than one request even a clear excess is no more than a caveat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gdnbench.campaign.turns import AFTER, BEFORE, CONTROL
from gdnbench.serving.judging.builds import promises
from gdnbench.serving.judging.findings import Finding
from gdnbench.serving.judging.rounds import Round, rounds
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import ServeLaunch
from gdnbench.stats.binary import Flips
from gdnbench.values.verdicts import Caveat

_CLEARLY = 0.01


@dataclass(frozen=True, slots=True)
class _Texts:
    """Rounds at one concurrency, and in how many of them texts differ from those of `before`."""

    rounds: int
    after: int
    control: int | None
    p_value: float
    first: str

    @property
    def excess(self) -> bool:
        """Whether `after` differs where identical code does not."""
        if not self.after or self.control is None:
            return False
        return self.control == 0 or (self.after > self.control and self.p_value <= _CLEARLY)

    @property
    def line(self) -> str:
        control = "" if self.control is None else f", those of identical code in {self.control}"
        return f"greedy texts of {AFTER} differ from those of {BEFORE} in {self.after} of {self.rounds} rounds{control}"


def text_findings(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Finding]:
    """Answers that differ although nothing may make them."""
    for load in plan.loads:
        found = _compared(launches, load.concurrency)
        if load.concurrency == 1 and promises(plan) and found and found.excess:
            yield Finding("texts", found.first, found.line, load.concurrency)


def text_caveats(plan: ServePlan, launches: Sequence[ServeLaunch]) -> Iterator[Caveat]:
    """Answers that differ, where that may have another cause."""
    if not promises(plan):
        return
    for load in plan.loads:
        found = _compared(launches, load.concurrency)
        if found is None:
            continue
        says = f"at concurrency {load.concurrency} {found.line}"
        if load.concurrency > 1:
            if found.excess and found.p_value <= _CLEARLY:
                advice = "compare accuracy, and the sides at concurrency 1, where nothing is batched"
                yield Caveat("texts", f"{says}: more than batching explains", advice)
        elif found.control is None and found.after:
            yield Caveat("texts", says, "compare them with a control: by `--method switch`")
        elif found.control:
            advice = "no text can vouch for these sides: compare accuracy"
            yield Caveat("texts", f"{says}: this server does not answer alike twice", advice)


def _compared(launches: Sequence[ServeLaunch], concurrency: int) -> _Texts | None:
    """None where answers are not greedy, or there are none to compare."""
    if any(launch.load.sampling.get("temperature") != 0 for launch in launches):
        return None
    found = [one for one in rounds(launches, concurrency) if BEFORE in one.blocks and AFTER in one.blocks]
    if not found:
        return None
    after = [_differ(one, AFTER) for one in found]
    first = next((one.where(AFTER) for one, differs in zip(found, after, strict=True) if differs), "")
    if not all(CONTROL in one.blocks for one in found):
        return _Texts(len(found), sum(after), None, 1.0, first)
    control = [_differ(one, CONTROL) for one in found]
    alone = sum(a and not c for a, c in zip(after, control, strict=True))
    other = sum(c and not a for a, c in zip(after, control, strict=True))
    return _Texts(len(found), sum(after), sum(control), Flips(other, alone, len(found)).p_value, first)


def _differ(one: Round, role: str) -> bool:
    return one.blocks[role].texts != one.blocks[BEFORE].texts
