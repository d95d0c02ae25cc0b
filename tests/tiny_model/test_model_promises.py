"""What the check of the tiny model counts, and when it calls a promise broken."""

from typing import Any

import pytest

from gdnbench.tiny_model.answering import Answers
from gdnbench.tiny_model.check import accuracy, agreement, broken_promises, figures, same_texts
from gdnbench.tiny_model.problems import Problem

PROBLEMS = [Problem(f"{n}?", f"{n}+0={n}\n#### {n}") for n in range(10)]
RIGHT = [f" {n}+0={n}\n#### {n}" for n in range(10)]


def answers(texts: list[str], **more: Any) -> Answers:
    return Answers("engine", texts, [True] * len(texts), **more)


def some_wrong(count: int) -> list[str]:
    return [" #### 99"] * count + RIGHT[count:]


def test_accuracy_counts_results_and_agreement_counts_equal_results_right_or_wrong() -> None:
    assert accuracy(answers(some_wrong(3)), PROBLEMS) == 0.7
    assert agreement(answers(some_wrong(3)), answers(some_wrong(3))) == 1.0
    assert agreement(answers(some_wrong(3)), answers(some_wrong(1))) == 0.8


def test_another_way_to_the_same_result_agrees_but_is_another_text() -> None:
    detour = [" 0+0=0\n#### 0", *RIGHT[1:]]
    other = [" 5-5=0\n#### 0", *RIGHT[1:]]
    assert agreement(answers(detour), answers(other)) == 1.0
    assert same_texts(answers(detour), answers(other)) == 0.9


def kept() -> dict[str, Any]:
    plain = answers(some_wrong(2))
    drafting = answers(some_wrong(2), drafted=200, accepted=140, accepted_at=[80, 60])
    return figures(plain, drafting, plain, PROBLEMS)


def test_figures_hold_acceptance_over_all_drafts_and_by_place() -> None:
    found = kept()
    assert found["acceptance"] == 0.7
    assert found["acceptance_by_place"] == [0.8, 0.6]
    assert broken_promises(found) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accuracy", 0.55),
        ("accuracy", 0.97),
        ("accuracy_drafting", 0.55),
        ("agreement", 0.979),
        ("agreement_drafting", 0.9),
        ("acceptance", 0.4),
        ("acceptance", 0.95),
        ("acceptance", 0.0),
    ],
)
def test_a_broken_promise_is_named(name: str, value: float) -> None:
    [line] = broken_promises(kept() | {name: value})
    assert line.startswith(f"{name} ")
