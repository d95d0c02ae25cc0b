"""What a comparison of answers is asked for: which servers, which task, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gdnbench.accuracy.campaign import AccuracyJournal, begin
from gdnbench.accuracy.lm_eval import engine_arguments
from gdnbench.accuracy.plan import AccuracyPlan
from gdnbench.accuracy.planning import plan_accuracy
from gdnbench.accuracy.tasks import find_task
from gdnbench.serving.planning import same_sides
from gdnbench.values.errors import EnvironmentMissing, UserError


def test_the_before_side_answers_twice_and_each_in_a_server_of_its_own() -> None:
    plan = plan_accuracy("pr51913.before", "pr51913.after")
    assert list(plan.sides.items()) == [
        ("before", "pr51913.before"),
        ("after", "pr51913.after"),
        ("control", "pr51913.before"),
    ]
    assert plan.launches == 3
    assert plan.server.speculative is None
    assert set(plan.releases.values()) == {"0.29.0"}


def test_speculation_is_on_where_the_change_is_about_it() -> None:
    assert plan_accuracy("pr52078.before", "pr52078.after").server.speculative == {
        "method": "mtp",
        "num_speculative_tokens": 2,
    }
    assert plan_accuracy("pr52078.before", "pr52078.after", speculative="none").server.speculative is None


def test_two_releases_have_servers_of_their_own_release() -> None:
    plan = plan_accuracy("vllm@0.30.0", "vllm@0.31.0")
    assert plan.releases == {"before": "0.30.0", "after": "0.31.0", "control": "0.30.0"}


def test_a_plan_is_read_as_it_was_written() -> None:
    plan = plan_accuracy("pr52078.before", "fault:rotated-states", limit=40, floor=0.02)
    assert AccuracyPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("pr40654.before", "pr40654.after"), "nothing reads the bound"),
        (("pr41873.before", "pr41873.after"), "fault table"),
        (("pr51913.before", "pr51913.after+2%"), "changes no answer"),
        (("pr51913.before", "fault:stale-prefilling"), "cannot express it"),
        (("pr51913.before", "fault:rotated-state"), "did you mean fault:rotated-states"),
        (("pr51913.before", "path:/src"), "releases only"),
    ],
)
def test_sides_that_cannot_answer_are_refused(arguments: tuple[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        plan_accuracy(*arguments)


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ({"task": "gsm9k"}, "word-problems and gsm8k"),
        ({"limit": 1}, "at least 2"),
        ({"floor": 0}, "between 0 and 100 points"),
        ({"preset_name": "huge"}, "known are"),
        ({"data": Path("/nowhere")}, "for gsm8k"),
        ({"shots": 3}, "for gsm8k"),
    ],
)
def test_options_that_make_no_sense_are_refused(named: dict, says: str) -> None:
    with pytest.raises(UserError, match=says):
        plan_accuracy("pr51913.before", "pr51913.after", **named)


def test_gsm8k_that_is_not_here_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentMissing, match="name a directory that has it"):
        plan_accuracy("pr51913.before", "pr51913.after", task="gsm8k", data=tmp_path)
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path))
    with pytest.raises(EnvironmentMissing, match="gdnbench data fetch gsm8k"):
        plan_accuracy("pr51913.before", "pr51913.after", task="gsm8k")


def test_a_task_file_needs_no_care_for_odd_paths(tmp_path: Path) -> None:
    folder = tmp_path / 'odd: "name" #1'
    folder.mkdir()
    for name in ("test.jsonl", "train.jsonl"):
        (folder / name).write_text("")
    text = find_task("gsm8k", folder, 3).to_yaml()
    line = next(line for line in text.splitlines() if "data_files" in line)
    assert json.loads(line.partition(":")[2]) == {name: str(folder / f"{name}.jsonl") for name in ("test", "train")}
    assert "num_fewshot: 3" in text
    assert "task: gsm8k-local" in text
    assert "fewshot_split: null" in find_task("word-problems").to_yaml()


def test_flags_of_a_server_as_arguments_of_its_engine() -> None:
    flags = ("--enforce-eager", "--dtype", "bfloat16", "--max-num-seqs=16", "--no-enable-prefix-caching", "--x-y", "-1")
    assert engine_arguments(flags) == {
        "enforce_eager": True,
        "dtype": "bfloat16",
        "max_num_seqs": 16,
        "enable_prefix_caching": False,
        "x_y": -1,
    }


def test_a_comparison_is_resumed_with_the_sides_that_it_has(tmp_path: Path) -> None:
    journal = begin(plan_accuracy("pr51913.before", "pr51913.after"), tmp_path / "run")
    again = AccuracyJournal.open(tmp_path / "run")
    assert again.plan == journal.plan
    assert again.missing() == (1, 2, 3)
    with pytest.raises(UserError, match=r"not pr52078\.after"):
        same_sides(again.plan, "pr51913.before", "pr52078.after")


def test_another_kind_of_campaign_is_no_comparison_of_answers(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text('{"schema": 1, "sides": {}}')
    with pytest.raises(UserError, match="no accuracy run"):
        AccuracyJournal.open(tmp_path)
