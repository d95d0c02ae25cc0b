"""Training batches: problems of about the same length together, padded on the right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

import torch
from tokenizers import Tokenizer
from torch import Tensor

from gdnbench.tiny_model.problems import Problem, completion, prompt, training_problems
from gdnbench.tiny_model.tokenizer import END, PADDING

_WINDOW = 32
"""So many batches are sorted by length at a time, to waste little on padding."""

IGNORED = -100
"""The label of a token that no loss is taken of, as torch's cross entropy has it."""


@dataclass(frozen=True)
class Batch:
    tokens: Tensor
    """[batch, length], int64."""
    labels: Tensor
    """[batch, length], int64: `tokens` where they belong to an answer or end it, `IGNORED` elsewhere."""


def batches(tokenizer: Tokenizer, size: int, seed: int) -> Iterator[Batch]:
    """Batches of `size` training problems without end, the same for the same seed; no problem comes twice."""
    rng, stream = Random(seed), training_problems()
    while True:
        window = [_encoded(tokenizer, problem) for problem in islice(stream, _WINDOW * size)]
        window.sort(key=lambda pair: len(pair[0]) + len(pair[1]))
        groups = [window[start : start + size] for start in range(0, len(window), size)]
        rng.shuffle(groups)
        for group in groups:
            yield _padded(group, _token(tokenizer, PADDING))


def _encoded(tokenizer: Tokenizer, problem: Problem) -> tuple[list[int], list[int]]:
    asked = tokenizer.encode(prompt(problem.question)).ids
    answered = tokenizer.encode(completion(problem)).ids
    return asked, [*answered, _token(tokenizer, END)]


def _token(tokenizer: Tokenizer, text: str) -> int:
    token = tokenizer.token_to_id(text)
    assert token is not None, f"the tokenizer has no {text}"
    return int(token)


def _padded(group: list[tuple[list[int], list[int]]], padding: int) -> Batch:
    length = max(len(asked) + len(answered) for asked, answered in group)
    tokens = torch.full((len(group), length), padding)
    labels = torch.full((len(group), length), IGNORED)
    for row, (asked, answered) in enumerate(group):
        end = len(asked) + len(answered)
        tokens[row, :end] = torch.tensor(asked + answered)
        labels[row, len(asked) : end] = torch.tensor(answered)
    return Batch(tokens, labels)
