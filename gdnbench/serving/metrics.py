"""What a running server counts, read from the Prometheus text of its /metrics."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

PREFIX = "vllm:"


@dataclass(frozen=True, slots=True)
class ServerMetrics:
    """A server's counters at one moment; those of all engines and labels together.

    Attributes:
        running: requests being generated.
        waiting: requests in the queue.
        prompt_tokens, generated_tokens: since the server began.
        prefix_queries, prefix_hits: tokens looked up in the prefix cache, and found; since the server began.
        finished: requests answered to their end; since the server began.
    """

    running: int
    waiting: int
    prompt_tokens: int
    generated_tokens: int
    prefix_queries: int
    prefix_hits: int
    finished: int

    @property
    def idle(self) -> bool:
        """Whether it has nothing to do."""
        return self.running == 0 and self.waiting == 0

    @property
    def progress(self) -> int:
        """Grows while requests make progress."""
        return self.prompt_tokens + self.generated_tokens


def parse(text: str) -> ServerMetrics:
    """The counters in a page of /metrics.

    Raises:
        ValueError: it lacks one of them.
    """
    sums = _sums(text)
    names = {
        "running": "num_requests_running",
        "waiting": "num_requests_waiting",
        "prompt_tokens": "prompt_tokens_total",
        "generated_tokens": "generation_tokens_total",
        "prefix_queries": "prefix_cache_queries_total",
        "prefix_hits": "prefix_cache_hits_total",
        "finished": "request_success_total",
    }
    try:
        return ServerMetrics(**{field: round(sums[PREFIX + name]) for field, name in names.items()})
    except KeyError as missing:
        raise ValueError(f"the server's metrics have no {missing}") from None


def _sums(text: str) -> dict[str, float]:
    """Each metric's value, summed over its labels."""
    sums: dict[str, float] = {}
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if line.startswith(PREFIX):
            with suppress(ValueError):
                name = name.partition("{")[0]
                sums[name] = sums.get(name, 0.0) + float(value)
    return sums
