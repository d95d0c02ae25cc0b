"""Evidence in the layout in which authors paste it into a pull request: profiling, benchmark, lm-eval.

Figures are of all launches together. The blocks look like those of `vllm bench serve`, since that is what reviewers
read first; the line above them says how sure they are, since a block cannot.
"""

from __future__ import annotations

from collections.abc import Iterator

from gdnbench.report import accuracy_words
from gdnbench.report import serving_words as words
from gdnbench.report.evidence import Evidence, headline
from gdnbench.report.markdown import cell
from gdnbench.report.numbers import STEP_FIGURES, change, interval
from gdnbench.values.accuracy import AccuracyResult
from gdnbench.values.metrics import ITL, OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT, TOTAL_THROUGHPUT, TPOT, TTFT, Metric
from gdnbench.values.serving import ServeResult

WIDTH = 50
RATES = (
    (REQUEST_THROUGHPUT, "Request throughput (req/s):"),
    (OUTPUT_THROUGHPUT, "Output token throughput (tok/s):"),
    (TOTAL_THROUGHPUT, "Total token throughput (tok/s):"),
)
LATENCIES: tuple[tuple[Metric, str, str], ...] = (
    (TTFT, "TTFT", "Time to First Token"),
    (TPOT, "TPOT", "Time per Output Token (excl. 1st token)"),
    (ITL, "ITL", "Inter-token Latency"),
)


def paste(evidence: Evidence) -> str:
    """The whole description."""
    lines = [cell(headline(evidence)), "", *_profiling(evidence)]
    if evidence.server is not None:
        lines += _benchmark(evidence.server)
    if evidence.accuracy is not None:
        lines += _accuracy(evidence.accuracy)
    lines += ["", f"Measured by gdnbench: `gdnbench evidence {evidence.change.number}`."]
    return "\n".join(lines) + "\n"


def _profiling(evidence: Evidence) -> Iterator[str]:
    yield "## Profiling"
    yield ""
    yield "| step | us per build, before | after | change | 95 % interval | operations of the device |"
    yield "|---|---:|---:|---:|---|---|"
    costs = {
        row.scenario: (before.counts["device_ops"], row.counts["device_ops"])
        for result in evidence.costs.values()
        for before, row in zip(result.rows[::2], result.rows[1::2], strict=True)
    }
    for row in () if evidence.step is None else evidence.step.rows:
        own = row.judgement
        counts = " -> ".join(map(str, costs[row.scenario])) if row.scenario in costs else "n/a"
        times = " | ".join("n/a" if value is None else f"{value:.1f}" for value in (row.before, row.after))
        yield f"| {cell(row.scenario)} | {times} | {change(own.ratio)} | {interval(own.interval)} | {counts} |"
    if evidence.step is not None:
        yield ""
        yield f"{STEP_FIGURES.capitalize()}."


def _benchmark(result: ServeResult) -> Iterator[str]:
    yield ""
    yield "## Benchmark"
    yield ""
    yield cell(f"{words.setting(result.identity)}; {words.load(result.identity)}; {words.CHANGE}")
    for row in result.primary:
        own = row.judgement
        yield ""
        yield (
            f"### Concurrency {row.concurrency}: tok/s {change(own.ratio)} ({interval(own.interval)}), "
            f"{own.verdict.value}, {own.launches} launches"
        )
        for side in ("before", "after"):
            yield ""
            yield f"{side.capitalize()}: {cell(result.identity.sides[side])}"
            yield "```"
            yield from _block(result, row.concurrency, side)
            yield "```"


def _block(result: ServeResult, concurrency: int, side: str) -> Iterator[str]:
    yield f"{' Serving Benchmark Result ':=^{WIDTH}}"
    yield _line("Maximum request concurrency:", str(concurrency))
    for metric, label in RATES:
        yield _line(label, _figure(getattr(result.row(concurrency, metric), side)))
    for metric, short, title in LATENCIES:
        yield f"{title:-^{WIDTH}}"
        for statistic, name in (("mean", "Mean"), ("median", "Median"), ("p99", "P99")):
            row = result.row(concurrency, metric, statistic)  # type: ignore[arg-type]
            yield _line(f"{name} {short} (ms):", _figure(getattr(row, side)))
    yield "=" * WIDTH


def _line(label: str, value: str) -> str:
    return f"{label:<40} {value:<9}".rstrip()


def _figure(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"


def _accuracy(result: AccuracyResult) -> Iterator[str]:
    yield ""
    yield "## lm-eval"
    yield ""
    yield cell(accuracy_words.headline(result))
    for side in ("before", "after"):
        yield ""
        yield f"{side.capitalize()}:"
        yield ""
        yield "| Tasks | Filter | n-shot | Metric | Value | | Stderr |"
        yield "|---|---|---:|---|---:|---|---:|"
        for row in result.rows:
            value, _, stderr = accuracy_words.printed(getattr(row, side)).partition(" ± ")
            shots = result.identity.get("n_shot", "n/a")
            cells = (cell(result.task), cell(row.filter), shots, cell(row.metric), value, "±", stderr)
            yield f"| {' | '.join(map(str, cells))} |"
