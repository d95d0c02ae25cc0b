"""The one door for a campaign: which prompts to send, everything that identifies them, and what to be wary of."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gdnbench.values.errors import UserError
from gdnbench.values.verdicts import Caveat
from gdnbench.workloads import generator
from gdnbench.workloads.conversations import Conversation, conversations
from gdnbench.workloads.manifests import known
from gdnbench.workloads.selection import COUNTED, Limits, Request, Selection, select
from gdnbench.workloads.stream import JsonFile
from gdnbench.workloads.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Workload:
    """Prompts for a campaign.

    Attributes:
        requests: to be sent, in order.
        identity: all that says which prompts these are, as JSON; two sides or runs compare only where it is equal.
        warnings: what to be wary of.
    """

    requests: tuple[Request, ...]
    identity: dict[str, Any]
    warnings: tuple[Caveat, ...]


def choose(
    dataset: Path | None,
    tokenizer: Path,
    seed: int,
    prompts: int,
    output_len: int | None,
    max_prompt: int = 1024,
    max_total: int = 2048,
    strict: bool = False,
    oversample: bool = False,
) -> Workload:
    """The prompts that vLLM's ShareGPT benchmark would send for the same file, tokenizer, seed and number.

    Args:
        dataset: a ShareGPT file; None for conversations of ours, `sharegpt-like`.
        tokenizer: directory with a `tokenizer.json`.
        seed: of the choice.
        prompts: how many to ask for; there may be fewer.
        output_len: tokens to generate for each; None for those of the conversation's own answer.
        max_prompt, max_total: limits in tokens; vLLM's are the default.
        strict: leave out conversations that do not start with a human; vLLM does not.
        oversample: repeat prompts where there are too few, as vLLM does without `--no-oversample`.

    Raises:
        UserError: no prompt survives, the file is damaged, or there is no such tokenizer.
    """
    if prompts < 1 or (output_len is not None and output_len < 1):
        raise UserError("ask for at least one prompt, and one token for each")
    tokens = Tokens(tokenizer)
    counts: Counter[str] = Counter()
    pool: list[Conversation | None] | generator.SharegptLike
    if dataset is None:
        pool = generator.SharegptLike(tokens.count, generator.SEED, generator.CONVERSATIONS)
        counts["entries"] = len(pool)
        source: dict[str, Any] = {"name": generator.NAME, "version": generator.VERSION, "seed": generator.SEED}
    else:
        file = JsonFile(dataset)
        pool = list(conversations(file, counts))
        if file.format != "array":
            raise UserError(f"{dataset} is no ShareGPT file: it holds JSON objects, not one array of conversations")
        source = {"name": known(file.sha256) or dataset.name, "bytes": file.bytes, "sha256": file.sha256}
    limits = Limits(max_prompt, max_total, output_len=output_len, strict=strict)
    chosen = select(pool, tokens.count, seed, prompts, limits, oversample)
    table = {"entries": 0, **counts, **chosen.counts}
    table = {name: table.get(name, 0) for name in COUNTED}
    if not chosen.requests:
        told = ", ".join(f"{what} {table[name]}" for name, what in COUNTED.items())
        raise UserError(f"no prompt is left of {dataset or generator.NAME}: {told}")
    identity = {
        "dataset": source,
        "tokenizer": {"name": tokens.name, "sha256": tokens.sha256},
        "limits": {"min_tokens": limits.min_tokens, "max_prompt": max_prompt, "max_total": max_total},
        "output_len": output_len,
        "strict": strict,
        "oversample": oversample,
        "seed": seed,
        "asked": prompts,
        "counts": table,
        **_facts(chosen),
    }
    return Workload(chosen.requests, identity, tuple(_warnings(chosen, prompts)))


def _facts(chosen: Selection) -> dict[str, Any]:
    digest = hashlib.sha256()
    for request in chosen.requests:
        digest.update(f"{len(request.prompt)} {request.output_len} {request.prompt}".encode())
    return {
        "requests": len(chosen.requests),
        "distinct_prompts": _distinct(chosen),
        "not_from_human": chosen.not_from_human,
        "input_tokens": sum(request.prompt_len for request in chosen.requests),
        "output_tokens": sum(request.output_len for request in chosen.requests),
        "sha256": digest.hexdigest(),
    }


def _distinct(chosen: Selection) -> int:
    return len({request.prompt for request in chosen.requests})


def _warnings(chosen: Selection, asked: int) -> list[Caveat]:
    found = []
    sent, distinct = len(chosen.requests), _distinct(chosen)
    if sent < asked:
        message = f"{sent} prompts instead of the {asked} asked for: the data set has no more within the limits"
        found.append(Caveat("fewer-prompts", message, "ask for fewer, or take a larger data set"))
    if distinct < sent:
        message = f"{sent} requests from {distinct} distinct prompts"
        found.append(Caveat("repeated-prompts", message, "keep prefix caching off, or ask for fewer prompts"))
    if chosen.not_from_human:
        message = f"{chosen.not_from_human} of {chosen.chosen} sampled prompts do not start with human"
        advice = "these are vLLM's own; to leave them out on both sides, choose strictly"
        found.append(Caveat("not-from-human", message, advice))
    return found
