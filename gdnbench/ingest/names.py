"""What labels mean: those of `vllm bench serve` of every era and of SGLang's dialect, and what people write in tables.

Source: the labels that vLLM's benchmark printed from 2024 to 2026 and SGLang's `bench_serving` prints; the names on the
right are the keys of `vllm bench serve`'s result JSON. Letter case and spaces do not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gdnbench.values.metrics import (
    ACCEPTANCE_LENGTH,
    LATENCIES,
    OUTPUT_THROUGHPUT,
    REQUEST_THROUGHPUT,
    TOTAL_THROUGHPUT,
    Metric,
)

COUNTS = {
    "completed": ("successful requests", "completed requests", "completed"),
    "failed": ("failed requests", "failed"),
    "num_prompts": ("num prompts", "number of prompts"),
    "max_concurrency": (
        "maximum request concurrency",
        "max request concurrency",
        "max reqeuest concurrency",  # as SGLang printed it for a while
        "max concurrency",
        "maximum concurrency",
    ),
    "total_input_tokens": ("total input tokens", "input tokens"),
    "total_output_tokens": ("total generated tokens", "total output tokens", "generated tokens", "output tokens"),
    "total_output_tokens_retokenized": ("total generated tokens (retokenized)",),
    "total_input_text_tokens": ("total input text tokens",),
    "total_input_vision_tokens": ("total input vision tokens",),
    "spec_decode_num_drafts": ("drafts", "num drafts", "number of drafts"),
    "spec_decode_draft_tokens": ("draft tokens",),
    "spec_decode_accepted_tokens": ("accepted tokens",),
}
"""By key, the labels of whole numbers."""

FIGURES = {
    "duration": ("benchmark duration", "duration", "total time"),
    "request_rate": ("request rate configured", "traffic request rate", "request rate"),
    "request_throughput": ("request throughput", "requests per second", "req/s"),
    "request_goodput": ("request goodput", "goodput"),
    "input_throughput": ("input token throughput", "input throughput"),
    "output_throughput": (
        "output token throughput",
        "output throughput",
        "output tokens per second",
        "output tok/s",
        "output tokens/s",
        "generation throughput",
        "output tps",
    ),
    "max_output_tokens_per_s": ("peak output token throughput", "peak output throughput"),
    "max_concurrent_requests": ("peak concurrent requests",),
    "total_token_throughput": ("total token throughput", "total throughput", "total tok/s"),
    "concurrency": ("concurrency",),
    "spec_decode_acceptance_length": ("acceptance length", "mean acceptance length", "accept length"),
    "spec_decode_acceptance_rate": ("acceptance rate",),
    "rtfx": ("rtfx (inverse real-time factor)", "rtfx"),
}
"""By key, the labels of all other figures."""

LATENCY_NAMES = {
    "ttft": ("ttft", "time to first token"),
    "tpot": ("tpot", "time per output token (excl. 1st token)", "time per output token", "tpot (excl. 1st token)"),
    "itl": ("itl", "inter-token latency", "inter token latency"),
    "e2el": ("e2el", "e2e latency", "e2e", "end-to-end latency", "end to end latency", "request latency"),
}

_OLD_KEYS = {
    "request_inthroughput": "request_throughput",
    "total_input": "total_input_tokens",
    "total_output": "total_output_tokens",
    "accept_length": "spec_decode_acceptance_length",
    "request_success_count": "completed",
}
"""Keys of result files of other eras and of SGLang."""

_SCALES = {
    "ms": {"ms": 1.0, "msec": 1.0, "s": 1e3, "sec": 1e3, "us": 1e-3, "µs": 1e-3, "μs": 1e-3},
    "s": {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3},
    "tok/s": {"tok/s": 1.0, "tokens/s": 1.0, "token/s": 1.0, "tokens/sec": 1.0, "t/s": 1.0, "tps": 1.0, "toks/s": 1.0},
    "req/s": {"req/s": 1.0, "requests/s": 1.0, "reqs/s": 1.0, "rps": 1.0, "requests/sec": 1.0},
    "%": {"%": 1.0},
    "": {"tokens": 1.0, "requests": 1.0, "x": 1.0, "count": 1.0},
}
"""By base unit, what others are in it."""

UNITS = {
    "duration": "s",
    "request_rate": "req/s",
    "request_throughput": "req/s",
    "request_goodput": "req/s",
    "input_throughput": "tok/s",
    "output_throughput": "tok/s",
    "max_output_tokens_per_s": "tok/s",
    "total_token_throughput": "tok/s",
    "spec_decode_acceptance_rate": "%",
}

_BY_LABEL = {label: key for table in (COUNTS, FIGURES) for key, labels in table.items() for label in labels}
_BY_LATENCY = {label: tag for tag, labels in LATENCY_NAMES.items() for label in labels}
_STATISTICS = {"average": "mean", "avg": "mean", "p50": "median", "p50.0": "median", "stdev": "std", "stddev": "std"}
_STATISTIC = r"mean|average|avg|median|std|stdev|stddev|min|max|p[0-9]{1,2}(?:\.[0-9]{1,3})?"
_FIRST = re.compile(rf"(?P<statistic>{_STATISTIC})[ _](?P<latency>.+)")
_LAST = re.compile(rf"(?P<latency>.+?)[ _,]\(?(?P<statistic>{_STATISTIC})\)?")
_KEY = re.compile(rf"(?P<statistic>{_STATISTIC})_(?P<latency>ttft|tpot|itl|e2el|e2e_latency)_ms")
_POSITION = re.compile(r"position ([0-9]{1,3})")
_UNIT = re.compile(r"^(?P<base>.+?)\s*(?:[(\[]\s*(?P<unit>[^()\[\]]{1,12})\s*[)\]]|,\s*(?P<plain>[^,()\s]{1,12}))$")
_ALL_UNITS = {unit for scale in _SCALES.values() for unit in scale}

STRONG = re.compile(
    r"throughput|ttft|tpot|\bitl\b|e2el?\b|requests|total (?:input|generated)|benchmark duration|accept"
)
"""Labels that nothing else than a benchmark prints; the others (duration, drafts) need such neighbours."""


@dataclass(frozen=True, slots=True)
class Name:
    """What a label means.

    Attributes:
        key: in the result JSON.
        whole: it is a count.
        unit: its base unit.
        stated: the unit that the label states; empty where it states none.
    """

    key: str
    whole: bool = False
    unit: str = ""
    stated: str = ""

    def scale(self, beside: str = "") -> float | None:
        """Factor from the unit of label and value to the base unit; None where units are unknown or disagree.

        Args:
            beside: the unit that stands behind the value.
        """
        units = {unit for unit in (self.stated.lower(), beside.lower()) if unit}
        if not units:
            return 1.0
        scales = {_SCALES[self.unit].get(unit) for unit in units}
        return scales.pop() if len(scales) == 1 else None


def name_of(label: str) -> Name | None:
    """What a label means; None where it is none that is known."""
    text = " ".join(re.sub(r"[*`_]{2,}|[*`]", "", label).split()).strip(" :").lower()
    if found := _find(text, ""):
        return found
    match = _UNIT.match(text)
    if match is None:
        return None
    unit = match["unit"] or match["plain"]
    return _find(match["base"], unit) if unit in _ALL_UNITS else None


def key_of(key: str) -> str | None:
    """The key of today for a key of a result JSON of any era; None where it is no figure."""
    if match := _KEY.fullmatch(key):
        return _latency(match)
    key = _OLD_KEYS.get(key, key)
    return key if key in COUNTS or key in FIGURES else None


def is_count(key: str) -> bool:
    """Whether a key stands for a whole number."""
    return key in COUNTS


def metric_of(key: str) -> Metric | None:
    """What a change of a figure means; None for figures that nobody compares, such as counts and peaks."""
    for metric in (OUTPUT_THROUGHPUT, TOTAL_THROUGHPUT, REQUEST_THROUGHPUT):
        if key == metric.tag:
            return metric
    if key == "spec_decode_acceptance_length":
        return ACCEPTANCE_LENGTH
    statistic, _, rest = key.partition("_")
    if statistic in ("std", "min", "max"):
        return None
    return next((metric for metric in LATENCIES if rest == f"{metric.tag}_ms"), None)


def _find(base: str, unit: str) -> Name | None:
    if key := _BY_LABEL.get(base):
        return Name(key, key in COUNTS, UNITS.get(key, ""), unit)
    if match := _POSITION.fullmatch(base):
        return Name(f"position_{match[1]}_acceptance_rate", False, "%", unit or "%")
    if match := _KEY.fullmatch(base):
        return Name(_latency(match), False, "ms", unit)
    if (key := _OLD_KEYS.get(base, base)) in COUNTS or key in FIGURES:
        return Name(key, key in COUNTS, UNITS.get(key, ""), unit)
    for form in (_FIRST, _LAST):
        match = form.fullmatch(base)
        if match and match["latency"].strip() in _BY_LATENCY:
            return Name(_latency(match), False, "ms", unit)
    return None


def _latency(match: re.Match[str]) -> str:
    statistic = _STATISTICS.get(match["statistic"], match["statistic"])
    latency = match["latency"].strip().replace("e2e_latency", "e2el")
    return f"{statistic}_{_BY_LATENCY.get(latency, latency)}_ms"
