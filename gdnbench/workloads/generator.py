"""`sharegpt-like`: conversations of ours whose lengths follow those of ShareGPT, for where its file is not at hand.

A pair of lengths is drawn from the measured quantiles of prompts and outputs, joined so that their logarithms correlate
as measured (a Gaussian copula). Then text is written to those lengths in tokens of the tokenizer that it is for.
"""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, overload

from gdnbench.oracle.cache import write_aside
from gdnbench.values.errors import EnvironmentMissing
from gdnbench.workloads.conversations import HUMAN, Conversation
from gdnbench.workloads.words import OPENINGS, SENTENCES, WORDS

NAME = "sharegpt-like"
VERSION = 1
"""Of the texts: one seed gives the same bytes in one version."""
SEED = 0
CONVERSATIONS = 10_000

_JOINT = -0.465
"""Correlation of the normal scores; it gives the measured -0.443 between the logarithms of the lengths."""
_CURVE = 1 / 3
"""Between two quantiles, lengths to this power are linear: of simple powers it comes nearest to both measured means."""
_MAX_TOTAL = 2048


class SharegptLike(Sequence[Conversation]):
    """A fixed set of conversations; each is written when it is asked for, the same each time."""

    def __init__(self, count: Callable[[str], int], seed: int = SEED, conversations: int = CONVERSATIONS) -> None:
        """
        Args:
            count: tokens of a text.
            seed: of all of them.
            conversations: how many there are; each one's text does not depend on it.
        """
        self._seed, self._conversations = seed, conversations
        self._lengths = json.loads(resources.files("gdnbench.workloads").joinpath("sharegpt_lengths.json").read_text())
        self._writer = _Writer(count)

    def __len__(self) -> int:
        return self._conversations

    @overload
    def __getitem__(self, index: int) -> Conversation: ...
    @overload
    def __getitem__(self, index: slice) -> list[Conversation]: ...
    def __getitem__(self, index: int | slice) -> Conversation | list[Conversation]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        chance = random.Random(f"{NAME} {VERSION} {self._seed} {index}")
        prompt_len, answer_len = draw_lengths(self._lengths, chance)
        prompt = self._writer.text(chance, prompt_len, OPENINGS)
        return Conversation(prompt, self._writer.text(chance, answer_len, ()), True)

    def write(self, path: Path, done: Callable[[int], None] = lambda done: None) -> None:
        """Write all of them as a ShareGPT file, aside first.

        Args:
            done: is told how many are written.

        Raises:
            EnvironmentMissing: the disk does not take it.
        """
        entries = []
        for index, one in enumerate(self):
            turns = [{"from": HUMAN[0], "value": one.prompt}, {"from": "gpt", "value": one.answer}]
            entries.append(json.dumps({"id": f"{NAME}-{index}", "conversations": turns}))
            done(index + 1)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_aside(path, "[\n" + ",\n".join(entries) + "\n]\n")
        except OSError as error:
            raise EnvironmentMissing(f"cannot write {path} ({error.strerror or error})") from None


def draw_lengths(lengths: Mapping[str, Any], chance: random.Random) -> tuple[int, int]:
    """Tokens of a prompt and its output, together within vLLM's limit.

    Args:
        lengths: as in `sharegpt_lengths.json`.
    """
    normal = NormalDist()
    while True:
        first, second = (normal.inv_cdf(min(max(chance.random(), 1e-12), 1 - 1e-12)) for _ in range(2))
        second = _JOINT * first + sqrt(1 - _JOINT**2) * second
        prompt = _quantile(lengths["percent"], lengths["prompt_tokens"], normal.cdf(first))
        output = _quantile(lengths["percent"], lengths["output_tokens"], normal.cdf(second))
        if prompt + output <= _MAX_TOTAL:
            return prompt, output


def _quantile(percent: Sequence[float], values: Sequence[float], probability: float) -> int:
    at = min(bisect_right(percent, 100 * probability), len(percent) - 1)
    low, high = (float(value) ** _CURVE for value in values[at - 1 : at + 1])
    part = (100 * probability - percent[at - 1]) / (percent[at] - percent[at - 1])
    length: float = (low + part * (high - low)) ** (1 / _CURVE)
    return round(length)


class _Writer:
    """Writes text of so many tokens, word by word. What a word adds to a text is counted once and remembered."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._added: dict[tuple[str, bool], int] = {}
        self._special = count("")
        self._fill = sorted({word for name in ("how", "kind", "thing") for word in WORDS[name]})

    def text(self, chance: random.Random, tokens: int, openings: Sequence[str]) -> str:
        """About `tokens` tokens, exactly so where a tokenizer never joins two words.

        Whole sentences, then words without order in the room that is left. Short texts are such words alone: so they
        differ from each other.
        """
        words: list[str] = []
        left = tokens - self._special
        for sentence in _sentences(chance, openings):
            added = sum(self._adds(word, not (words or at)) for at, word in enumerate(sentence))
            if added > left:
                break
            words += sentence
            left -= added
        while left > 0:
            fitting = [word for word in self._fill if self._adds(word, not words) <= left]
            fitting = fitting or [mark for mark in "!." if self._adds(mark, not words) <= left]
            if not fitting:
                break
            words.append(_pick(chance, fitting))
            left -= self._adds(words[-1], len(words) == 1)
        return _joined(words)

    def _adds(self, word: str, first: bool) -> int:
        key = word, first
        if key not in self._added:
            text, without = (word, self._special) if first else (_joined(["a", word]), self._count("a"))
            self._added[key] = self._count(text) - without
        return self._added[key]


def _sentences(chance: random.Random, openings: Sequence[str]) -> Iterator[list[str]]:
    """Sentences without end, each in words; the first follows one of `openings`, if there are any."""
    pattern = _pick(chance, openings or SENTENCES)
    while True:
        slots = (_pick(chance, WORDS[slot[1:-1]]) if slot.startswith("{") else slot for slot in pattern.split())
        words = " ".join(slots).split()
        yield [words[0][0].upper() + words[0][1:], *words[1:]]
        pattern = _pick(chance, SENTENCES)


def _joined(words: Sequence[str]) -> str:
    """With a space before each word, and none before punctuation."""
    return "".join(word if not index or not word[0].isalpha() else f" {word}" for index, word in enumerate(words))


def _pick(chance: random.Random, choices: Sequence[str]) -> str:
    """Like `random.choice`, but on `random()` alone, whose numbers no version of Python changes."""
    return choices[int(chance.random() * len(choices))]
