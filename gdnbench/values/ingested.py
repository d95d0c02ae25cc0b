"""What others measured, as read: one record for each run, pairs of them judged, and what could not be understood."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gdnbench.values.accuracy import AccuracyResult
from gdnbench.values.claims import JudgedClaim
from gdnbench.values.metrics import Metric
from gdnbench.values.serving import Decomposition, Fault
from gdnbench.values.verdicts import Caveat, Json, Judgement, Verdict, finite, worst

Kind = Literal["serving", "accuracy", "asv", "benchmark"]
"""What a record speaks of: a server under load, answers, an asv suite, or figures of any other benchmark by name."""

Side = Literal["before", "after"]
Absence = Literal["failed", "skipped", "timed out", "not measured (output_len <= 1)"]
NOT_MEASURED: Absence = "not measured (output_len <= 1)"
"""TPOT and ITL of answers of one token."""
Whole = Literal["valid", "invalid"]


@dataclass(frozen=True, slots=True)
class Record:
    """One run, as somebody published it.

    Attributes:
        source: file and line where it begins.
        kind: what it speaks of.
        form: in which format it was written, in words.
        metrics: figures by the names of `vllm bench serve`'s JSON; of other kinds by their own names.
        labels: what names it, the nearest first: headings, labels, file names.
        group: what else must be the same for two records to be compared: the task, the suite; empty for servers.
        concurrency: requests in flight at most; None where it is not known.
        facts: what identifies the run and is no figure: model, rate, versions, flags.
        units: by metric, where the format states one.
        absent: figures that a run should have and has not, and why.
        faults: what makes figures unusable.
        warnings: what a reader must know, what was not understood among it.
        side: before or after; None while nothing says so.
        why: where the side comes from.
    """

    source: str
    kind: Kind
    form: str
    metrics: Mapping[str, float]
    labels: tuple[str, ...] = ()
    group: str = ""
    concurrency: int | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, Absence] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    warnings: tuple[Caveat, ...] = ()
    side: Side | None = None
    why: str = ""

    def spoiled(self, metric: str) -> Fault | None:
        """The first fault that makes a figure unusable."""
        return next((fault for fault in self.faults if not fault.metrics or metric in fault.metrics), None)

    def to_json(self) -> Json:
        return {
            "source": self.source,
            "side": self.side,
            "side_reason": self.why,
            "kind": self.kind,
            "form": self.form,
            "labels": list(self.labels),
            "concurrency": self.concurrency,
            "metrics": {name: finite(value) for name, value in self.metrics.items()},
            "absent": dict(self.absent),
            "facts": dict(self.facts),
            "invalid": [fault.to_json() for fault in self.faults],
            "warnings": [caveat.to_json() for caveat in self.warnings],
        }


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """One figure, before against after.

    Attributes:
        name: by `vllm bench serve`'s JSON, or its own.
        metric: its unit, direction and floor; None where it is not known which way is better.
        unit: as stated; empty where nothing states it.
        primary: whether the pair's verdict is this row's.
        before, after: medians over runs; None where a side has none.
        note: how to read it.
    """

    name: str
    metric: Metric | None
    unit: str
    primary: bool
    before: float | None
    after: float | None
    judgement: Judgement
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """After / before, whatever was judged; None where there is none, as of zeros and what is not finite."""
        if self.before is None or self.after is None:
            return None
        return self.after / self.before if 0 < self.before < math.inf and 0 < self.after < math.inf else None

    def to_json(self) -> Json:
        return {
            "metric": self.name,
            "unit": self.unit,
            "direction": None if self.metric is None else self.metric.direction,
            "primary": self.primary,
            "before": finite(self.before),
            "after": finite(self.after),
            "note": self.note,
            **self.judgement.to_json(),
        }


@dataclass(frozen=True, slots=True)
class CheckedPair:
    """Before against after, at one concurrency, of one task or of one suite.

    Attributes:
        group: the task or the suite; empty for servers.
        sources: by side, where its runs stand.
        reasons: why the pair is invalid; empty where it is valid.
        decomposition: of throughput; None where there is none.
        acceptance: how tokens per step were told, in words; empty where there is nothing to tell.
        rows: the primary one first where there is one, then by the size of the change.
        answers: the comparison of answers, whole; None of other kinds.
    """

    kind: Kind
    group: str
    concurrency: int | None
    sources: Mapping[Side, tuple[str, ...]]
    reasons: tuple[Fault, ...]
    rows: tuple[CheckedRow, ...]
    decomposition: Decomposition | None = None
    acceptance: str = ""
    warnings: tuple[Caveat, ...] = ()
    answers: AccuracyResult | None = None

    @property
    def validity(self) -> Whole:
        return "invalid" if self.reasons else "valid"

    @property
    def verdict(self) -> Verdict:
        """Of the primary rows; `invalid` if anything is, `unknown` where nothing was judged."""
        if self.reasons:
            return Verdict.INVALID
        judged = [row.judgement.verdict for row in self.rows if row.primary]
        return worst(judged) if judged else Verdict.UNKNOWN

    @property
    def runs(self) -> int:
        """Of the side that has the fewest."""
        return min((len(found) for found in self.sources.values()), default=0)

    def row(self, name: str) -> CheckedRow:
        """One row.

        Raises:
            KeyError: there is none.
        """
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def to_json(self) -> Json:
        return {
            "kind": self.kind,
            "group": self.group,
            "concurrency": self.concurrency,
            "before": list(self.sources.get("before", ())),
            "after": list(self.sources.get("after", ())),
            "runs": self.runs,
            "validity": self.validity,
            "reasons": [fault.to_json() for fault in self.reasons],
            "decomposition": None if self.decomposition is None else self.decomposition.to_json(),
            "acceptance": self.acceptance,
            "rows": [row.to_json() for row in self.rows],
            "warnings": [caveat.to_json() for caveat in self.warnings],
            "answers": None if self.answers is None else self.answers.to_json(),
            "verdict": self.verdict.value,
        }


@dataclass(frozen=True, slots=True)
class CheckResult:
    """All that `gdnbench check` found.

    Attributes:
        warnings: of the files as a whole: records without a side, sides without a counterpart.
        claims: what was claimed, each with its finding.
    """

    records: tuple[Record, ...]
    pairs: tuple[CheckedPair, ...]
    warnings: tuple[Caveat, ...] = ()
    claims: tuple[JudgedClaim, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Of all pairs; without any, `invalid` if a record contradicts itself, else `unknown`."""
        if self.pairs:
            return worst(pair.verdict for pair in self.pairs)
        return Verdict.INVALID if any(record.faults for record in self.records) else Verdict.UNKNOWN

    def to_json(self) -> Json:
        return {
            "records": [record.to_json() for record in self.records],
            "pairs": [pair.to_json() for pair in self.pairs],
            "warnings": [caveat.to_json() for caveat in self.warnings],
            "claims": [claim.to_json() for claim in self.claims],
            "verdict": self.verdict.value,
        }
