"""Word problems are right, the same everywhere, and none that the model is judged by is among those it learns from."""

import json
import re
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from gdnbench.tiny_model import dataset
from gdnbench.tiny_model.manifest import sha256
from gdnbench.tiny_model.problems import (
    TEST_PROBLEMS,
    Problem,
    as_jsonl,
    completion,
    from_jsonl,
    held_out_problems,
    normalised,
    problems,
    prompt,
    result,
    training_problems,
)
from gdnbench.tiny_model.stories import STORIES, Story
from gdnbench.tiny_model.telling import Telling

FOLDER = Path(__file__).parents[2] / "datasets" / "word-problems"
CALCULATION = re.compile(r"(\d+)([-+*/])(\d+)=(\d+)")


@pytest.fixture(scope="module")
def judged_by() -> list[Problem]:
    return held_out_problems()


def test_the_committed_problems_are_those_that_the_generator_writes(judged_by: list[Problem]) -> None:
    assert (FOLDER / dataset.FILE).read_text() == as_jsonl(judged_by)
    assert len(judged_by) == TEST_PROBLEMS


def test_the_manifest_describes_the_committed_problems(tmp_path: Path) -> None:
    dataset.write(tmp_path)
    manifest = json.loads((FOLDER / "manifest.json").read_text())
    assert manifest == json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["files"][dataset.FILE]["sha256"] == sha256(FOLDER / dataset.FILE)


def test_one_seed_gives_one_stream_and_another_seed_another() -> None:
    first, again, other = ([*islice(problems(seed), 200)] for seed in (1, 1, 2))
    assert first == again
    assert not {p.question for p in first} & {p.question for p in other}


def test_no_training_problem_is_a_test_problem_in_other_words(judged_by: list[Problem]) -> None:
    questions = {normalised(problem.question) for problem in judged_by}
    workings = {problem.answer for problem in judged_by}
    for problem in islice(training_problems(), 20_000):
        assert normalised(problem.question) not in questions
        assert problem.answer not in workings


def test_case_spacing_and_punctuation_do_not_make_a_question_another() -> None:
    assert normalised("Ada has  12 Pens. How many?") == normalised("ada has 12 pens , how many")
    assert normalised("Ada has 12 pens.") != normalised("Ada has 13 pens.")


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_every_story_works_out_from_the_numbers_that_it_tells(story: Story) -> None:
    for seed in range(300):
        telling = Telling(Random(seed))
        story(telling)
        question = telling.question(asides=seed % 3)
        known = {int(number) for number in re.findall(r"\d+", question)} | {2, 3}  # `twice`, `three times`
        *steps, last = telling.answer.splitlines()
        assert 3 <= len(steps) <= 5
        for step in steps:
            match = CALCULATION.fullmatch(step)
            assert match, step
            a, sign, b, value = int(match[1]), match[2], int(match[3]), int(match[4])
            assert {a, b} <= known, (question, telling.answer)
            assert value * b == a if sign == "/" else value == {"+": a + b, "-": a - b, "*": a * b}[sign]
            known.add(value)
        assert last == f"#### {value}"
        assert question.endswith("?")


def test_asides_change_the_question_and_nothing_else() -> None:
    def told(asides: int) -> tuple[str, str]:
        telling = Telling(Random(5))
        STORIES[0](telling)
        return telling.question(asides), telling.answer

    plain, strewn = told(0), told(2)
    assert plain[1] == strewn[1]
    sentences = iter(re.split(r"(?<=[.?]) ", strewn[0]))
    assert all(sentence in sentences for sentence in re.split(r"(?<=[.?]) ", plain[0]))
    assert len(strewn[0]) > len(plain[0])


def test_a_story_that_does_not_work_out_is_refused() -> None:
    telling = Telling(Random(0))
    with pytest.raises(ValueError, match="below zero"):
        telling.minus(3, 5)
    with pytest.raises(ValueError, match="remainder"):
        telling.shared(7, 2)


def test_jsonl_gives_back_what_was_written(judged_by: list[Problem]) -> None:
    assert from_jsonl(as_jsonl(judged_by[:20])) == judged_by[:20]
    assert set(json.loads(as_jsonl(judged_by[:1]))) == {"question", "answer"}


def test_prompt_and_completion_are_one_text_in_the_format_of_lm_eval() -> None:
    problem = Problem("How many?", "1+2=3\n#### 3")
    assert prompt(problem.question) + completion(problem) == "Question: How many?\nAnswer: 1+2=3\n#### 3"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1+2=3\n#### 3", "3"),
        (" 900+400=1300\n#### 1,300.", "1300"),
        ("#### -4 #### 5", "-4"),
        ("1+2=3\n####", None),
        ("3", None),
        ("", None),
    ],
)
def test_the_result_is_what_strict_match_reads(text: str, number: str | None) -> None:
    assert result(text) == number
