"""`gdnbench check` as a person types it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from gdnbench.cli import app, exits
from pasted import AFTER, BEFORE, FAST_ALONE, SLOW_ALONE, block, result_file

GOLDENS = Path(__file__).parents[1] / "goldens" / "check"
PAIR = f"## Main\n```\n{block(BEFORE)}```\n## This PR\n```\n{block(AFTER)}```\n"


@pytest.fixture
def paste(monkeypatch: pytest.MonkeyPatch):
    """Puts a text on standard input."""

    def put(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return put


def run(*arguments: str) -> int:
    return exits.run(app, ["check", *arguments])


@pytest.mark.parametrize(
    ("name", "text", "arguments", "status"),
    [
        ("a-sound-pair", PAIR, ["--claim", "output_tps +12% @ c=16", "--claim", "build -300us"], 0),
        ("acceptance-explains-it", f"before\n{block(SLOW_ALONE)}\nafter\n{block(FAST_ALONE)}", [], 1),
        ("one-result-alone", block(BEFORE), [], 0),
    ],
)
def test_what_a_person_reads(name, text, arguments, status, paste, capsys):
    paste(text)
    assert run("-", *arguments) == status
    out = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
    assert out == (GOLDENS / f"{name}.txt").read_text("utf-8")


def test_what_cannot_be_has_no_change(paste, capsys):
    for value in (-1.2, 0.0, float("inf"), float("nan")):
        paste(f"before\n{block(BEFORE)}\nafter\n{block({**AFTER, 'mean_tpot_ms': value})}")
        assert run("-") == 1
        (row,) = (line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("mean_tpot_ms"))
        assert row[2] == "10.76" and row[4:6] == ["n/a", "invalid"]


def test_failed_and_skipped_benchmarks_of_a_file_are_listed(paste, capsys):
    columns = ["result", "params", "version"]
    results = {"s.time_a": [[None, float("nan"), 2.0], [["1", "2", "3"]], "1"], "s.time_b": [[60.0]]}
    paste(json.dumps({"results": results, "result_columns": columns, "version": 2, "commit_hash": "7e5365f0"}))
    assert run("-") == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("s.time")]
    assert shown == [
        ["s.time_a(3)", "2.00"],
        ["s.time_a(1)", "failed"],
        ["s.time_a(2)", "skipped"],
        ["s.time_b", "timed", "out"],
    ]


def test_json_is_one_object(paste, capsys):
    paste(PAIR)
    assert run("-", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "unknown" and found["pairs"][0]["validity"] == "valid"
    assert found["headlines"][0].startswith("unknown at concurrency 16: output throughput +12.2 %")


def test_files_by_option(tmp_path, capsys):
    for name, figures in (("x.json", BEFORE), ("y.json", AFTER)):
        (tmp_path / name).write_text(json.dumps(result_file(figures)))
    x, y = str(tmp_path / "x.json"), str(tmp_path / "y.json")
    assert run("--before", y, "--after", x, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"][0]["before"] == [y] and found["records"][0]["side_reason"] == "--before"
    assert run(x, y, "--pair", "2,1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["pairs"][0]["before"] == [y]


def test_fail_on_names_the_verdicts_that_fail(paste):
    for fail_on, status in (("unknown", 1), ("none", 0), ("invalid", 0)):
        paste(PAIR)
        assert run("-", "--fail-on", fail_on) == status


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "a file is needed"),
        (["/nowhere.json"], "no such file"),
        (["-", "--pair", "1"], "two numbers of records are needed"),
        (["-", "--pair", "1,9"], "there are 2 records"),
        (["-", "--claim", "faster"], "a metric and a change are needed"),
        (["-", "--floor", "0"], "between 0 and 100 points"),
        (["-", "--fail-on", "bad"], "is no verdict"),
        (["-", "--groups", "0"], "greater than or equal to 1"),
        (["--before", "a", "--after", "a"], "no such file"),
    ],
)
def test_what_cannot_be_is_one_line(arguments, says, paste, capsys):
    paste(PAIR)
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert says in err and err.count("\n") == 1 and not out


def test_one_file_cannot_be_both_sides(tmp_path, capsys):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(result_file(BEFORE)))
    assert run("--before", str(path), "--after", str(path)) == 2
    assert "is named both --before and --after" in capsys.readouterr().err


def test_hostile_labels_are_inert(paste, capsys):
    evil = "after <script>alert(1)</script> [bold]x[/bold] `y` | z \x1b]0;title\x07\x1b[31m"
    table = "| Metric | before [red]a[/red] | after \x1b[5m`b` |\n|---|---|---|\n| Mean TTFT (ms) | 1.00 | 2.00 |\n"
    cells = "| \x1b[31m<script>[red]Happiness | 3.00 | \u202e4.00\x07 |\n"
    paste(f"before\n{block(BEFORE)}\n## {evil}\n{block(AFTER)}\n{table}{cells}")
    assert run("-", "--fail-on", "none") == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out and "\x07" not in out and "\u202e" not in out
    assert "[bold]x[/bold]" in out and "before [red]a[/red]" in out, "markup is shown, not obeyed"
    paste(f"before\n{block(BEFORE)}\n## {evil}\n{block(AFTER)}\n{table}{cells}")
    run("-", "--json")
    assert "\x1b" not in capsys.readouterr().out


def test_hostile_names_in_json_are_inert(paste, capsys):
    name = "\x1b[31m[red]x\x07"
    paste("\n".join(json.dumps([{"name": name, "unit": "\x1b[1ms", "value": value}]) for value in (1.0, 2.0)))
    assert run("-") == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out and "\x07" not in out and "[red]x" in out


def test_help_names_what_is_read(capsys):
    assert run("--help") == 0
    out = " ".join(capsys.readouterr().out.split())
    for what in ("vllm bench serve", "lm-eval", "asv", "github-action-benchmark", "gdnbench check"):
        assert what in out
