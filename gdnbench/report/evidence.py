"""What an evidence report says, as values: gathered by `report.gather`, laid out by `report.markdown`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gdn_impl.catalog import Change, Claim, Level
from gdnbench.report import accuracy_words
from gdnbench.report.numbers import in_words, percent
from gdnbench.report.serving_words import advice, in_short
from gdnbench.report.waterfall import Waterfall
from gdnbench.values.accuracy import AccuracyResult
from gdnbench.values.serving import ServeResult
from gdnbench.values.verdicts import Caveat, CostResult, StepResult, Verdict, overall

_OPPOSITES = {Verdict.IMPROVED, Verdict.REGRESSED}


@dataclass(frozen=True, slots=True)
class EqualityFinding:
    """Before against after, field by field, for one part.

    Attributes:
        named, random: scenarios compared.
        different: scenarios in which some field differs.
        examples: a few differences, one line each.
        promised: whether the change promises equal metadata.
    """

    part: str
    named: int
    random: int
    different: int
    examples: tuple[str, ...]
    promised: bool

    @property
    def valid(self) -> bool:
        """Whether what was found agrees with what the change promises."""
        return not self.promised or self.different == 0


@dataclass(frozen=True, slots=True)
class ClaimFinding:
    """A published claim and what this machine can say of it."""

    claim: Claim
    finding: str
    note: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything measured about one change on one machine.

    Attributes:
        costs: by part.
        step: of the part that is timed; None where step time does not apply.
        environment: where it was measured.
        elsewhere: levels that this report does not speak of, with the reason.
        server: of both sides in a live server; None where that was not measured.
        server_command: that asks it again, as `gdnbench.serving.again.command` has it.
        accuracy: of both sides' answers; None where nobody asked.
        waterfall: the operations of the primary scenario, before and after.
        limit_counts: exact costs of the limit, by part and scenario, where it has that part.
    """

    change: Change
    device: str
    equality: tuple[EqualityFinding, ...]
    costs: Mapping[str, CostResult]
    step: StepResult | None
    claims: tuple[ClaimFinding, ...]
    environment: Mapping[str, Any]
    elsewhere: Mapping[Level, str]
    warnings: tuple[Caveat, ...] = ()
    server: ServeResult | None = None
    server_command: str = ""
    accuracy: AccuracyResult | None = None
    waterfall: Waterfall | None = None
    limit_counts: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """Validity first; then wrong answers, whatever the speed; then what is said of speed."""
        if not all(finding.valid for finding in self.equality):
            return Verdict.INVALID
        if self.accuracy is not None and self.accuracy.verdict in (Verdict.INVALID, Verdict.REGRESSED):
            return self.accuracy.verdict
        return self.speed

    @property
    def speed(self) -> Verdict:
        """The step leads, and a live server may contradict it, never improve on it.

        A change of metadata shows in the step or nowhere, and a server sees less than the step does: `same` there
        says nothing against a step that improved. But a server that got slower is not outvoted, and where both found
        opposite things the verdict is `unknown`.
        """
        if self.server is None or self.leading is Verdict.INVALID:
            return self.leading
        if self.server.verdict is Verdict.INVALID:
            return Verdict.INVALID
        if {self.leading, self.server.verdict} == _OPPOSITES:
            return Verdict.UNKNOWN
        return Verdict.REGRESSED if self.server.verdict is Verdict.REGRESSED else self.leading

    @property
    def leading(self) -> Verdict:
        """Of step time where it applies, else of the exact costs.

        On a CPU there is nothing to wait for, so a step may get slower there by what spares a GPU a wait: where costs
        and a CPU's step time contradict each other, it is `unknown`.
        """
        if self.step is None:
            return self.cost_verdict
        return Verdict.UNKNOWN if self.contradicted else self.step.verdict

    @property
    def contradicted(self) -> bool:
        """Whether the exact costs say one thing and step time on a CPU the other."""
        return self.device == "cpu" and self.step is not None and {self.cost_verdict, self.step.verdict} == _OPPOSITES

    @property
    def cost_verdict(self) -> Verdict:
        """Over all parts and scenarios."""
        return overall(judgement for result in self.costs.values() for judgement in result.judgements.values())

    def to_json(self) -> dict[str, Any]:
        """The report as one object."""
        return {
            "change": self.change.number,
            "title": self.change.title,
            "verdict": self.verdict.value,
            "headline": headline(self),
            "device": self.device,
            "equality": [
                {
                    "part": finding.part,
                    "named": finding.named,
                    "random": finding.random,
                    "different": finding.different,
                    "promised": finding.promised,
                    "examples": list(finding.examples),
                }
                for finding in self.equality
            ],
            "costs": {part: result.to_json() for part, result in self.costs.items()},
            "limit_counts": dict(self.limit_counts),
            "waterfall": None if self.waterfall is None else self.waterfall.to_json(),
            "step": None if self.step is None else self.step.to_json(),
            "server": None if self.server is None else self.server.to_json(),
            "accuracy": None if self.accuracy is None else self.accuracy.to_json(),
            "claims": [
                {"claim": one.claim.text, "finding": one.finding, "note": one.note, "setting": one.claim.setting}
                for one in self.claims
            ],
            "elsewhere": {level.value: reason for level, reason in self.elsewhere.items()},
            "environment": dict(self.environment),
            "warnings": [caveat.to_json() for caveat in self.warnings],
            "next": list(next_steps(self)),
        }


def headline(evidence: Evidence) -> str:
    """One sentence: the verdict, on what it rests, and how sure it is."""
    change = evidence.change
    broken = [finding for finding in evidence.equality if not finding.valid]
    if broken:
        return f"invalid: metadata of {change.number} differs in {broken[0].different} scenarios of {broken[0].part}"
    speed = _with_server(evidence, _leading_sentence(evidence))
    if evidence.accuracy is None:
        return speed
    answers = accuracy_words.in_short(evidence.accuracy)
    if evidence.accuracy.verdict in (Verdict.INVALID, Verdict.REGRESSED):
        return f"{evidence.accuracy.verdict.value}: {answers}, whatever its speed ({speed})"
    return f"{speed}; {answers}"


def _with_server(evidence: Evidence, sentence: str) -> str:
    """The sentence of the level that leads, with what a live server said; where they disagree, that comes first."""
    if evidence.server is None:
        return sentence
    server, verdict = in_short(evidence.server), evidence.speed
    if evidence.server.verdict is Verdict.INVALID:
        return f"invalid: {server}; without a server: {sentence}"
    if {evidence.leading, evidence.server.verdict} == _OPPOSITES:
        return f"unknown: the levels contradict each other: {server}, but {sentence}"
    if verdict is not evidence.leading:
        return f"{verdict.value}: {server}, though {sentence}"
    return f"{sentence}; {server}"


def _leading_sentence(evidence: Evidence) -> str:
    if evidence.step is None:
        return f"{evidence.leading.value}: {_cost_sentence(evidence)}"
    row = next(row for row in evidence.step.rows if row.primary)
    judgement = row.judgement
    if judgement.ratio is None:
        return f"{judgement.verdict.value}: {judgement.reason}"
    sure = f" ({judgement.launches} launches)"
    if judgement.interval is not None:
        low, high = judgement.interval
        sure = f" (95 % interval {percent(low)} to {percent(high)}, {judgement.launches} launches)"
    time = f"the metadata of one step of {row.scenario} takes {in_words(judgement.ratio)} time to build"
    sentence = f"{judgement.verdict.value}: {time} on {_device(evidence)}{sure}"
    if evidence.contradicted:
        costs = f"the exact costs are {evidence.cost_verdict.value} ({_cost_sentence(evidence)})"
        return f"unknown: {costs}, step time on a CPU is {sentence}; a GPU decides"
    return sentence


def _device(evidence: Evidence) -> str:
    return "this CPU" if evidence.device == "cpu" else "this GPU"


def _cost_sentence(evidence: Evidence) -> str:
    reasons = [
        f"{part}, {scenario}: {judgement.reason}"
        for part, result in evidence.costs.items()
        for scenario, judgement in result.judgements.items()
        if judgement.verdict is evidence.cost_verdict
    ]
    return reasons[0] if reasons else "no costs were counted"


def next_steps(evidence: Evidence) -> tuple[str, ...]:
    """What a reader should do with this report."""
    steps = []
    number = evidence.change.number
    if not all(finding.valid for finding in evidence.equality):
        steps.append("mend the difference in metadata before anything is said of speed")
    for row in () if evidence.step is None else evidence.step.rows:
        own = row.judgement
        if row.primary and own.verdict is Verdict.UNKNOWN and own.more_launches:
            asked = f"gdnbench step pr{number}.before pr{number}.after --scenario {row.scenario}"
            asked += "" if evidence.device == "cpu" else f" --device {evidence.device}"
            steps.append(f"{own.more_launches} more launches: `{asked} --launches {own.launches + own.more_launches}`")
    if evidence.server is not None and evidence.server.verdict in (Verdict.INVALID, Verdict.UNKNOWN):
        steps.append(f"the live server: {advice(evidence.server, evidence.server_command)}")
    if evidence.accuracy is not None and evidence.accuracy.verdict is not Verdict.SAME:
        steps.append(f"the answers: {accuracy_words.advice(evidence.accuracy)}")
    if evidence.device == "cpu":
        steps.append(
            f"on a GPU the same build costs launches and copies instead of CPU arithmetic: "
            f"`gdnbench evidence {number} --device cuda` there"
        )
    if any(finding.finding == "measured elsewhere" for finding in evidence.claims):
        steps.append("the published claims speak of throughput on a GPU: this report neither supports nor refutes them")
    steps.append(f"hold both sides against real vLLM: `gdnbench conform --change {number}`")
    return tuple(steps)
