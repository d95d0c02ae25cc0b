"""Checked pairs in sentences: the headline, the split, what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from gdnbench.ingest.lines import short
from gdnbench.report.numbers import change, percent
from gdnbench.values.ingested import CheckedPair, CheckedRow, CheckResult
from gdnbench.values.serving import Decomposition
from gdnbench.values.verdicts import Verdict

SMALL = 0.01
SPLIT = "tok/s = acceptance / step time x rest; a builder change may claim the step time alone"
DEFINITIONS = (
    "TTFT: from request to first token. TPOT: of each request, the rest of its time by its further tokens. ITL: "
    "between any two streamed chunks, of all requests together; neither is the other, nor one over tok/s"
)


def headlines(result: CheckResult) -> list[str]:
    """One sentence for each pair; without pairs, what the records are good for."""
    if result.pairs:
        return [headline(pair) for pair in result.pairs]
    bad = [record for record in result.records if record.faults]
    if bad:
        return [f"invalid: {short(bad[0].source, 120)}: {bad[0].faults[0].message}"]
    several = len(result.records) > 1
    return [f"no pair: {len(result.records)} result{'s' if several else ''} read, and nothing to compare them with"]


def headline(pair: CheckedPair) -> str:
    """The verdict, where, on what, and why it is no other."""
    start = f"{pair.verdict.value}{where(pair)}"
    primary = next((row for row in pair.rows if row.primary), None)
    if primary is None:
        return f"{start}: {_why(pair, None)}"
    told = f"{title(primary)} {_change(primary)}"
    if pair.kind in ("asv", "benchmark"):
        told = _count(pair.rows)
    elif pair.decomposition is not None and (parts := _parts(pair, pair.decomposition)):
        told = f"{told} ({parts})"
    why = _why(pair, primary)
    return f"{start}: {told}; {why}" if why else f"{start}: {told}"


def where(pair: CheckedPair) -> str:
    """At which concurrency, on which task or suite."""
    if pair.kind == "serving":
        return "" if pair.concurrency is None else f" at concurrency {pair.concurrency}"
    return f" on {short(pair.group)}"


def split(found: Decomposition, acceptance: str) -> str:
    """The factors of a throughput ratio, one sentence."""
    told = [f"throughput {percent(found.throughput.ratio)}"]
    told.append("step time unknown" if found.step_time is None else f"step time {percent(found.step_time.ratio)}")
    told.append("acceptance unknown" if found.acceptance is None else f"acceptance {_drift(found.acceptance.ratio)}")
    if found.rest is not None:
        told.append(f"rest {percent(found.rest)}")
    return f"{', '.join(told)} ({acceptance})"


def advice(result: CheckResult) -> str:
    """What to do next."""
    pairs = result.pairs
    if not pairs:
        sided = any(record.side is not None for record in result.records)
        asks = [caveat.advice for caveat in result.warnings if caveat.code == "no-side"]
        return (
            asks[0] if asks else "give the other side as well" if sided else "give a second result to compare it with"
        )
    invalid = next((pair for pair in pairs if pair.reasons), None)
    if invalid is not None:
        if invalid.reasons[0].code == "acceptance":
            return "read the step time; repeat both sides, so that what acceptance does by chance averages out"
        return "see the reasons, and give results of one setting and one workload"
    if any(pair.kind == "accuracy" and pair.verdict is Verdict.REGRESSED for pair in pairs):
        return "look at the lost answers, which folders with samples list: gdnbench accuracy --from DIR_A DIR_B"
    more = [row.judgement.more_launches or 0 for pair in pairs for row in pair.rows if row.primary]
    if any(pair.verdict is Verdict.UNKNOWN for pair in pairs) and max(more, default=0):
        return (
            f"run each side {max(more)} more times, in turns (before, after, after, before), and give all files; or "
            "measure both sides in one server: gdnbench serve"
        )
    if any(pair.kind == "accuracy" and pair.verdict is Verdict.UNKNOWN for pair in pairs):
        return "give folders with samples, so that answers are paired: gdnbench accuracy --from DIR_A DIR_B"
    return "see what the step asks of the device: gdnbench cost"


def moved(ratio: float | None) -> str:
    """A change as others state it: a small one keeps two decimals, as in a published +0.35 %."""
    if ratio is None or ratio == 1 or abs(ratio - 1) >= SMALL:
        return change(ratio)
    return f"{(ratio - 1) * 100:+.2f} %"


def title(row: CheckedRow) -> str:
    """A row's name as a person says it."""
    return _TITLES.get(row.name, short(row.name, 80))


_TITLES = {
    "output_throughput": "output throughput",
    "total_token_throughput": "total throughput",
    "request_throughput": "request throughput",
}


def _parts(pair: CheckedPair, found: Decomposition) -> str:
    told = []
    if found.step_time is not None:
        told.append(f"step time {percent(found.step_time.ratio)}")
    if first := next((row for row in pair.rows if row.name == "mean_ttft_ms" and row.judgement.ratio), None):
        told.append(f"TTFT {_change(first)}")
    if found.step_time is not None:
        told.append(
            "acceptance unknown" if found.acceptance is None else f"acceptance {_drift(found.acceptance.ratio)}"
        )
    return ", ".join(told)


def _drift(ratio: float) -> str:
    return "unchanged" if abs(ratio - 1) <= 0.01 else percent(ratio)


def _change(row: CheckedRow) -> str:
    before, after = row.before, row.after
    if before is None or after is None:
        return "is known on one side only"
    if row.unit == "" and row.metric is not None and row.metric.floor:
        return f"{before:.4f} -> {after:.4f} ({(after - before) * 100:+.1f} points)"
    return f"{before:g} -> {after:g}" if row.ratio is None else moved(row.ratio)


def _why(pair: CheckedPair, primary: CheckedRow | None) -> str:
    if pair.reasons:
        more = f"; and {len(pair.reasons) - 1} more" if len(pair.reasons) > 1 else ""
        split = pair.decomposition
        if pair.reasons[0].code == "acceptance" and split is not None and split.step_time is not None:
            slower = split.step_time.ratio - 1
            way = "slower" if slower > 0 else "faster"
            return f"the change is acceptance's, and each step is {abs(slower):.1%} {way}{more}".replace("%", " %")
        return f"{pair.reasons[0].message}{more}"
    return "" if primary is None else primary.judgement.reason


def _count(rows: Sequence[CheckedRow]) -> str:
    found = [row.judgement.verdict for row in rows if row.primary]
    counts = [f"{found.count(verdict)} {verdict.value}" for verdict in Verdict if verdict in found]
    return f"{len(found)} compared: {', '.join(counts)}"
