"""One problem while it is told: the sentences so far, and the working that solves them."""

from __future__ import annotations

from random import Random

from gdnbench.tiny_model.words import PEOPLE, PLACES, THINGS, Person


class Telling:
    """Draws what a story needs, keeps its sentences in order, and works the answer out step by step.

    A step is one line such as `12+13=25`. Every number that a step uses was told or is the result of an earlier step.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._sentences: list[str] = []
        self._steps: list[str] = []
        self._people = rng.sample(PEOPLE, 4)
        self._things = rng.sample(THINGS, 4)

    def person(self) -> Person:
        """Somebody who is not in the story yet."""
        return self._people.pop()

    def thing(self) -> str:
        """Things, in the plural, that are not in the story yet."""
        return self._things.pop()

    def number(self, low: int, high: int) -> int:
        """Any of low to high, both included."""
        return self._rng.randint(low, high)

    def one_of(self, *choices: str) -> str:
        return self._rng.choice(choices)

    def chance(self, probability: float) -> bool:
        return self._rng.random() < probability

    def say(self, *wordings: str) -> None:
        """Adds a sentence, in one of its wordings."""
        self._sentences.append(self._rng.choice(wordings))

    def plus(self, a: int, b: int) -> int:
        return self._step(f"{a}+{b}", a + b)

    def minus(self, a: int, b: int) -> int:
        if b > a:
            raise ValueError(f"{a}-{b} is below zero")
        return self._step(f"{a}-{b}", a - b)

    def times(self, a: int, b: int) -> int:
        return self._step(f"{a}*{b}", a * b)

    def shared(self, a: int, b: int) -> int:
        if a % b:
            raise ValueError(f"{a}/{b} leaves a remainder")
        return self._step(f"{a}/{b}", a // b)

    @property
    def answer(self) -> str:
        """The working and the result, as gsm8k writes them."""
        return "\n".join([*self._steps, f"#### {self._result}"])

    def question(self, asides: int) -> str:
        """The story, with so many asides that do not matter strewn in before its last sentence, which asks."""
        sentences = list(self._sentences)
        for aside in self._rng.sample(self._asides(), asides):
            sentences.insert(self._rng.randint(1, len(sentences) - 1), aside)
        return " ".join(sentences)

    def _asides(self) -> list[str]:
        """Sentences with a number each, and nobody in them whom a later `he` or `she` could mean."""
        return [
            f"The {self._rng.choice(PLACES)} is {self.number(2, 40)} miles away.",
            f"It is {self.number(2, 12)} o'clock.",
            f"It is {self.number(2, 35)} degrees outside.",
            f"The house number is {self.number(2, 300)}.",
            f"There are {self.number(2, 60)} birds in a tree.",
            f"A cat is {self.number(2, 18)} years old.",
            f"The radio plays for {self.number(2, 90)} minutes.",
        ]

    def _step(self, calculation: str, result: int) -> int:
        self._steps.append(f"{calculation}={result}")
        self._result = result
        return result
