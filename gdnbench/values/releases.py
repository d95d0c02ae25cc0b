"""vLLM's real builder from release to release: how long a step took, and what it asked of the device."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from gdnbench.values.verdicts import Json, Verdict, finite


def age(release: str) -> tuple[int, ...]:
    """A key that orders releases, the oldest first: 0.9.1, 0.10.0, 0.10.0.post1."""
    return tuple(map(int, re.findall(r"\d+", release)))


@dataclass(frozen=True, slots=True)
class ReleaseStep:
    """Two releases that took turns: the step time of the later one over that of the earlier one.

    Attributes:
        before, after: the releases, such as `0.30.0` and `0.31.0`.
        ratio: after / before; None where there is none.
        interval: of the ratio, at least 95 %; None where the launches are too few to have one.
        verdict: of the comparison.
        reason: of the verdict, one line; may be empty.
        launches: how many it rests on.
        smallest_detectable: the change, as a fraction, that such a run finds four times in five; None if not known.
        run: the name of the run in its history.
    """

    before: str
    after: str
    ratio: float | None
    interval: tuple[float, float] | None
    verdict: Verdict
    reason: str
    launches: int
    smallest_detectable: float | None
    run: str

    @property
    def is_shift(self) -> bool:
        """Whether the build changed between the two, as the verdict has it."""
        return self.verdict in (Verdict.IMPROVED, Verdict.REGRESSED)

    def to_json(self) -> Json:
        return {
            "before": self.before,
            "after": self.after,
            "ratio": finite(self.ratio),
            "ci": None if self.interval is None else [finite(end) for end in self.interval],
            "verdict": self.verdict.value,
            "shift": self.is_shift,
            "reason": self.reason,
            "launches": self.launches,
            "smallest_detectable": finite(self.smallest_detectable),
            "run": self.run,
        }


@dataclass(frozen=True, slots=True)
class ReleaseLoad:
    """One scenario through all releases.

    Attributes:
        scenario: its name.
        part: of the builder that was driven.
        kind: of step: `decode`, `prefill`, `mixed`, `speculative` or `speculative mixed`.
        steps: from each release to the next, in their order; a pair that was not measured is missing.
        whole: from the first release to the last, measured as one pair, to hold the chained level against; None where
            it was not measured.
        counts: exact costs: by metric, then by release.
    """

    scenario: str
    part: str
    kind: str
    steps: tuple[ReleaseStep, ...]
    whole: ReleaseStep | None
    counts: Mapping[str, Mapping[str, int]]

    def levels(self, releases: tuple[str, ...]) -> dict[str, float]:
        """Step time at each release relative to the first: the product of the ratios up to it.

        It ends where a ratio is missing or invalid. Errors of the ratios add up along the chain, so it has no interval.
        """
        ratios = {(step.before, step.after): step.ratio for step in self.steps if step.verdict is not Verdict.INVALID}
        found = dict.fromkeys(releases[:1], 1.0)
        for before, after in pairwise(releases):
            ratio = ratios.get((before, after))
            if ratio is None:
                break
            found[after] = found[before] * ratio
        return found


@dataclass(frozen=True, slots=True)
class ReleaseHistory:
    """What a history knows of the releases.

    Attributes:
        releases: in their order, the oldest first.
        machine: where step times were measured, in words: processor, cores, system, libraries. Several, joined by `; `.
        loads: the scenarios.
        missing: pairs of neighbours that no run compares, each in words.
    """

    releases: tuple[str, ...]
    machine: str
    loads: tuple[ReleaseLoad, ...]
    missing: tuple[str, ...] = ()

    def to_json(self) -> Json:
        return {
            "releases": list(self.releases),
            "machine": self.machine,
            "missing": list(self.missing),
            "loads": [
                {
                    "scenario": load.scenario,
                    "part": load.part,
                    "kind": load.kind,
                    "steps": [step.to_json() for step in load.steps],
                    "whole": None if load.whole is None else load.whole.to_json(),
                    "levels": {release: finite(level) for release, level in load.levels(self.releases).items()},
                    "counts": {metric: dict(own) for metric, own in load.counts.items()},
                }
                for load in self.loads
            ],
        }
