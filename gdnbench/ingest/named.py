"""Figures by name, before and after: asv's result files, and those of github-action-benchmark.

A benchmark that is gone or newly fails is no detail: it makes the pair invalid, unless it is allowed. Rows are sorted
by the size of their change and counted, all of them are judged together, and none is left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from statistics import median

from gdnbench.ingest.action_json import direction
from gdnbench.ingest.asv import AsvRecord
from gdnbench.stats.exact import judge_counts
from gdnbench.stats.paired import Comparison, judge_rows
from gdnbench.values.errors import UserError
from gdnbench.values.ingested import CheckedPair, CheckedRow, Record
from gdnbench.values.metrics import METRICS, Metric
from gdnbench.values.serving import Fault
from gdnbench.values.verdicts import Caveat, Judgement, Verdict

FLOOR_PERCENT = 1.0
MANY = 10
"""Rows from which on it is odd that all of them moved the same way."""
_BROKEN = frozenset({"failed", "timed out"})
ALIKE = 2.0
"""Times that numbers of samples or repetitions may differ."""


def judge_named(
    group: str, before: Sequence[Record], after: Sequence[Record], allowed: Collection[str] = ()
) -> CheckedPair:
    """One suite, before and after.

    Args:
        allowed: benchmarks that may be missing after.

    Raises:
        UserError: the sides have no benchmark in common.
    """
    names = _names(before), _names(after)
    both = [name for name in names[0] if name in names[1]]
    if not both:
        raise UserError(
            f"nothing compared: {len(names[0])} benchmarks in {before[0].source}, {len(names[1])} in "
            f"{after[0].source}, and none in both"
        )
    faults = list(_faults(before, after, names, allowed))
    rows = _rows(before, after, both)
    rows += [_one_sided(name, before, after) for name in names[0] if name not in names[1]]
    rows += [_one_sided(name, before, after) for name in names[1] if name not in names[0]]
    rows = [_spoiled(row, faults) for row in rows]
    return CheckedPair(
        kind=before[0].kind,
        group=group,
        concurrency=None,
        sources={"before": tuple(one.source for one in before), "after": tuple(one.source for one in after)},
        reasons=tuple(faults),
        rows=tuple(sorted(rows, key=_size, reverse=True)),
        warnings=tuple(_caveats(before, after, names, rows)),
    )


def _names(side: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(name for record in side for name in (*record.metrics, *record.absent)))


def _benchmark(name: str) -> str:
    return name.partition("(")[0]


def _faults(
    before: Sequence[Record],
    after: Sequence[Record],
    names: tuple[list[str], list[str]],
    allowed: Collection[str],
) -> Iterator[Fault]:
    missing = [n for n in names[0] if n not in names[1] and n not in allowed and _benchmark(n) not in allowed]
    if missing:
        says = f"{len(names[0])} vs {len(names[1])}, missing: {_some(missing)}"
        yield Fault("missing", says, None, tuple(missing))
    failing = [
        name
        for name in names[1]
        if any(name in one.metrics for one in before) and any(one.absent.get(name) in _BROKEN for one in after)
    ]
    if failing:
        yield Fault("newly_failing", f"newly failing: {_some(failing)}", None, tuple(failing))
    changed = _other_versions(before[0], after[0])
    if changed:
        spoiled = tuple(name for name in names[0] if _benchmark(name) in changed)
        yield Fault("version", f"the benchmark itself changed: {_some(changed)}", None, spoiled)
    for record in (*before, *after):
        for fault in record.faults:
            yield replace(fault, message=f"{record.source}: {fault.message}")


def _other_versions(before: Record, after: Record) -> list[str]:
    if not isinstance(before, AsvRecord) or not isinstance(after, AsvRecord):
        return []
    return [name for name, own in before.versions.items() if after.versions.get(name, own) != own]


def _rows(before: Sequence[Record], after: Sequence[Record], both: Sequence[str]) -> list[CheckedRow]:
    metrics = {name: _metric(name, before[0], after[0]) for name in both}
    runs = list(zip(before, after, strict=False))
    compared: list[tuple[str, Comparison]] = []
    found: dict[str, CheckedRow] = {}
    for name in both:
        metric = metrics[name]
        values = [(one.metrics.get(name), other.metrics.get(name)) for one, other in runs]
        usable = [
            (a, b) for a, b in values if a is not None and b is not None and 0 < a < math.inf and 0 < b < math.inf
        ]
        if metric is not None and metric.assumption == "exact":
            found[name] = _exact(name, metric, before, after)
        elif metric is not None and len(usable) == len(values):
            ratios = tuple(math.log(b) - math.log(a) for a, b in usable)
            own, theirs = (tuple(pair[side] for pair in usable) for side in (0, 1))
            compared.append((name, Comparison(metric, ratios, own, theirs)))
        else:
            found[name] = _unjudged(name, metric, before, after)
    judgements = judge_rows([comparison for _, comparison in compared])
    for (name, _), judgement in zip(compared, judgements, strict=True):
        told = replace(judgement, reason=judgement.reason.replace("launches", "runs"))
        found[name] = _row(name, metrics[name], before, after, told)
    return [found[name] for name in both]


def _metric(name: str, before: Record, after: Record) -> Metric | None:
    """Which way is better; None where nothing says so. Our own suites' exact counts are known by their names."""
    unit = before.units.get(name, "")
    if before.kind == "asv":
        own = METRICS.get(_benchmark(name).rpartition(".")[2].removeprefix("track_"))
        if own is not None and own.assumption == "exact":
            return own
        return Metric(name, name, unit, "sampled", "lower", floor_percent=FLOOR_PERCENT)
    better = direction(unit, after.facts.get("tool", ""))
    return None if better is None else Metric(name, name, unit, "sampled", better, floor_percent=FLOOR_PERCENT)


def _exact(name: str, metric: Metric, before: Sequence[Record], after: Sequence[Record]) -> CheckedRow:
    own, theirs = before[0].metrics.get(name), after[0].metrics.get(name)
    if own is None or theirs is None or not own.is_integer() or not theirs.is_integer():
        return _unjudged(name, metric, before, after)
    judgement = judge_counts({metric.tag: int(own)}, {metric.tag: int(theirs)}, [metric])
    return _row(name, metric, before, after, judgement)


def _row(
    name: str,
    metric: Metric | None,
    before: Sequence[Record],
    after: Sequence[Record],
    judgement: Judgement,
    note: str = "",
) -> CheckedRow:
    values = [[one.metrics[name] for one in side if name in one.metrics] for side in (before, after)]
    own, theirs = (median(found) if found else None for found in values)
    unit = before[0].units.get(name) or after[0].units.get(name, "")
    if len(values[0]) > 1 and len(values[1]) > 1 and judgement.verdict is Verdict.UNKNOWN:
        note = f"within noise: {_spread(values[0])} before, {_spread(values[1])} after"
    return CheckedRow(name, metric, unit, True, own, theirs, judgement, note)


def _spread(values: Sequence[float]) -> str:
    return f"{min(values):g} to {max(values):g}"


def _unjudged(name: str, metric: Metric | None, before: Sequence[Record], after: Sequence[Record]) -> CheckedRow:
    states = [next((one.absent[name] for one in side if name in one.absent), "") for side in (before, after)]
    measured = [any(name in one.metrics for one in side) for side in (before, after)]
    timed_out = " (timed out)" if "timed out" in states else ""
    if states[0] in _BROKEN and states[1] in _BROKEN:
        why = f"failing on both sides{timed_out}"
    elif "skipped" in states:
        why = "skipped"
    elif states[0] in _BROKEN and measured[1]:
        why = f"fixed: it failed before{timed_out}"
    elif states[1] in _BROKEN:
        why = f"newly failing{timed_out}"
    elif metric is None:
        why = "nothing says which way is better: neither a tool nor a unit of time or of a rate"
    else:
        why = "a figure is zero, negative or not finite: no ratio"
    row = _row(name, metric, before, after, Judgement(Verdict.UNKNOWN, reason=why), why)
    return replace(row, primary=False)


def _one_sided(name: str, before: Sequence[Record], after: Sequence[Record]) -> CheckedRow:
    on_before = any(name in one.metrics or name in one.absent for one in before)
    why = "missing after" if on_before else "new after"
    return replace(_row(name, None, before, after, Judgement(Verdict.UNKNOWN, reason=why), why), primary=False)


def _spoiled(row: CheckedRow, faults: Sequence[Fault]) -> CheckedRow:
    own = next((fault for fault in faults if not fault.metrics or row.name in fault.metrics), None)
    if own is None:
        return row
    invalid = replace(row.judgement, verdict=Verdict.INVALID, reason=f"{own.code}: {own.message}", more_launches=None)
    return replace(row, judgement=invalid)


def _caveats(
    before: Sequence[Record],
    after: Sequence[Record],
    names: tuple[list[str], list[str]],
    rows: Sequence[CheckedRow],
) -> Iterator[Caveat]:
    moved: list[bool] = []
    for row in rows:
        if row.metric is not None and row.before and row.after and abs(math.log(row.after / row.before)) > 0.01:
            moved.append(row.metric.is_better(row.after - row.before))
    counted = sum(row.before is not None and row.after is not None for row in rows)
    says = (
        f"{counted} compared, {moved.count(False)} worse, {moved.count(True)} better by more than {FLOOR_PERCENT:g} %"
    )
    yield Caveat("totals", says, "one run a side does not tell them from chance; repeat both sides")
    if len(moved) >= MANY and len(set(moved)) == 1:
        way = "better" if moved[0] else "worse"
        yield Caveat("systematic", f"all {len(moved)} changes are for the {way}: systematic bias?", "run ABBA")
    new = [name for name in names[1] if name not in names[0]]
    if new:
        yield Caveat("new", f"new after: {_some(new)}", "nothing: there is nothing to compare them with")
    one, other = before[0], after[0]
    if isinstance(one, AsvRecord) and isinstance(other, AsvRecord):
        uneven = [name for name, own in one.timing.items() if _uneven(own, other.timing.get(name, own))]
        if uneven:
            says = f"other numbers of samples or repetitions on the two sides: {_some(uneven)}"
            yield Caveat("timing", says, "run both sides with the same settings")
    for key in one.facts:
        if key in ("machine", "cpu", "os", "python", "ram") and one.facts[key] != other.facts.get(key, one.facts[key]):
            says = f"{key}: {one.facts[key]} before, {other.facts[key]} after"
            yield Caveat("unlike", says, "compare results of one machine")


def _uneven(own: tuple[float | None, float | None], theirs: tuple[float | None, float | None]) -> bool:
    return any(a and b and max(a / b, b / a) > ALIKE for a, b in zip(own, theirs, strict=True))


def _some(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _size(row: CheckedRow) -> float:
    """How far a row lies from no change; what is invalid stands first, what has no ratio last."""
    if row.judgement.verdict is Verdict.INVALID:
        return math.inf
    if not row.before or not row.after or row.before < 0 or row.after < 0:
        return -1.0
    return abs(math.log(row.after / row.before))
