"""Chooses prompts: the same, in the same order, that vLLM's ShareGPT benchmark chooses (0.29.0 to 0.32.0, tested).

The conversations are shuffled by the seed and taken in turn until there are enough; those beyond the limits of length
are left out. Which ones are left out, and why, is counted.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gdnbench.workloads.conversations import Conversation

DROPPED = {
    "no_text": "turns are no text",
    "not_from_human": "not from a human",
    "prompt_too_short": "prompt too short",
    "output_too_short": "output too short",
    "prompt_too_long": "prompt too long",
    "total_too_long": "prompt + output too long",
}
"""Why a conversation of two turns is left out: the first that applies counts."""

COUNTED = (
    {"entries": "entries read", "no_conversations": "no conversations", "under_two_turns": "under 2 turns"}
    | DROPPED
    | {"kept": "kept", "not_looked_at": "not looked at"}
)
"""All counts, in the order in which they are shown. `entries` is the sum of all others."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent once.

    Attributes:
        prompt: the text.
        prompt_len: its tokens.
        output_len: tokens to generate.
    """

    prompt: str
    prompt_len: int
    output_len: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Of length, in tokens; vLLM's.

    Attributes:
        max_prompt: of a prompt.
        max_total: of a prompt and what is to be generated.
        min_tokens: of a prompt, and of an output whose length is not fixed.
        output_len: fixed for all; None to generate as many as the conversation's own answer has.
        strict: leave out what does not start with a human, which vLLM does not.
    """

    max_prompt: int = 1024
    max_total: int = 2048
    min_tokens: int = 4
    output_len: int | None = None
    strict: bool = False

    def objection(self, conversation: Conversation | None, prompt_len: int, output_len: int) -> str | None:
        """Why the conversation is left out, a key of `DROPPED`; None to keep it."""
        if conversation is None:
            return "no_text"
        if self.strict and not conversation.from_human:
            return "not_from_human"
        if prompt_len < self.min_tokens:
            return "prompt_too_short"
        if self.output_len is None and output_len < self.min_tokens:
            return "output_too_short"
        if prompt_len > self.max_prompt:
            return "prompt_too_long"
        return "total_too_long" if prompt_len + output_len > self.max_total else None


@dataclass(frozen=True, slots=True)
class Selection:
    """What was chosen.

    Attributes:
        requests: in the order in which they are sent; after the first `chosen` ones, repetitions.
        chosen: conversations.
        not_from_human: of the chosen ones.
        dropped: by reason, of the conversations looked at.
        not_looked_at: conversations that were not needed.
    """

    requests: tuple[Request, ...]
    chosen: int
    not_from_human: int
    dropped: Counter[str]
    not_looked_at: int

    @property
    def counts(self) -> dict[str, int]:
        """Of conversations of two turns, by `COUNTED`'s names."""
        return {**self.dropped, "kept": self.chosen, "not_looked_at": self.not_looked_at}


def select(
    pool: Sequence[Conversation | None],
    count: Callable[[str], int],
    seed: int,
    prompts: int,
    limits: Limits,
    oversample: bool = False,
) -> Selection:
    """Choose `prompts` requests, fewer where the pool has no more.

    Args:
        pool: conversations of at least two turns, in the order of their file.
        count: tokens of a text.
        seed: of the shuffle.
        oversample: repeat some of the chosen ones until there are enough, as vLLM does unless it is told not to.
    """
    order = list(range(len(pool)))
    random.Random(seed).shuffle(order)
    requests: list[Request] = []
    dropped: Counter[str] = Counter()
    not_from_human = looked_at = 0
    for index in order:
        if len(requests) >= prompts:
            break
        looked_at += 1
        conversation = pool[index]
        prompt_len = output_len = 0
        if conversation is not None:
            prompt_len = count(conversation.prompt)
            output_len = count(conversation.answer) if limits.output_len is None else limits.output_len
        objection = limits.objection(conversation, prompt_len, output_len)
        if conversation is None or objection is not None:
            dropped[objection or "no_text"] += 1
            continue
        not_from_human += not conversation.from_human
        requests.append(Request(conversation.prompt, prompt_len, output_len))
    chosen = len(requests)
    if oversample and requests:
        again = random.Random(seed)
        requests += [again.choice(requests) for _ in range(prompts - chosen)]
    return Selection(tuple(requests), chosen, not_from_human, dropped, len(pool) - looked_at)
