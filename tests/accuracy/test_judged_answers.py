"""The same documents on both sides: what is said of them, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gdnbench.accuracy.judging import judge_accuracy
from gdnbench.accuracy.outputs import read_output
from gdnbench.report import accuracy_words as words
from gdnbench.values.accuracy import AccuracyResult
from gdnbench.values.errors import UserError
from gdnbench.values.verdicts import Verdict
from lm_eval_folders import STAMP, answers, samples_of, write


def judged(
    tmp_path: Path,
    before: list[bool],
    after: list[bool],
    control: list[bool] | None = None,
    written: Mapping[str, Mapping[str, Any]] | None = None,
) -> AccuracyResult:
    """The runs are written, altered as `written` says by role, read and judged."""
    runs = {"before": before, "after": after, "control": control}
    outputs = {
        role: read_output(write(tmp_path / role, right, **(written or {}).get(role, {})))
        for role, right in runs.items()
        if right is not None
    }
    return judge_accuracy(outputs["before"], outputs["after"], outputs.get("control"))


def test_twelve_flips_against_twenty_seven(tmp_path: Path) -> None:
    result = judged(tmp_path, *answers(1319, 1100, lost=12, gained=27))
    row = result.primary
    assert row.p_value == pytest.approx(0.0237, abs=5e-4)
    assert (row.paired.lost, row.paired.gained, row.paired.documents) == (12, 27, 1319)
    assert row.unpaired_p > 0.4  # the pairing is what sees it
    assert result.verdict is Verdict.IMPROVED


def test_nine_flips_against_five_are_chance(tmp_path: Path) -> None:
    row = judged(tmp_path, *answers(1319, 1100, lost=5, gained=9)).primary
    assert row.p_value == pytest.approx(0.42, abs=0.005)
    assert row.verdict in (Verdict.SAME, Verdict.UNKNOWN)


def test_two_scores_without_samples_are_unknown_and_say_what_was_needed(tmp_path: Path) -> None:
    def score(value: float) -> Callable[[dict[str, Any]], None]:
        def change(found: dict[str, Any]) -> None:
            stderr = (value * (1 - value) / 1318) ** 0.5
            for name in ("strict-match", "flexible-extract"):
                found["results"]["word-problems"] |= {
                    f"exact_match,{name}": value,
                    f"exact_match_stderr,{name}": stderr,
                }

        return change

    right = [True] * 660 + [False] * 659
    named = {
        "before": {"results": score(0.3472), "samples": lambda found: None},
        "after": {"results": score(0.3533), "samples": lambda found: None},
    }
    result = judged(tmp_path, right, right, written=named)
    row = result.primary
    assert result.verdict is Verdict.UNKNOWN
    assert row.paired is None
    assert row.significant == pytest.approx(0.036, abs=5e-4)
    assert row.with_power == pytest.approx(0.052, abs=5e-4)
    assert "without pairing" in words.headline(result)
    assert "3.6 points would be significant" in row.reason
    assert any(caveat.code == "no-samples" for caveat in result.warnings)


def test_a_great_loss_is_seen_at_twenty_documents_and_a_small_one_is_not(tmp_path: Path) -> None:
    assert judged(tmp_path / "a", *answers(20, 14, lost=8)).verdict is Verdict.REGRESSED
    small = judged(tmp_path / "b", *answers(20, 14, lost=2))
    assert small.verdict is Verdict.UNKNOWN
    assert "would be significant" in small.primary.reason


def test_equal_answers_of_many_documents_are_the_same(tmp_path: Path) -> None:
    before, after = answers(1319, 1100)
    result = judged(tmp_path, before, after, after)
    assert result.verdict is Verdict.SAME
    assert result.flips == ()
    assert result.primary.control.lost == 0


def test_where_nothing_is_right_no_loss_can_be_shown(tmp_path: Path) -> None:
    before, after = answers(1319, 2)
    result = judged(tmp_path, before, after)
    assert result.verdict is Verdict.UNKNOWN
    assert "cannot show a loss" in result.primary.reason
    assert "word-problems" in words.advice(result)


def test_flips_carry_question_and_both_answers(tmp_path: Path) -> None:
    result = judged(tmp_path, *answers(100, 90, lost=1, gained=1))
    strict = [flip for flip in result.flips if flip.filter == "strict-match"]
    assert [(flip.direction, flip.question) for flip in strict] == [("lost", "q 0"), ("gained", "q 90")]
    assert strict[0].before.endswith("#### 0")
    assert strict[0].after.endswith("#### -1")


def test_a_control_that_differs_is_a_caveat(tmp_path: Path) -> None:
    before, after = answers(500, 400)
    result = judged(tmp_path, before, after, answers(500, 400, lost=20)[1])
    assert any(caveat.code == "control-differs" for caveat in result.warnings)


def setting(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        for name in path[:-1]:
            found = found[name]
        found[path[-1]] = value

    return change


UNLIKE = {
    "version": setting("versions", "word-problems", value=2.0),
    "n_shot": setting("n-shot", "word-problems", value=8),
    "fewshot_seed": setting("config", "fewshot_seed", value=42),
    "limit": setting("config", "limit", value=100.0),
    "chat_template": setting("chat_template_sha", value="abc"),
    "system_prompt": setting("system_instruction_sha", value="abc"),
    "generation": setting("config", "gen_kwargs", value={"temperature": 1.0}),
    "template": setting("configs", "word-problems", "doc_to_text", value="Q: {{question}}"),
}


@pytest.mark.parametrize("code", UNLIKE)
def test_settings_that_must_be_the_same(code: str, tmp_path: Path) -> None:
    right = answers(60, 50)[0]
    result = judged(tmp_path, right, right, written={"after": {"results": UNLIKE[code]}})
    assert [fault.code for fault in result.invalid] == [code]
    assert result.verdict is Verdict.INVALID
    assert all(row.verdict is Verdict.INVALID for row in result.rows)
    assert code in words.headline(result)


@pytest.mark.parametrize("name", ["lm_eval_version", "transformers_version"])
def test_settings_that_are_only_listed(name: str, tmp_path: Path) -> None:
    right = answers(60, 50)[0]
    result = judged(tmp_path, right, right, written={"after": {"results": setting(name, value="0.0.1")}})
    assert not result.invalid
    assert any(caveat.code == "unlike" and "0.0.1" in caveat.message for caveat in result.warnings)


def test_where_a_server_listened_does_not_matter(tmp_path: Path) -> None:
    right = answers(60, 50)[0]
    other = setting("config", "model_args", "base_url", value="http://127.0.0.1:2/v1/completions")
    assert not [
        c for c in judged(tmp_path, right, right, written={"after": {"results": other}}).warnings if c.code == "unlike"
    ]


def test_doubled_lines_count_once(tmp_path: Path) -> None:
    before, after = answers(50, 40, lost=7)
    result = judged(tmp_path, before, after, written={"before": {"samples": lambda found: found + found}})
    assert result.primary.paired.documents == 50
    assert any(caveat.code == "doubled" for caveat in result.warnings)
    assert result.verdict is Verdict.REGRESSED


def test_doubled_lines_that_contradict_each_other_are_invalid(tmp_path: Path) -> None:
    before, after = answers(50, 40)
    spoilt = {"samples": lambda found: found + samples_of(answers(50, 40, lost=3)[1])}
    assert "contradicting" in [
        fault.code for fault in judged(tmp_path, before, after, written={"before": spoilt}).invalid
    ]


def test_missing_documents_are_invalid_with_their_number(tmp_path: Path) -> None:
    before, after = answers(50, 40)
    lacking = {"samples": lambda found: [line for line in found if line["doc_id"] >= 5]}
    result = judged(tmp_path, before, after, written={"after": lacking})
    faults = {fault.code: fault.message for fault in result.invalid}
    assert set(faults) >= {"missing_documents"}
    assert any("45 of 50" in fault.message for fault in result.invalid)


def test_reordered_documents_are_joined_by_content(tmp_path: Path) -> None:
    before, after = answers(50, 40, lost=7)

    def reorder(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for line in found:
            line["doc_id"] = 49 - line["doc_id"]
        return found[::-1]

    result = judged(tmp_path, before, after, written={"after": {"samples": reorder}})
    assert (result.primary.paired.lost, result.primary.paired.gained) == (7, 0)
    assert not result.invalid
    assert any(caveat.code == "reordered" for caveat in result.warnings)


def test_other_documents_under_the_same_numbers_are_invalid(tmp_path: Path) -> None:
    right = answers(50, 40)[0]

    def other(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [line | {"doc_hash": "x" + line["doc_hash"]} for line in found]

    result = judged(tmp_path, right, right, written={"after": {"samples": other}})
    assert "50 are in the first alone, 50 in the second" in result.invalid[0].message


def test_other_prompts_to_the_same_documents_are_invalid(tmp_path: Path) -> None:
    right = answers(50, 40)[0]

    def other(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [line | {"prompt_hash": "x"} for line in found]

    result = judged(tmp_path, right, right, written={"after": {"samples": other}})
    assert [fault.code for fault in result.invalid] == ["prompts"]
    assert "50 of 50" in result.invalid[0].message


def test_samples_without_filter_are_not_guessed(tmp_path: Path) -> None:
    before, after = answers(50, 40, lost=7)

    def unfiltered(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{key: value for key, value in line.items() if key != "filter"} for line in found]

    result = judged(tmp_path, before, after, written={"before": {"samples": unfiltered}})
    assert result.primary.paired is None
    assert any(caveat.code == "no-filter" for caveat in result.warnings)


def test_scores_that_are_not_those_of_the_samples_are_invalid(tmp_path: Path) -> None:
    right = answers(50, 40)[0]
    other = setting("results", "word-problems", "exact_match,strict-match", value=0.5)
    result = judged(tmp_path, right, right, written={"after": {"results": other}})
    assert {"samples", "standard_error"} <= {fault.code for fault in result.invalid}


def test_a_standard_error_of_another_number_of_documents(tmp_path: Path) -> None:
    right = answers(100, 77)[0]
    other = setting("results", "word-problems", "exact_match_stderr,strict-match", value=0.1)
    result = judged(tmp_path, right, right, written={"after": {"results": other}})
    assert "19 documents, and there are 100" in result.invalid[0].message


@pytest.mark.parametrize("text", ["", "{", "[]", '{"results": {}}', '{"results": 3}', "[" * 100_000])
def test_damaged_results_are_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / f"results_{STAMP}.json").write_text(text)
    with pytest.raises(UserError, match="results_") as error:
        read_output(tmp_path)
    assert "\n" not in str(error.value)


def test_an_interrupted_run_is_told(tmp_path: Path) -> None:
    (tmp_path / f"samples_gsm8k_{STAMP}.jsonl").write_text("")
    with pytest.raises(UserError, match="interrupted"):
        read_output(tmp_path)


def test_a_sample_that_is_cut_off_is_told_with_its_line(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", answers(50, 40)[0])
    path = next(folder.glob("*/samples_*.jsonl"))
    path.write_text(path.read_text()[:-40])
    with pytest.raises(UserError, match="line 100: no sample"):
        read_output(folder)


def test_several_tasks_ask_for_a_choice(tmp_path: Path) -> None:
    def two(found: dict[str, Any]) -> None:
        found["results"]["other"] = found["results"]["word-problems"]

    folder = write(tmp_path / "run", answers(50, 40)[0], results=two)
    with pytest.raises(UserError, match="--task"):
        read_output(folder)
    assert read_output(folder, "word-problems").documents == 50


def test_nothing_of_a_result_is_lost_in_json(tmp_path: Path) -> None:
    before, after = answers(50, 40, lost=7)
    found = json.loads(json.dumps(judged(tmp_path, before, after, before).to_json()))
    row = found["rows"][0]
    assert row["lost"] == 7
    assert row["control"] == {"both_right": 40, "both_wrong": 10, "lost": 0, "gained": 0}
    assert row["verdict"] == "regressed"
    assert len(found["flips"]) == 14
