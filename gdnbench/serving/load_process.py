"""vLLM's own `vllm bench serve` code, kept in one process: `python -m gdnbench.serving.load_process [--cores 0,1]`.

It runs in the environment of a release. It imports the benchmark and the tokenizer once, then answers one JSON line to
each JSON line, so that what a block costs is its requests alone. Requests:

    {"prepare": {"url", "key", "model", "tokenizer", "prompts": [[text, tokens, output tokens], ...], "sampling",
                 "ignore_eos"}}
    {"block": {"indices", "concurrency", "prefix"}}
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import hashlib
import inspect
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gdnbench.campaign.pipes import failure, leave, private_stdout
from gdnbench.campaign.processes import die_with_parent

METRICS = ("ttft", "tpot", "itl", "e2el")
THROUGHPUTS = ("request_throughput", "output_throughput", "total_token_throughput")
STATISTICS = ("mean", "median", "std", "p99")


class Load:
    """Sends blocks of requests, and knows what vLLM's benchmark measured of them."""

    def __init__(self) -> None:
        from vllm.benchmarks import serve

        self._serve = serve
        self._loop = asyncio.new_event_loop()
        self._arguments: dict[str, Any] = {}
        self._prompts: list[tuple[str, int, int]] = []

    def prepare(
        self,
        url: str,
        key: str,
        model: str,
        tokenizer: str,
        prompts: Sequence[tuple[str, int, int]],
        sampling: Mapping[str, Any],
        ignore_eos: bool,
    ) -> dict[str, Any]:
        """Everything that blocks have in common; what the release's benchmark does not know is left out."""
        os.environ["OPENAI_API_KEY"] = key
        self._prompts = [(text, tokens, output) for text, tokens, output in prompts]
        known = inspect.signature(self._serve.benchmark).parameters
        arguments = {
            "task_type": self._serve.TaskType.GENERATION,
            "endpoint_type": "openai",
            "api_url": f"{url}/v1/completions",
            "base_url": url,
            "model_id": model,
            "model_name": model,
            "tokenizer": self._serve.get_tokenizer(tokenizer),
            "logprobs": None,
            "request_rate": float("inf"),
            "burstiness": 1.0,
            "disable_tqdm": True,
            "num_warmups": 0,
            "profile": False,
            "selected_percentile_metrics": list(METRICS),
            "selected_percentiles": [99.0],
            "ignore_eos": ignore_eos,
            "goodput_config_dict": {},
            "lora_modules": None,
            "extra_headers": None,
            "extra_body": dict(sampling),
            "ready_check_timeout_sec": 0,
        }
        self._arguments = {name: value for name, value in arguments.items() if name in known}
        gc.collect()
        gc.freeze()
        return {"prompts": len(self._prompts)}

    def block(self, indices: Sequence[int], concurrency: int, prefix: str) -> dict[str, Any]:
        """Run one block; see `BlockReply` for what it gives."""
        sent = [self._prompts[index] for index in indices]
        requests = [
            self._serve.SampleRequest(text, tokens, expected_output_len=output, request_id=f"{prefix}-{number}")
            for number, (text, tokens, output) in enumerate(sent)
        ]
        found = self._loop.run_until_complete(
            self._serve.benchmark(**self._arguments, input_requests=requests, max_concurrency=concurrency)
        )
        return summary(found, [text for text, _, _ in sent])


def summary(found: Mapping[str, Any], prompts: Sequence[str]) -> dict[str, Any]:
    """A block's reply, from the result of vLLM's benchmark and the prompts that it sent.

    A figure without a sample is None: vLLM gives 0.0, which reads like a measurement.
    """
    answered = [at for at, error in enumerate(found["errors"]) if not error and found["ttfts"][at] > 0]
    if len(answered) != found["completed"]:
        raise ValueError(f"{found['completed']} requests are said to be completed, and {len(answered)} have an answer")
    samples = _samples(found, answered)
    figures: dict[str, float | None] = {name: float(found[name]) if answered else None for name in THROUGHPUTS}
    for metric in METRICS:
        for statistic in STATISTICS:
            name = f"{statistic}_{metric}_ms"
            figures[name] = float(found[name]) if samples[metric] else None
    return {
        "duration_s": found["duration"],
        "sent": len(prompts),
        "completed": found["completed"],
        "failed": len(prompts) - found["completed"],
        "empty": sum(not found["output_lens"][at] for at in answered),
        "input_tokens": found["total_input_tokens"],
        "output_tokens": found["total_output_tokens"],
        "figures": figures,
        "samples": samples,
        "acceptance": _acceptance(found),
        "prompts": digest(prompts),
        "texts": digest(found["generated_texts"]),
        "errors": sorted({error.strip().splitlines()[-1] for error in found["errors"] if error.strip()})[:3],
    }


def _samples(found: Mapping[str, Any], answered: Sequence[int]) -> dict[str, list[float]]:
    """The samples behind vLLM's figures, in milliseconds, each defined as vLLM defines it."""
    ttfts = [found["ttfts"][at] for at in answered]
    gaps = [found["itls"][at] for at in answered]
    afterwards = [sum(own) for own in gaps]
    lengths = [found["output_lens"][at] for at in answered]
    seconds = {
        "ttft": ttfts,
        "tpot": [rest / (length - 1) for rest, length in zip(afterwards, lengths, strict=True) if length > 1],
        "itl": [gap for own in gaps for gap in own],
        "e2el": [first + rest for first, rest in zip(ttfts, afterwards, strict=True)],
    }
    return {name: [round(value * 1000, 6) for value in values] for name, values in seconds.items()}


def _acceptance(found: Mapping[str, Any]) -> dict[str, int] | None:
    names = {"drafts": "num_drafts", "draft_tokens": "draft_tokens", "accepted": "accepted_tokens"}
    if "spec_decode_num_drafts" not in found:
        return None
    return {name: int(found[f"spec_decode_{theirs}"]) for name, theirs in names.items()}


def digest(texts: Iterable[str]) -> str:
    """Of texts in their order: equal for equal texts, 16 hexadecimal digits."""
    return hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()[:16]


def main() -> int:
    """Answer requests until standard input ends."""
    die_with_parent()
    parser = argparse.ArgumentParser(prog="python -m gdnbench.serving.load_process")
    parser.add_argument("--cores", default="")
    cores = parser.parse_args().cores
    if cores:
        os.sched_setaffinity(0, map(int, cores.split(",")))
    replies = private_stdout()
    load = Load()
    for line in sys.stdin:
        try:
            [(name, arguments)] = json.loads(line).items()
            reply = {"result": getattr(load, name)(**arguments)}
        except Exception as error:
            reply = failure(error)
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    leave(main())
