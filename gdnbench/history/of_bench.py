"""A finished `vllm bench serve` result as a run.

Source: the JSON that `vllm bench serve --save-result` writes, of vLLM 0.9 to 0.32. It names neither seed nor data set
nor the machine, so these are not known; a series goes on where model, requests and tokens are the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gdnbench.history.of_serve import model_name
from gdnbench.history.pointing import one_line
from gdnbench.ingest.bench_json import read_result
from gdnbench.ingest.consistency import checked
from gdnbench.values.errors import UserError
from gdnbench.values.metrics import ACCEPTANCE_LENGTH, LATENCIES, THROUGHPUTS, Metric
from gdnbench.values.runs import Machine, Run, RunIdentity, Source
from gdnbench.values.series import Point, Series, setting
from gdnbench.values.verdicts import Caveat

IMPORTED = "vllm bench serve"

_LATENCY = re.compile(r"(mean|median|p\d{1,2}(?:\.\d{1,3})?)_([a-z0-9]+)_ms")
_NEEDED = ("completed", "duration", "request_throughput")
_BY_TAG = {metric.tag: metric for metric in LATENCIES}


def is_bench(data: Any) -> bool:
    """Whether a JSON document is such a result."""
    return isinstance(data, dict) and all(name in data for name in _NEEDED)


def bench_run(path: Path, data: Mapping[str, Any], token: str, variant: str | None = None) -> Run:
    """The run of a result.

    Args:
        token: of the file.
        variant: what served; default, the model's name.

    Raises:
        UserError: it is damaged.
    """
    try:
        model = one_line(model_name(str(data.get("model_id") or "")))
        name = one_line(variant or model or IMPORTED)
        facts = {key: data.get(key) for key in ("num_prompts", "burstiness", "total_input_tokens", "backend")}
        facts |= {"model": model, "request_rate": str(data.get("request_rate"))}
        load = _load(data)
        invalid, unmeasured = _invalid(path, data), _unmeasured(data)
        how = setting(one_line(str(data.get("endpoint_type") or data.get("backend") or "served")), facts)
        base = (name, "", "", load)
        points = [
            Point(
                series=Series(*base, metric.tag, statistic, how, "", "", ""),
                value=value,
                unit=metric.unit,
                direction=metric.direction,
                assumption="sampled",
                invalid=invalid,
                samples=(value,),
            )
            for metric, statistic, value in _figures(data)
        ]
        started = _date(data.get("date"))
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UserError(f"{path}: a damaged result of vllm bench serve ({str(error)[:100]})") from None
    if not points:
        raise UserError(f"{path}: a result of vllm bench serve without a figure")
    warnings = (
        [Caveat("not measured", f"no figure: {', '.join(unmeasured)}", "requests need a second token")]
        if (unmeasured)
        else []
    )
    return Run(
        identity=RunIdentity(
            kind="serve",
            started=started,
            machine=Machine(host="", device=""),
            source=Source(),
            imported=IMPORTED,
            variants={"measured": name},
            loads=(load,),
            model=model,
            settings=facts,
        ),
        points=tuple(points),
        token=token,
        warnings=tuple(warnings),
    )


def _figures(data: Mapping[str, Any]) -> Iterator[tuple[Metric, str, float]]:
    for metric in THROUGHPUTS:
        if (value := _positive(data.get(metric.tag))) is not None:
            yield metric, "rate", value
    for key, found in data.items():
        match = _LATENCY.fullmatch(str(key))
        if match and match[2] in _BY_TAG and (value := _positive(found)) is not None:
            yield _BY_TAG[match[2]], match[1], value
    if (value := _positive(data.get("spec_decode_acceptance_length"))) is not None:
        yield ACCEPTANCE_LENGTH, "mean", value


def _unmeasured(data: Mapping[str, Any]) -> list[str]:
    """Latencies of nothing: the mean of no samples is written as 0."""
    return [key for key, value in data.items() if _LATENCY.fullmatch(str(key)) and _positive(value) is None]


def _positive(value: Any) -> float | None:
    right = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    return float(value) if right else None


def _invalid(path: Path, data: Mapping[str, Any]) -> str:
    """Why it is not to be held against others: requests that failed, or figures that contradict each other."""
    completed, failed, asked = (data.get(name) for name in ("completed", "failed", "num_prompts"))
    if isinstance(failed, int) and failed > 0:
        return f"{failed} requests failed"
    if isinstance(asked, int) and isinstance(completed, int) and completed < asked:
        return f"{completed} of {asked} requests were completed"
    try:
        faults = checked(read_result(data, str(path))).faults
    except UserError as error:
        return one_line(str(error))
    told = [fault.message for fault in faults if fault.code != "impossible"]  # such a value is no figure here
    return one_line(told[0]) if told else ""


def _load(data: Mapping[str, Any]) -> str:
    concurrency = data.get("max_concurrency")
    return f"c{int(concurrency)}" if concurrency is not None else f"{one_line(str(data.get('request_rate')))} req/s"


def _date(text: Any) -> str:
    """vLLM writes `20260101-020000`, in the time of its machine, which is taken as UTC: the zone is not in the file."""
    return datetime.strptime(str(text), "%Y%m%d-%H%M%S").replace(tzinfo=UTC).isoformat()
