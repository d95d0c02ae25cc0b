"""`gdnbench accuracy` and `gdnbench faults` as a person types them, without a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gdnbench.cli import app, exits
from lm_eval_folders import STAMP, answers, write

PAIR = ["pr51913.before", "pr51913.after"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "two variants are needed"),
        (["pr51913.before", "pr51913.aftr"], "did you mean pr51913.after?"),
        ([*PAIR, "--task", "gsm9k"], "word-problems and gsm8k"),
        ([*PAIR, "--limit", "1"], "greater than or equal to 2"),
        ([*PAIR, "--floor", "0"], "between 0 and 100 points"),
        ([*PAIR, "--backend", "hf"], "local-completions and vllm"),
        ([*PAIR, "--preset", "huge"], "known are tiny-cpu"),
        ([*PAIR, "--speculative", "eagle"], "neither JSON"),
        ([*PAIR, "--fail-on", "worse"], "'worse' is no verdict"),
        (["pr40654.before", "pr40654.after"], "nothing reads the bound"),
        (["pr51913.before", "fault:nonsense"], "known: stale-prefilling"),
        (["--resume", "/nowhere"], "holds no campaign"),
        (["--from"], "two folders are needed"),
        (["--from", "/nowhere", "/nowhere"], "no such folder"),
        (["--from", "/tmp", "/tmp", "--floor", "100"], "between 0 and 100 points"),
    ],
)
def test_what_cannot_be_is_one_line(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exits.run(app, ["accuracy", *arguments]) == 2
    out, err = capsys.readouterr()
    assert says in err
    assert err.count("\n") == 1
    assert not out


def test_gsm8k_that_is_not_here_is_a_matter_of_the_environment(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path))
    assert exits.run(app, ["accuracy", *PAIR, "--task", "gsm8k"]) == 4
    assert "gdnbench data fetch gsm8k" in capsys.readouterr().err


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    before, after = answers(1319, 1100, lost=27, gained=12)
    return str(write(tmp_path / "before", before)), str(write(tmp_path / "after", after))


def test_finished_folders_are_judged(folders: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert exits.run(app, ["accuracy", "--from", *folders, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "regressed"
    assert found["headline"].startswith(f"regressed: {folders[0]} -> {folders[1]} on word-problems")
    assert found["rows"][0]["p_value"] == pytest.approx(0.0237, abs=5e-4)
    assert found["journal"] is None
    assert exits.run(app, ["accuracy", "--from", *folders, "--fail-on", "invalid", "--json"]) == 0


def test_a_person_reads_pairs_flips_and_what_lm_eval_prints(folders, capsys: pytest.CaptureFixture[str]) -> None:
    exits.run(app, ["accuracy", "--from", *folders])
    out = capsys.readouterr().out
    for text in ("27 lost and 12 gained (p = 0.024)", "0.8340 ± 0.0102", "flips (strict-match), 6 of 39", "Next: look"):
        assert text in out


def test_a_floor_in_points_decides_what_matters(folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert exits.run(app, ["accuracy", "--from", *folders, "--floor", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "same"


def test_hostile_text_in_samples_stays_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def hostile(found):
        for line in found:
            line["doc"]["question"] = "[red]x[/red] \x1b[31m"
            line["resps"] = [["\x1b]0;title\x07 [bold]"]]
        return found

    before, after = answers(60, 50, lost=9)
    folders = [str(write(tmp_path / name, right, samples=hostile)) for name, right in (("a", before), ("b", after))]
    assert exits.run(app, ["accuracy", "--from", *folders]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[red]x[/red]" in out


def test_a_task_is_chosen_from_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def two(found):
        found["results"]["other"] = found["results"]["word-problems"]

    right = answers(60, 50)[0]
    folders = [str(write(tmp_path / name, right, results=two)) for name in ("a", "b")]
    assert exits.run(app, ["accuracy", "--from", *folders]) == 2
    assert "choose one by --task" in capsys.readouterr().err
    assert exits.run(app, ["accuracy", "--from", *folders, "--task", "word-problems", "--json"]) == 0


def test_a_damaged_folder_is_one_line(folders: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(folders[1]) / "served" / f"results_{STAMP}.json"
    path.write_text(path.read_text()[:100])
    assert exits.run(app, ["accuracy", "--from", *folders]) == 2
    err = capsys.readouterr().err
    assert str(path) in err
    assert err.count("\n") == 1


def test_faults_without_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert exits.run(app, ["faults", "--no-server", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {row["fault"]: row for row in found["rows"]}
    assert {name for name, row in rows.items() if not row["caught"]} == {"rotated-states-every-7"}
    assert {row["by"] for row in rows.values() if row["caught"]} == {"equality"}
    assert rows["bound-as-index"]["seen"].startswith("16q9s1kd8: num_accepted_tokens")
    assert [row["caught"] for row in found["sound"]] == [False, False]
    assert exits.run(app, ["faults", "--no-server"]) == 0
    assert "7 of 8 faults caught; not caught: rotated-states-every-7 (no server was asked)" in capsys.readouterr().out
