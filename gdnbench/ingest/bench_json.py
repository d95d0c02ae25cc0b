"""A result file of `vllm bench serve`, of any era, or a line of SGLang's, as a record.

Source: the keys that vLLM's benchmark wrote from 2024 (`benchmark_serving.py`) to 0.32.0, and SGLang's `bench_serving`.
`--save-detailed` adds lists with one entry a request; they are looked at for what totals hide, and not kept.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gdnbench.ingest.cold import slow_start
from gdnbench.ingest.lines import short
from gdnbench.ingest.loaded import as_float, is_number
from gdnbench.ingest.names import is_count, key_of
from gdnbench.values.errors import UserError
from gdnbench.values.ingested import Record
from gdnbench.values.serving import Fault
from gdnbench.values.verdicts import Caveat

_DETAILS = frozenset(
    {"input_lens", "output_lens", "ttfts", "itls", "latencies", "queue_times", "start_times", "generated_texts"}
    | {"errors", "steady_state_intervals", "rps_change_events"}
)
_PLAIN = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?")


def is_bench(document: Any) -> bool:
    """Whether a JSON document is a result of a serving benchmark."""
    if not isinstance(document, dict):
        return False
    keys = {key_of(str(key)) for key in document}
    return "completed" in keys and bool(keys & {"duration", "request_throughput", "output_throughput"})


def read_result(document: Mapping[str, Any], source: str, labels: tuple[str, ...] = ()) -> Record:
    """The record of one result.

    Raises:
        UserError: two keys that mean the same have different values.
    """
    metrics: dict[str, float] = {}
    facts: dict[str, str] = {}
    unread: list[str] = []
    for key, value in document.items():
        name = key_of(str(key))
        if value is None or key in _DETAILS:
            continue
        if name is None or name == "request_rate":
            if isinstance(value, str | int | float):
                facts[short(str(key))] = short(str(value), 120)
            continue
        figure = _figure(value)
        if figure is None or (is_count(name) and math.isfinite(figure) and not figure.is_integer()):
            unread.append(f"{short(str(key))}: {short(str(value), 30)}")
        elif name in metrics and metrics[name] != figure:
            raise UserError(f"{source}: {name} stands there twice, as {metrics[name]:g} and {figure:g}")
        else:
            metrics[name] = figure
    warnings = (
        [Caveat("unread", f"not read: {'; '.join(unread[:5])}", "these should be plain numbers")] if unread else []
    )
    limit = metrics.get("max_concurrency")
    named = [short(str(document["label"]), 120)] if document.get("label") else []
    return Record(
        source=source,
        kind="serving",
        form="a result file of SGLang's bench_serving" if "accept_length" in document else "a vllm bench serve result",
        metrics=metrics,
        labels=(*named, *labels),
        concurrency=int(limit) if limit is not None and math.isfinite(limit) else None,
        facts=facts,
        faults=tuple(_faults(document)),
        warnings=(*warnings, *_warnings(document)),
    )


def _figure(value: Any) -> float | None:
    if is_number(value):
        return as_float(value)
    return float(value) if isinstance(value, str) and _PLAIN.fullmatch(value) else None


def _faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """What the list of requests says against the totals."""
    lengths, errors = _numbers(document.get("output_lens")), document.get("errors")
    failed = [bool(error) for error in errors] if isinstance(errors, list) else []
    succeeded = [
        length for place, length in enumerate(lengths) if not (failed[place] if place < len(failed) else False)
    ]
    empty = sum(length == 0 for length in succeeded)
    failures = _figure(document.get("failed")) or 0.0
    if not failed and 0 < failures < len(lengths):
        empty -= min(empty, round(failures))
    if empty > 0:
        yield Fault("empty", f"{empty} of {len(succeeded)} requests succeeded without a token")


def _warnings(document: Mapping[str, Any]) -> Iterator[Caveat]:
    lengths, gaps = _numbers(document.get("output_lens")), document.get("itls")
    if isinstance(gaps, list) and len(gaps) == len(lengths):
        leaked = sum(
            isinstance(own, list) and len(own) >= length > 0 for own, length in zip(gaps, lengths, strict=True)
        )
        if leaked:
            says = (
                f"{leaked} requests have as many gaps between chunks as tokens: the time to the first token is in ITL"
            )
            yield Caveat("ttft_in_itl", says, "do not read ITL")
    single = sum(length == 1 for length in lengths)
    if 0 < single < len(lengths):
        says = f"{single} of {len(lengths)} requests have one token, and no TPOT or ITL"
        yield Caveat("one-token", says, "mind that a goodput with a limit on TPOT counts them as met")
    if slow := slow_start(_numbers(document.get("ttfts"))):
        count, times = slow
        says = (
            f"the first {f'{count} requests' if count > 1 else 'request'} waited {times:.1f} times as long as the rest"
        )
        advice = "read the medians, and measure after a pass over the same prompts that is thrown away"
        yield Caveat("slow_start", f"{says} for the first token", advice)


def _numbers(values: Any) -> list[float]:
    if not isinstance(values, list) or not all(is_number(value) for value in values):
        return []
    return [as_float(value) for value in values]
