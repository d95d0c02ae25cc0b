"""Grade-school word problems of our own, in gsm8k's answer format, the same for the same seed on every machine.

A problem takes three to five calculations and may hold numbers that do not matter. Answers read

    12*3=36
    36+17=53
    #### 53

Training and test problems come from two seeds, and no training problem shares its question or its whole calculation
with a test problem, however the people and things in it are called.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from random import Random

from gdnbench.tiny_model.stories import STORIES
from gdnbench.tiny_model.telling import Telling

TEST_PROBLEMS = 1319
"""As many as gsm8k's test set has."""

TEST_SEED = 20_250_913
TRAINING_SEED = 51_913

_ASIDES = (0, 0, 1, 1, 2)


@dataclass(frozen=True)
class Problem:
    question: str
    answer: str
    """One calculation a line, then `#### ` and the result."""


def problems(seed: int) -> Iterator[Problem]:
    """Problems without end; none appears twice with the same question or the same calculation."""
    rng = Random(seed)
    seen = Seen()
    while True:
        telling = Telling(rng)
        rng.choice(STORIES)(telling)
        problem = Problem(telling.question(rng.choice(_ASIDES)), telling.answer)
        if seen.add(problem):
            yield problem


def held_out_problems() -> list[Problem]:
    """The 1,319 problems that the model is judged by."""
    stream = problems(TEST_SEED)
    return [next(stream) for _ in range(TEST_PROBLEMS)]


def training_problems() -> Iterator[Problem]:
    """Problems without end, none of which is in the test set in any disguise."""
    held_out = Seen(held_out_problems())
    return (problem for problem in problems(TRAINING_SEED) if problem not in held_out)


class Seen:
    """Remembers problems by their normalised question and by their calculation."""

    def __init__(self, known: Iterable[Problem] = ()) -> None:
        self._questions: set[str] = set()
        self._answers: set[str] = set()
        for problem in known:
            self.add(problem)

    def add(self, problem: Problem) -> bool:
        """Remembers `problem`; False if it was known."""
        known = problem in self
        self._questions.add(normalised(problem.question))
        self._answers.add(problem.answer)
        return not known

    def __contains__(self, problem: Problem) -> bool:
        return normalised(problem.question) in self._questions or problem.answer in self._answers


def normalised(question: str) -> str:
    """A question without regard to case, punctuation and spacing."""
    return " ".join(re.findall(r"[a-z]+|\d+", question.casefold()))


def result(answer: str) -> str | None:
    """The number after the first `####`, as gsm8k's strict match reads it; None where there is none."""
    match = re.search(r"#### (-?[0-9.,]+)", answer)
    return match.group(1).replace(",", "").rstrip(".") if match else None


def prompt(question: str) -> str:
    """A question as the model was trained to see it, which is also lm-eval's prompt for gsm8k without examples."""
    return f"Question: {question}\nAnswer:"


def completion(problem: Problem) -> str:
    """What the model is to write after the prompt, before it ends."""
    return f" {problem.answer}"


def as_jsonl(chosen: Iterable[Problem]) -> str:
    """gsm8k's file format: one object with question and answer a line."""
    return "".join(json.dumps(asdict(problem)) + "\n" for problem in chosen)


def from_jsonl(text: str) -> list[Problem]:
    """What `as_jsonl` wrote."""
    return [Problem(**json.loads(line)) for line in text.splitlines()]
