"""The rule for sampled metrics: launches in which both sides took turns, one log ratio each, to a verdict.

    improved, regressed   the sign test says so at 5 %, together with the other rows of its family (Holm), and the
                          median ratio passes the metric's floor
    same                  the whole 95 % interval of the median ratio lies inside the floor
    unknown               anything else: with the number of launches that would settle it
    invalid               a figure is missing, not finite or not positive: nothing is judged

The primary rows are one family, the secondary ones another, which may stay unknown. A row that is invalid stays in its
family, so that dropping a row never makes another significant. `same` needs no correction: "all rows are the same" is
wrong only if the one that differs passed its own test. See `stats.median` for why signs, and for the interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from gdnbench.stats.holm import adjust
from gdnbench.stats.median import ALPHA, fewest, interval, sign_test, trend_test
from gdnbench.stats.power import MOST_LAUNCHES, launches_to_settle, smallest_detectable
from gdnbench.values.metrics import Metric
from gdnbench.values.verdicts import Caveat, Judgement, Verdict

_TREND_ALPHA = 0.01


@dataclass(frozen=True, slots=True)
class Comparison:
    """The launches of one row: same length everywhere, in the order in which they ran.

    Attributes:
        metric: a sampled one.
        log_ratios: ln(after / before) of each launch: the median over its pairs of blocks. Kept to 12 decimals: what is
            smaller is rounding, and rounding is no sign of a change.
        before, after: each launch's median, in the metric's unit; for display, and for the floor in that unit.
        primary: whether the question was asked about this row.
        before_first: whether the before side had the first role in that launch; None if unknown.
    """

    metric: Metric
    log_ratios: tuple[float, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    primary: bool = True
    before_first: tuple[bool, ...] | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.log_ratios), len(self.before), len(self.after)}
        if self.before_first is not None:
            lengths.add(len(self.before_first))
        if len(lengths) > 1:
            raise ValueError(f"a comparison needs one figure per launch on either side, not {sorted(lengths)}")
        object.__setattr__(self, "log_ratios", tuple(round(float(ratio), 12) for ratio in self.log_ratios))

    @property
    def launches(self) -> int:
        return len(self.log_ratios)

    @property
    def fault(self) -> str | None:
        """Why nothing can be judged, or None."""
        for name, values in (("before", self.before), ("after", self.after)):
            for launch, value in enumerate(values, start=1):
                if not (math.isfinite(value) and value > 0):
                    return f"launch {launch}: {self.metric.tag} {name} is {value:g} {self.metric.unit}"
        for launch, value in enumerate(self.log_ratios, start=1):
            if not math.isfinite(value):
                return f"launch {launch}: the ratio of {self.metric.tag} is not a number"
        return None

    @property
    def floor(self) -> float:
        """The metric's floor at this row's level, as a log ratio."""
        return self.metric.log_floor(math.sqrt(median(self.before) * median(self.after)))


def judge(comparison: Comparison, control: Comparison | None = None, alpha: float = ALPHA) -> Judgement:
    """One row on its own: `judge_rows` for one."""
    return judge_rows([comparison], control, alpha)[0]


def judge_rows(
    comparisons: Sequence[Comparison],
    control: Comparison | Sequence[Comparison | None] | None = None,
    alpha: float = ALPHA,
) -> list[Judgement]:
    """Rows judged together, in the order given.

    Args:
        comparisons: all rows of one report.
        control: identical code on both sides, measured in the same launches: the noise for `smallest_detectable`; one
            for all rows, or one (or None) for each. Without one, a row's own scatter about its median serves.
        alpha: the error over the rows of a family together.
    """
    rows = len(comparisons)
    controls: list[Comparison | None]
    controls = [control] * rows if control is None or isinstance(control, Comparison) else list(control)
    if len(controls) != rows:
        raise ValueError(f"{rows} rows and {len(controls)} controls")
    judged: dict[int, Judgement] = {}
    for primary in (True, False):
        family = [i for i, comparison in enumerate(comparisons) if comparison.primary is primary]
        p_values = [1.0 if comparisons[i].fault else sign_test(comparisons[i].log_ratios) for i in family]
        for i, p_adjusted in zip(family, adjust(p_values), strict=True):
            judged[i] = _judge_row(comparisons[i], controls[i], p_adjusted, len(family), alpha)
    return [judged[i] for i in range(rows)]


def decide(
    metric: Metric,
    effect: float,
    within: tuple[float, float] | None,
    p_value: float,
    floor: float,
    alpha: float = ALPHA,
) -> Verdict:
    """The rule itself, on log ratios: median, its 95 % interval (None: too few launches), p-value and floor."""
    if p_value <= alpha and abs(effect) > floor:
        return Verdict.IMPROVED if metric.is_better(effect) else Verdict.REGRESSED
    if within is not None and -floor <= within[0] and within[1] <= floor:
        return Verdict.SAME
    return Verdict.UNKNOWN


def _judge_row(
    comparison: Comparison, control: Comparison | None, p_adjusted: float, family: int, alpha: float
) -> Judgement:
    launches = comparison.launches
    if comparison.fault:
        return Judgement(Verdict.INVALID, launches=launches, reason=comparison.fault)
    if launches == 0:
        needed = fewest(alpha / family)
        return Judgement(
            Verdict.UNKNOWN, more_launches=needed, reason=f"no launches; {needed} are the fewest that can say"
        )
    effect, within = median(comparison.log_ratios), interval(comparison.log_ratios)
    verdict = decide(comparison.metric, effect, within, p_adjusted, comparison.floor, alpha)
    detectable = smallest_detectable(_noise(comparison, control), launches, comparison.floor, alpha / family)
    judgement = Judgement(
        verdict,
        ratio=math.exp(effect),
        interval=None if within is None else (math.exp(within[0]), math.exp(within[1])),
        p_value=sign_test(comparison.log_ratios),
        p_adjusted=p_adjusted,
        launches=launches,
        smallest_detectable=math.expm1(detectable) if math.isfinite(detectable) else None,
        warnings=(*_overstated(verdict, effect, detectable), *_caveats(comparison, control, p_adjusted, family, alpha)),
    )
    return _with_plan(judgement, comparison, family, alpha) if verdict is Verdict.UNKNOWN else judgement


def _noise(comparison: Comparison, control: Comparison | None) -> Sequence[float]:
    if control is not None and control.launches > 1 and not control.fault:
        return control.log_ratios
    return _scatter(comparison)


def _scatter(comparison: Comparison) -> list[float]:
    centre = median(comparison.log_ratios)
    return [ratio - centre for ratio in comparison.log_ratios]


def _with_plan(judgement: Judgement, comparison: Comparison, family: int, alpha: float) -> Judgement:
    """The judgement with the launches that would settle it, planned from the row's own effect and scatter."""
    launches, least = comparison.launches, fewest(alpha / family)
    effect, scatter = median(comparison.log_ratios), _scatter(comparison)
    total = launches_to_settle(effect, scatter, comparison.floor, alpha / family) if launches > 2 else None
    if launches < least:
        of = "one row" if family == 1 else f"one of {family} rows"
        reason = f"too few launches: {launches}, and {least} are the fewest that can say for {of}"
        total = total or least
    elif total is None:
        reason = f"the change lies at the floor or drowns in noise: {MOST_LAUNCHES} launches would not settle it"
        return replace(judgement, reason=reason)
    else:
        reason = f"{launches} launches leave it open"
    more = max(total - launches, 1)
    return replace(judgement, more_launches=more, reason=f"{reason}; about {more} more would settle it")


def _overstated(verdict: Verdict, effect: float, detectable: float) -> Iterator[Caveat]:
    """What is found below the size that is found reliably was found because it came out large this time."""
    if verdict in (Verdict.IMPROVED, Verdict.REGRESSED) and abs(effect) < detectable < math.inf:
        yield Caveat(
            "overstated",
            f"found though it is smaller than the {math.expm1(detectable):.1%} that such a campaign finds four times "
            "in five: chance has probably made it look larger than it is",
            "take its size from more launches",
        )


def _caveats(
    comparison: Comparison, control: Comparison | None, p_adjusted: float, family: int, alpha: float
) -> list[Caveat]:
    found: list[Caveat] = []
    if sign_test(comparison.log_ratios) <= alpha < p_adjusted:
        found.append(
            Caveat(
                "family",
                f"alone this row would be significant, among {family} rows it is not",
                f"run {fewest(alpha / family)} launches or more, or ask about fewer rows",
            )
        )
    if control is not None and control.launches and not control.fault:
        alone = sign_test(control.log_ratios)
        between = interval(control.log_ratios)
        verdict = decide(control.metric, median(control.log_ratios), between, alone, control.floor, alpha)
        if verdict in (Verdict.IMPROVED, Verdict.REGRESSED):
            found.append(
                Caveat(
                    "control",
                    f"identical code in the same launches came out {verdict} "
                    f"({math.expm1(median(control.log_ratios)):+.1%})",
                    "free the machine of other work and measure again",
                )
            )
    if comparison.before_first is not None and abs(2 * sum(comparison.before_first) - comparison.launches) > 1:
        found.append(
            Caveat(
                "unbalanced",
                f"order not balanced: before had the first role in {sum(comparison.before_first)} "
                f"of {comparison.launches} launches",
                "swap the roles from launch to launch",
            )
        )
    if trend_test(comparison.log_ratios) <= _TREND_ALPHA:
        found.append(
            Caveat(
                "trend",
                "the ratio drifted from launch to launch, and the interval takes launches for independent",
                "measure again on a machine that is warm and otherwise idle",
            )
        )
    return found
