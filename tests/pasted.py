"""Blocks as people paste them: the published ones, and the same figures in the layout of every era."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from gdnbench.ingest.check import Question, check
from gdnbench.values.claims import parse_claim
from gdnbench.values.ingested import CheckResult

TAGS = {
    "ttft": ("Time to First Token", "TTFT"),
    "tpot": ("Time per Output Token (excl. 1st token)", "TPOT"),
    "itl": ("Inter-token Latency", "ITL"),
}


def figures(
    counts: tuple[int, int, int, int],
    duration: float,
    rates: tuple[float, float, float],
    peaks: tuple[float, float],
    latencies: Sequence[tuple[float, float, float]],
) -> dict[str, float]:
    """The figures of a block, by the names of the result JSON.

    Args:
        counts: concurrency, requests, tokens in, tokens out.
        rates: requests, output tokens and all tokens per second.
        peaks: output tokens per second, requests in flight.
        latencies: mean, median and p99 of TTFT, TPOT and ITL.
    """
    found: dict[str, float] = {
        "completed": counts[1],
        "failed": 0,
        "max_concurrency": counts[0],
        "duration": duration,
        "total_input_tokens": counts[2],
        "total_output_tokens": counts[3],
        "request_throughput": rates[0],
        "output_throughput": rates[1],
        "max_output_tokens_per_s": peaks[0],
        "max_concurrent_requests": peaks[1],
        "total_token_throughput": rates[2],
    }
    for tag, values in zip(TAGS, latencies, strict=True):
        found |= {f"{name}_{tag}_ms": value for name, value in zip(("mean", "median", "p99"), values, strict=True)}
    return found


ALONE = (1, 60, 16_410, 18_000)
CROWDED = (16, 960, 227_546, 288_000)
SLOW_ALONE = figures(
    ALONE,
    91.14,
    (0.66, 197.50, 377.56),
    (64, 2),
    [(137.76, 134.03, 739.05), (4.62, 4.36, 15.52), (15.80, 15.82, 16.41)],
)
FAST_ALONE = figures(
    ALONE, 84.28, (0.71, 213.58, 408.29), (63, 3), [(112.45, 130.62, 138.45), (4.32, 4.42, 5.97), (16.06, 16.05, 16.51)]
)
BEFORE = figures(
    CROWDED,
    206.67,
    (4.65, 1393.52, 2494.53),
    (585, 25),
    [(209.36, 193.29, 414.69), (10.76, 10.80, 17.09), (38.40, 22.08, 156.83)],
)
AFTER = figures(
    CROWDED,
    184.12,
    (5.21, 1564.18, 2800.03),
    (621, 25),
    [(179.13, 168.03, 363.03), (9.62, 9.61, 15.26), (34.32, 21.51, 139.09)],
)

LABELS = {
    "completed": "Successful requests:",
    "failed": "Failed requests:",
    "max_concurrency": "Maximum request concurrency:",
    "duration": "Benchmark duration (s):",
    "total_input_tokens": "Total input tokens:",
    "total_output_tokens": "Total generated tokens:",
    "request_throughput": "Request throughput (req/s):",
    "output_throughput": "Output token throughput (tok/s):",
    "max_output_tokens_per_s": "Peak output token throughput (tok/s):",
    "max_concurrent_requests": "Peak concurrent requests:",
    "total_token_throughput": "Total token throughput (tok/s):",
    "spec_decode_acceptance_rate": "Acceptance rate (%):",
    "spec_decode_acceptance_length": "Acceptance length:",
    "spec_decode_num_drafts": "Drafts:",
    "spec_decode_draft_tokens": "Draft tokens:",
    "spec_decode_accepted_tokens": "Accepted tokens:",
}
WHOLE = {
    "completed", "failed", "max_concurrency", "total_input_tokens", "total_output_tokens", "spec_decode_num_drafts",
    "spec_decode_draft_tokens", "spec_decode_accepted_tokens",
}  # fmt: skip


def written(name: str, value: float) -> str:
    """A figure as vLLM prints it."""
    return str(int(value)) if name in WHOLE else f"{value:.2f}"


def block(found: Mapping[str, float], labels: Mapping[str, str] = LABELS, write: Any = written) -> str:
    """A block of vLLM's benchmark.

    Args:
        labels: other labels, or fewer.
        write: how a figure is written, by name and value.
    """
    lines = [" Serving Benchmark Result ".center(50, "=")]
    drafts = [name for name in labels if name.startswith("spec_decode") and name in found]
    lines += [f"{labels[n]:<40} {write(n, found[n]):<10}" for n in labels if n in found and n not in drafts]
    for tag, (title, short) in TAGS.items():
        names = [(word, f"{word.lower()}_{tag}_ms") for word in ("Mean", "Median", "P99")]
        lines.append(title.center(50, "-"))
        lines += [f"{f'{word} {short} (ms):':<40} {write(n, found[n]):<10}" for word, n in names if n in found]
    if drafts:
        lines.append("Speculative Decoding".center(50, "-"))
        lines += [f"{labels[name]:<40} {write(name, found[name]):<10}" for name in drafts]
    return "\n".join([*lines, "=" * 50]) + "\n"


def result_file(found: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A result JSON of vLLM's benchmark of today."""
    start = {
        "date": "20260812-101112",
        "endpoint_type": "vllm",
        "backend": "vllm",
        "label": None,
        "model_id": "Qwen/Qwen3.6-35B-A3B",
        "tokenizer_id": "Qwen/Qwen3.6-35B-A3B",
        "num_prompts": found.get("completed"),
        "request_rate": "inf",
        "burstiness": 1.0,
    }
    return {**start, **found, **more}


def asked(text: str | Sequence[Any], *claims: str, **options: Any) -> CheckResult:
    """`gdnbench check -` on a paste, or on JSON documents, one a line."""
    paste = text if isinstance(text, str) else "\n".join(json.dumps(one) for one in text)
    question = Question(("-",), claims=tuple(parse_claim(claim) for claim in claims), **options)
    return check(question, io.BytesIO(paste.encode()))


def codes(caveats: Sequence[Any]) -> list[str]:
    return [one.code for one in caveats]
