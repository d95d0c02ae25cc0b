"""Metrics: what is measured, in what unit, which way is better, and what difference is worth speaking of.

A metric states an assumption, and the assumption picks the statistics: `exact` counts are compared as they are,
`sampled` figures by the paired rule. A new metric is one more object here; nothing else lists them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Direction = Literal["lower", "higher"]
Assumption = Literal["exact", "sampled"]
Burden = Literal["wait", "work", "memory", "none"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    Attributes:
        tag: its name in JSON, tables and code.
        title: its name in a sentence.
        unit: as printed behind a figure.
        assumption: `exact` is the same in every run, so one run decides; `sampled` needs launches.
        direction: whether lower or higher is better.
        floor: the smallest change worth a verdict, in `unit`.
        floor_percent: the same in percent. A change passes when it exceeds the larger of both floors, so both.
        burden: for exact metrics, what a unit of it costs: the host waits for the device, somebody works, memory
            is taken; `none` is shown and never decides a verdict alone. See `stats.exact`.
    """

    tag: str
    title: str
    unit: str
    assumption: Assumption
    direction: Direction = "lower"
    floor: float = 0.0
    floor_percent: float = 0.0
    burden: Burden = "none"

    def log_floor(self, level: float) -> float:
        """The floor as a distance between logarithms, at a typical level in `unit`.

        It is the same up and down, so that swapping sides inverts a verdict: +1 % and its inverse, -0.99 %, lie at one
        distance. `level` is the geometric mean of both sides; two values around it that differ by `floor` lie
        2 asinh(floor / 2 level) apart.
        """
        own = 2 * math.asinh(self.floor / (2 * level)) if self.floor else 0.0
        return max(own, math.log1p(self.floor_percent / 100))

    def is_better(self, change: float) -> bool:
        """Whether a change (a difference or a log ratio, after against before) goes the good way."""
        return change < 0 if self.direction == "lower" else change > 0


def _time(tag: str, title: str) -> Metric:
    # 1 %: half of the smallest change that anybody has claimed per step. 0.2 us: a few reads of the clock.
    return Metric(tag, title, "us", "sampled", floor=0.2, floor_percent=1.0)


HOST_TIME = _time("host_time", "host time of one step, nothing else queued")
HOST_TIME_BUSY = _time("host_time_busy", "host time of one step while the device works")
DEVICE_TIME = _time("device_time", "device time of one step")

STEP_METRICS = (HOST_TIME, HOST_TIME_BUSY, DEVICE_TIME)
"""Step time as the clocks of `gdnbench.devices` measure it, the one that decides by default first."""


def _count(tag: str, title: str, burden: Burden, unit: str = "count") -> Metric:
    return Metric(tag, title, unit, "exact", burden=burden)


SYNCS = _count("syncs", "times the host waits for the device", "wait")
D2H = _count("d2h", "device-to-host copies", "wait")
H2D_PAGEABLE = _count("h2d_pageable", "host-to-device copies from pageable memory", "wait")
H2D_PINNED = _count("h2d_pinned", "host-to-device copies from pinned memory", "work")
DEVICE_OPS = _count("device_ops", "device operations", "work")
ALLOC_BYTES = _count("alloc_bytes", "bytes allocated on the device", "memory", "B")
HOST_OPS = _count("host_ops", "host tensor operations", "none")

COST_METRICS = (SYNCS, D2H, H2D_PAGEABLE, H2D_PINNED, DEVICE_OPS, ALLOC_BYTES, HOST_OPS)
"""In order of importance."""


def _rate(tag: str, title: str, unit: str) -> Metric:
    # 1 %: the smallest gain in throughput that an author of these changes has claimed.
    return Metric(tag, title, unit, "sampled", direction="higher", floor_percent=1.0)


def _latency(tag: str, title: str, floor: float, floor_percent: float) -> Metric:
    return Metric(tag, title, "ms", "sampled", floor=floor, floor_percent=floor_percent)


OUTPUT_THROUGHPUT = _rate("output_throughput", "output tokens per second", "tok/s")
TOTAL_THROUGHPUT = _rate("total_token_throughput", "prompt and output tokens per second", "tok/s")
REQUEST_THROUGHPUT = _rate("request_throughput", "requests per second", "req/s")

# Per token and per step: 1 %, as of throughput, whose inverses they are, so that one change never passes one floor
# and misses the other; and 20 us, within which a client's event loop wakes up. Per request: 0.2 ms, a round trip on
# the loopback; of the first token 2 %, for it is one sample a request where the others average many steps.
TTFT = _latency("ttft", "time to the first token", 0.2, 2.0)
TPOT = _latency("tpot", "time per output token after the first", 0.02, 1.0)
ITL = _latency("itl", "time between streamed chunks", 0.02, 1.0)
E2EL = _latency("e2el", "time from request to last token", 0.2, 1.0)

ACCEPTANCE_LENGTH = _rate("acceptance_length", "tokens per step of a request", "tokens")
"""Of speculation. Which drafts are accepted is no doing of a metadata builder: it may not claim a change of it."""

ENGINE_STEP = Metric("engine_step", "time of one step of the model runner", "us", "sampled", floor_percent=0.5)
"""With builds observed or not: what the harness itself costs. 0.5 % is what it may."""

BUILD_TIME = Metric("build_time", "host time of one metadata build in a live server", "us", "sampled")
"""As the plugin sees it; shown by kind of step, never judged."""

THROUGHPUTS = (OUTPUT_THROUGHPUT, TOTAL_THROUGHPUT, REQUEST_THROUGHPUT)
LATENCIES = (TTFT, TPOT, ITL, E2EL)
SERVING_METRICS = (*THROUGHPUTS, *LATENCIES, ACCEPTANCE_LENGTH)
"""Of a live server, by the names of vLLM's benchmark; the one that decides first."""

METRICS = {metric.tag: metric for metric in (*STEP_METRICS, *COST_METRICS, *SERVING_METRICS)}
