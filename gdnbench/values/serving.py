"""What a campaign in live servers says: rows, the split of throughput, coverage, faults and caveats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from gdnbench.values.coverage import Builds
from gdnbench.values.metrics import OUTPUT_THROUGHPUT, Metric
from gdnbench.values.verdicts import Caveat, Json, Judgement, Verdict, finite, overall

Statistic = Literal["rate", "mean", "median", "p99"]
"""`rate`: a total divided by the time that it took."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why figures are invalid.

    Attributes:
        code: one word for programs.
        message: where and what, one line.
        concurrency: at which it lies; None for all.
        metrics: tags of those that it spoils; empty for all.
    """

    code: str
    message: str
    concurrency: int | None = None
    metrics: tuple[str, ...] = ()

    def spoils(self, row: ServeRow) -> bool:
        """Whether a row is invalid for it."""
        here = self.concurrency in (None, row.concurrency)
        return here and (not self.metrics or row.metric.tag in self.metrics)

    def to_json(self) -> Json:
        return {**asdict(self), "metrics": list(self.metrics)}


@dataclass(frozen=True, slots=True)
class ServeRow:
    """One figure at one concurrency, before against after.

    Attributes:
        before, after: of all requests of all launches together, in the metric's unit; None where nothing was measured.
        samples: how many samples the figure has in a launch, on the side that has the fewest; None for rates.
        note: how to read the figure, where its name does not say it.
        raw_ratio: after / before with the processor's pace left in; None where the ratio was not freed of it.
    """

    concurrency: int
    metric: Metric
    statistic: Statistic
    primary: bool
    before: float | None
    after: float | None
    judgement: Judgement
    samples: int | None = None
    note: str = ""
    raw_ratio: float | None = None

    def to_json(self) -> Json:
        return {
            "concurrency": self.concurrency,
            "metric": self.metric.tag,
            "statistic": self.statistic,
            "unit": self.metric.unit,
            "primary": self.primary,
            "before": finite(self.before),
            "after": finite(self.after),
            "samples": self.samples,
            "note": self.note,
            "raw_ratio": finite(self.raw_ratio),
            **self.judgement.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Part:
    """One factor of a throughput ratio: the median over launches, and its 95 % interval where they are enough."""

    ratio: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Throughput ratio = acceptance ratio / step-time ratio * rest. A builder change may claim the step time alone.

    Attributes:
        step_time: of mean ITL: a streamed chunk is a step. None where no second token came.
        acceptance: of tokens per step; one without speculation, None if it is not known: then it hides in the rest.
        leads: what to read first: the step time, if acceptance drifted by so much that it colours throughput.
        verdict: on the step time, a question of its own; None where there is none.
        concurrency: None where figures of others do not say at which.
        builds_alone: what throughput's ratio would be if the builds had taken the time they were observed to take, and
            nothing else had changed: added up, not measured. None where builds were not observed.
    """

    concurrency: int | None
    throughput: Part
    step_time: Part | None
    acceptance: Part | None
    leads: Literal["throughput", "step_time"] = "throughput"
    verdict: Verdict | None = None
    builds_alone: float | None = None

    @property
    def rest(self) -> float | None:
        """What neither explains: first tokens, requests between their steps. None without a step time."""
        if self.step_time is None:
            return None
        accepted = 1.0 if self.acceptance is None else self.acceptance.ratio
        return self.throughput.ratio * self.step_time.ratio / accepted

    def to_json(self) -> Json:
        found: Json = {"concurrency": self.concurrency}
        for name in ("throughput", "step_time", "acceptance"):
            part: Part | None = getattr(self, name)
            found[f"{name}_ratio"] = None if part is None else finite(part.ratio)
            found[f"{name}_ci"] = None if part is None or part.interval is None else list(part.interval)
        verdict = None if self.verdict is None else self.verdict.value
        found |= {"rest_ratio": finite(self.rest), "builds_alone_ratio": finite(self.builds_alone)}
        return {**found, "leads": self.leads, "step_time_verdict": verdict}


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which steps the builders of each side met, all launches together.

    Attributes:
        builds: by role.
        needs: the steps that run the changed code, in words.
        ran: by role, the builds in such steps.
    """

    builds: Mapping[str, tuple[Builds, ...]]
    needs: str
    ran: Mapping[str, int]

    def to_json(self) -> Json:
        return {
            "roles": {role: [one.to_json() for one in builds] for role, builds in self.builds.items()},
            "needs": self.needs,
            "ran": dict(self.ran),
        }


@dataclass(frozen=True, slots=True)
class ServeIdentity:
    """What was compared, and in which servers: all that must be the same for figures to be compared.

    Attributes:
        sides, releases: by role.
        method: `switch` or `apart`.
        load_release: whose `vllm bench serve` was the load generator.
        preset, model, flags, settings, speculative, device: of the server, as in its plan.
        runner, graphs: of the model, by role; `V1` or `V2`, and the graph mode.
        groups: KV groups with a GDN builder.
        loads: concurrency, requests of a block, blocks of a side in a launch.
        sampling, output_len: of each request; the end of sequence is ignored.
        workload: identity of the requests.
        launches: how many.
        environment: the machine and its libraries.
    """

    sides: Mapping[str, str]
    releases: Mapping[str, str]
    method: str
    load_release: str
    preset: str
    model: str
    flags: tuple[str, ...]
    settings: Mapping[str, str]
    speculative: Mapping[str, Any] | None
    device: str
    runner: Mapping[str, str]
    graphs: Mapping[str, str]
    groups: int
    loads: tuple[tuple[int, int, int], ...]
    sampling: Mapping[str, Any]
    output_len: int
    workload: Mapping[str, Any]
    launches: int
    environment: Mapping[str, Any]

    def to_json(self) -> Json:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the samples of a latency lie on one side: percentiles 0 to 100, milliseconds, each the median of launches."""

    concurrency: int
    role: str
    metric: str
    quantiles_ms: tuple[float, ...]

    def to_json(self) -> Json:
        return {**asdict(self), "quantiles_ms": list(self.quantiles_ms)}


@dataclass(frozen=True, slots=True)
class ServeResult:
    """A judged campaign.

    Attributes:
        rows: all figures, primary or not, by concurrency.
        controls: the same code against itself in the same launches, for each row; empty where there was none.
        invalid: what is wrong; a row that it spoils keeps its figures and has the verdict `invalid`.
        warnings: what a reader must know beside the rows' own.
        distributions: of inter-token latency; empty where recordings do not have them.
    """

    identity: ServeIdentity
    rows: tuple[ServeRow, ...]
    controls: tuple[ServeRow, ...]
    decomposition: tuple[Decomposition, ...]
    coverage: Coverage
    invalid: tuple[Fault, ...]
    warnings: tuple[Caveat, ...] = field(default=())
    distributions: tuple[Distribution, ...] = field(default=())

    @property
    def verdict(self) -> Verdict:
        """Of the primary rows; `invalid` if anything is."""
        return Verdict.INVALID if self.invalid else overall(row.judgement for row in self.primary)

    @property
    def primary(self) -> tuple[ServeRow, ...]:
        return tuple(row for row in self.rows if row.primary)

    @property
    def smallest_detectable(self) -> Mapping[int, float | None]:
        """For each concurrency the change of tok/s, as a fraction, that such a campaign finds four times in five."""
        return {row.concurrency: row.judgement.smallest_detectable for row in self.primary}

    def row(self, concurrency: int, metric: Metric = OUTPUT_THROUGHPUT, statistic: Statistic = "rate") -> ServeRow:
        """One row.

        Raises:
            KeyError: there is none.
        """
        return _find(self.rows, concurrency, metric, statistic)

    def control(self, row: ServeRow) -> ServeRow | None:
        """The same figure of identical code."""
        try:
            return _find(self.controls, row.concurrency, row.metric, row.statistic)
        except KeyError:
            return None

    def to_json(self) -> Json:
        control = self.control(self.primary[0]) if self.primary else None
        return {
            "before": self.identity.sides["before"],
            "after": self.identity.sides["after"],
            "verdict": self.verdict.value,
            "rows": [row.to_json() for row in self.rows],
            "decomposition": [one.to_json() for one in self.decomposition],
            "coverage": self.coverage.to_json(),
            "invalid": [fault.to_json() for fault in self.invalid],
            "control": None if control is None else control.to_json(),
            "controls": [row.to_json() for row in self.controls],
            "smallest_detectable": {str(key): finite(value) for key, value in self.smallest_detectable.items()},
            "warnings": [caveat.to_json() for caveat in self.warnings],
            "distributions": [one.to_json() for one in self.distributions],
            "identity": self.identity.to_json(),
        }


def _find(rows: tuple[ServeRow, ...], concurrency: int, metric: Metric, statistic: Statistic) -> ServeRow:
    for row in rows:
        if (row.concurrency, row.metric, row.statistic) == (concurrency, metric, statistic):
            return row
    raise KeyError(f"no {statistic} of {metric.tag} at concurrency {concurrency}")
