"""A server campaign judged: what makes it invalid, its rows, the split of throughput, and what a reader must know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.serving.judging.budget import budget_caveats
from gdnbench.serving.judging.builds import build_findings, coverage
from gdnbench.serving.judging.caveats import caveats
from gdnbench.serving.judging.distributions import distributions
from gdnbench.serving.judging.figures import ACCEPTANCE, FIGURES, Figure, measured, of_side, samples
from gdnbench.serving.judging.findings import together
from gdnbench.serving.judging.requests import request_findings
from gdnbench.serving.judging.rounds import one_token
from gdnbench.serving.judging.sameness import identity, sameness_findings
from gdnbench.serving.judging.split import STEP_TIME, acceptance_caveats, acceptance_findings, decompose
from gdnbench.serving.judging.texts import text_caveats, text_findings
from gdnbench.serving.plan import ServePlan
from gdnbench.serving.records import ServeLaunch
from gdnbench.stats.paired import Comparison, judge_rows
from gdnbench.values.metrics import ITL, TPOT
from gdnbench.values.serving import Decomposition, Fault, ServeResult, ServeRow
from gdnbench.values.verdicts import Caveat, Judgement, Verdict

FEWEST_FOR_P99 = 100
"""Below it a p99 is the largest of its samples."""
SKEWED = 0.05

NOT_MEASURED = "not measured (output_len <= 1)"
PER_CHUNK = "per streamed chunk (about one engine step)"
NOT_CLAIMABLE = "no builder change may claim it"
_SKEW = Caveat(
    "skewed",
    "mean and median lie more than 5 % apart: a few slow samples, such as mixed steps, move the mean alone",
    "read both, and the p99",
)


def judge_serving(plan: ServePlan, launches: Sequence[ServeLaunch]) -> ServeResult:
    """Judge the launches of a campaign, at least one: validity first, then the rule for sampled metrics.

    Args:
        plan: of the campaign.
        launches: those that are finished.

    Raises:
        ValueError: there is none.
    """
    if not launches:
        raise ValueError("a campaign without launches cannot be judged")
    launches = sorted(launches, key=lambda launch: launch.number)
    faults = together(
        [
            *request_findings(plan, launches),
            *sameness_findings(plan, launches),
            *build_findings(plan, launches),
            *text_findings(plan, launches),
            *acceptance_findings(plan, launches),
        ]
    )
    cells = [_cell(plan, launches, load.concurrency, figure) for load in plan.loads for figure in _figures(plan)]
    judged = _judge(cells)
    rows = tuple(_row(cell, judgement, faults) for cell, judgement in zip(cells, judged, strict=True))
    covered = coverage(plan, launches)
    splits = tuple(_with_verdict(split, rows) for split in decompose(plan, launches, covered))
    return ServeResult(
        identity=identity(plan, launches),
        rows=tuple(_skewed(row, rows) for row in rows),
        controls=tuple(_control_row(cell) for cell in cells if cell.control is not None and not cell.unmeasured),
        decomposition=splits,
        coverage=covered,
        invalid=faults,
        warnings=(
            *acceptance_caveats(plan, launches),
            *budget_caveats(splits, rows),
            *text_caveats(plan, launches),
            *caveats(plan, launches),
        ),
        distributions=distributions(plan, launches),
    )


@dataclass(frozen=True, slots=True)
class _Cell:
    """One row before it is judged.

    Attributes:
        before, after: what all blocks of a side give together.
        unmeasured: whether there was nothing to measure: no request had a second token.
    """

    concurrency: int
    figure: Figure
    comparison: Comparison
    before: float | None
    after: float | None
    control: Comparison | None
    samples: int | None
    unmeasured: bool
    note: str
    raw_ratio: float | None


def _judge(cells: Sequence[_Cell]) -> list[Judgement]:
    """By three families: tok/s, the step times that may explain it, and everything else."""
    judged: dict[int, Judgement] = {}
    for explains in (True, False):
        family = [i for i, cell in enumerate(cells) if (cell.figure == STEP_TIME) is explains]
        found = judge_rows([cells[i].comparison for i in family], [cells[i].control for i in family])
        judged |= dict(zip(family, found, strict=True))
    return [judged[i] for i in range(len(cells))]


def _figures(plan: ServePlan) -> tuple[Figure, ...]:
    return FIGURES if plan.server.speculative is None else (*FIGURES, ACCEPTANCE)


def _cell(plan: ServePlan, launches: Sequence[ServeLaunch], concurrency: int, figure: Figure) -> _Cell:
    unmeasured = figure.metric in (TPOT, ITL) and one_token(launches, concurrency)
    note = NOT_CLAIMABLE if figure == ACCEPTANCE else ""
    if figure.metric is ITL and plan.server.speculative is not None:
        note = PER_CHUNK
    used = () if unmeasured else launches
    found = measured(plan, used, concurrency, figure)
    return _Cell(
        concurrency=concurrency,
        figure=figure,
        comparison=found.compared,
        before=of_side(used, concurrency, figure, BEFORE),
        after=of_side(used, concurrency, figure, AFTER),
        control=found.control,
        samples=samples(launches, concurrency, figure),
        unmeasured=unmeasured,
        note=note,
        raw_ratio=found.raw_ratio,
    )


def _row(cell: _Cell, judgement: Judgement, faults: Iterable[Fault]) -> ServeRow:
    figure = cell.figure
    if cell.unmeasured:
        judgement = Judgement(Verdict.UNKNOWN, reason=NOT_MEASURED)
    elif figure.statistic == "p99" and (cell.samples or 0) < FEWEST_FOR_P99:
        why = f"p99 = max of {cell.samples} samples, no verdict: {FEWEST_FOR_P99} are the fewest"
        judgement = replace(judgement, verdict=Verdict.UNKNOWN, reason=why, more_launches=None)
    if figure.primary and cell.raw_ratio is not None:
        judgement = replace(judgement, warnings=(*judgement.warnings, _pace(cell.raw_ratio)))
    row = ServeRow(
        concurrency=cell.concurrency,
        metric=figure.metric,
        statistic=figure.statistic,
        primary=figure.primary,
        before=cell.before,
        after=cell.after,
        judgement=judgement,
        samples=cell.samples,
        note=cell.note,
        raw_ratio=cell.raw_ratio,
    )
    spoiled = [fault for fault in faults if fault.spoils(row)]
    if spoiled:
        why = "; ".join(f"{fault.code}: {fault.message}" for fault in spoiled[:2])
        more = f"; and {len(spoiled) - 2} more faults" if len(spoiled) > 2 else ""
        invalid = replace(judgement, verdict=Verdict.INVALID, reason=why + more, more_launches=None)
        return replace(row, judgement=invalid)
    return row


def _pace(raw_ratio: float) -> Caveat:
    """Says what the ratio was before the processor's pace was taken out of it."""
    return Caveat(
        "pace",
        f"tok/s follows the pace of this shared processor, which was taken out (with it: {raw_ratio - 1:+.1%})",
        "on a machine of its own there is nothing to take out",
    )


def _control_row(cell: _Cell) -> ServeRow:
    assert cell.control is not None
    comparison = replace(cell.control, primary=False)
    judgement = judge_rows([comparison])[0]
    return ServeRow(
        cell.concurrency,
        cell.figure.metric,
        cell.figure.statistic,
        False,
        median(comparison.before),
        median(comparison.after),
        judgement,
        cell.samples,
        cell.note,
    )


def _with_verdict(split: Decomposition, rows: Sequence[ServeRow]) -> Decomposition:
    """The split with the verdict of its step time's row."""
    if split.step_time is None:
        return split
    return replace(split, verdict=_find(rows, split.concurrency, STEP_TIME).judgement.verdict)


def _skewed(row: ServeRow, rows: Sequence[ServeRow]) -> ServeRow:
    """The row of a mean, with a caveat if the median lies elsewhere."""
    if row.statistic != "mean" or row.metric is ACCEPTANCE.metric:
        return row
    middle = _find(rows, row.concurrency, Figure(row.metric, "median"))
    pairs = ((row.before, middle.before), (row.after, middle.after))
    if not any(mean and middling and abs(mean / middling - 1) > SKEWED for mean, middling in pairs):
        return row
    return replace(row, judgement=replace(row.judgement, warnings=(*row.judgement.warnings, _SKEW)))


def _find(rows: Sequence[ServeRow], concurrency: int | None, figure: Figure) -> ServeRow:
    return next(row for row in rows if (row.concurrency, Figure(row.metric, row.statistic)) == (concurrency, figure))
