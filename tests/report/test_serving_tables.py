"""What `gdnbench serve` tells: tables for a person by a golden for each behaviour, and JSON for programs."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gdnbench.cli.serve import serve
from gdnbench.report.serving import print_json, print_tables
from gdnbench.report.serving_words import ADVICE, advice, headline, in_short
from gdnbench.serving import campaign as campaigns
from gdnbench.serving.again import command
from gdnbench.serving.judged import judge_serving
from gdnbench.serving.planning import plan_serve
from gdnbench.values.errors import UserError
from gdnbench.values.verdicts import Verdict
from served import MTP, campaign, plan, with_blocks

GOLDENS = Path(__file__).parents[1] / "goldens" / "report"
RELEASES = plan("vllm@0.30.0", "vllm@0.31.0", method="apart", releases=("0.30.0", "0.31.0"))
SPECULATIVE = plan("pr52078.before", "pr52078.after", speculative=MTP)
UNSPECULATIVE = plan("pr52078.before", "pr52078.after", launches=4)


def failing(asked):
    return with_blocks(
        campaign(asked), lambda b: replace(b, failed=2, completed=b.completed - 2) if b.concurrency == 16 else b
    )


def told(asked, launches, capsys):
    print_tables(asked, launches, judge_serving(asked, launches), Path("/somewhere"))
    return "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    ("name", "asked", "launches"),
    [
        ("a-server-that-is-the-same", plan(), campaign(plan())),
        ("a-server-whose-acceptance-drifts", SPECULATIVE, campaign(SPECULATIVE, accepted=1.02)),
        ("a-server-that-never-ran-the-change", UNSPECULATIVE, campaign(UNSPECULATIVE)),
        ("a-server-that-fails-requests", plan(), failing(plan())),
        ("a-release-that-is-slower-than-another", RELEASES, campaign(RELEASES, step=1.05)),
        ("a-server-with-too-few-launches", plan(launches=3), campaign(plan(launches=3), step=1.1)),
    ],
)
def test_the_tables(name, asked, launches, capsys):
    path, text = GOLDENS / f"{name}.txt", told(asked, launches, capsys)
    if not path.exists():
        path.write_text(text, "utf-8")
        pytest.fail(f"{path.name} was written: read it, then commit it")
    assert text == path.read_text("utf-8")


def test_there_is_one_headline_and_the_last_line_says_what_to_do(capsys):
    lines = told(plan(), campaign(plan(), step=1.05), capsys).splitlines()
    verdicts = [line for line in lines if line.startswith("regressed: ")]
    assert lines[0] == verdicts[0] and len(verdicts) == 1
    assert lines[-1].startswith("Next: ") and "/somewhere" in lines[-2]
    first_secondary = next(at for at, line in enumerate(lines) if line.startswith("Everything else"))
    assert all("TTFT" not in line for line in lines[:first_secondary]), "secondary rows stand behind"


def test_hostile_text_of_a_server_is_inert(capsys):
    notes = ("[red]unbelievable[/nonsense]",)
    launches = [replace(one, servers=(replace(one.servers[0], notes=notes),)) for one in campaign(plan())]
    assert "[red]unbelievable[/nonsense]" in told(plan(), launches, capsys)


def test_json_has_what_is_promised(capsys):
    launches = campaign(SPECULATIVE)
    print_json(SPECULATIVE, launches, judge_serving(SPECULATIVE, launches), Path("/somewhere"))
    found = json.loads(capsys.readouterr().out)
    assert {"rows", "decomposition", "coverage", "invalid", "control", "controls", "warnings", "verdict"} <= set(found)
    row = "concurrency metric statistic unit primary before after ratio ci launches verdict smallest_detectable"
    assert all(set(row.split()) <= set(one) for one in (*found["rows"], found["control"], *found["controls"]))
    split = "concurrency throughput_ratio step_time_ratio acceptance_ratio rest_ratio step_time_verdict"
    assert all(set(split.split()) <= set(one) for one in found["decomposition"])
    assert [one["concurrency"] for one in found["rows"] if one["primary"]] == [1, 16]
    assert found["coverage"]["ran"]["after"] > 0 and found["coverage"]["needs"] == "steps with drafts"
    assert found["coverage"]["roles"]["after"][0].keys() == {"kind", "staged", "builds", "mean_us", "median_us"}
    assert (found["before"], found["after"]) == ("pr52078.before", "pr52078.after")
    assert found["identity"]["runner"] == dict.fromkeys(("before", "after", "control"), "V1")
    assert found["identity"]["speculative"] == MTP and found["identity"]["graphs"]["before"] == "NONE"
    assert found["journal"] == "/somewhere" and len(found["seconds"]) == 9
    assert found["verdict"] == "same" and found["headline"].startswith("same: ")


def test_json_names_what_is_invalid(capsys):
    launches = failing(plan())
    print_json(plan(), launches, judge_serving(plan(), launches), Path("/somewhere"))
    found = json.loads(capsys.readouterr().out)
    failed = next(fault for fault in found["invalid"] if fault["code"] == "failed")
    assert failed["concurrency"] == 16 and "2 of 32 requests failed" in failed["message"]
    verdicts = {row["concurrency"]: row["verdict"] for row in found["rows"] if row["primary"]}
    assert verdicts == {1: "same", 16: "invalid"} and found["verdict"] == "invalid"


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (1.0, "in a live server tok/s is same within 1 % at concurrency 1 and same within 1 % at 16"),
        (1.05, "in a live server tok/s is regressed (-4.2 %) at concurrency 1 and regressed (-3.7 %) at 16"),
    ],
)
def test_a_server_in_one_clause(step, says):
    assert in_short(judge_serving(plan(), campaign(plan(), step))) == says


def test_mixed_verdicts_are_told_apart_in_the_headline():
    launches = with_blocks(
        campaign(plan()),
        lambda b: (
            b
            if (b.role, b.concurrency) != ("after", 1)
            else replace(
                b,
                duration_s=b.duration_s * 1.1,
                figures={k: v / 1.1 if "throughput" in k else v for k, v in b.figures.items()},
            )
        ),
        number=None,
    )
    text = headline(judge_serving(plan(), launches))
    assert text.startswith("regressed: ") and re.search(r"tok/s -9\.[0-2] % at concurrency 1", text)
    assert text.count("same") == 1 and "at 16 (95 % interval" in text


@pytest.mark.parametrize(
    ("asked", "launches", "says"),
    [
        (plan(), campaign(plan()), "gdnbench step pr51913.before pr51913.after"),
        (plan(), campaign(plan(), step=1.1), "gdnbench cost pr51913.before pr51913.after"),
        (plan(launches=3), campaign(plan(launches=3), step=1.1), "--launches 7"),
        (plan(), failing(plan()), ADVICE["failed"]),
    ],
)
def test_the_advice(asked, launches, says):
    assert says in advice(judge_serving(asked, launches), "gdnbench serve --launches {launches}")


def test_every_fault_comes_with_advice():
    """The codes stand in the texts of the modules that find them."""
    folder = Path(judge_serving.__code__.co_filename).parent / "judging"
    codes = set()
    for path in folder.glob("*.py"):
        for line in path.read_text("utf-8").splitlines():
            if 'Finding("' in line:
                codes.add(line.partition('Finding("')[2].partition('"')[0])
            if line.startswith('    "') and line.endswith(",") and '": _' in line:
                codes.add(line.split('"')[1])
    codes |= {"impossible", "inconsistent", "no_samples"}
    assert codes - {"output_throughput", "total_token_throughput", "request_throughput"} == set(ADVICE)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"concurrency": (4,), "launches": 12},
        {"before": "vllm@0.30.0", "after": "vllm@0.31.0"},
        {"before": "pr52078.before", "after": "pr52078.after", "speculative": "mtp"},
        {"speculative": '{"method": "ngram", "num_speculative_tokens": 3}', "output_len": 300, "seed": 5},
        {"dataset": Path("/data/Share GPT.json"), "flags": ("--dtype", "float32"), "release": "0.32.0"},
        {"method": "apart", "model": "Qwen/Qwen3-Next", "tokenizer": Path("/tokens")},
        {"preset_name": "qwen3.6-dflash", "speculative": "none"},
        {"before": "pr51565.before", "after": "pr51565.after"},
    ],
)
def test_the_command_asks_the_same_again(options):
    options = {"before": "pr51913.before", "after": "pr51913.after", **options}
    asked = plan_serve(options.pop("before"), options.pop("after"), **options)
    line = command(asked).format(launches=asked.launches)
    words = shlex.split(line)
    assert words[:2] == ["gdnbench", "serve"]
    assert parsed(words[2:]) == asked


def test_after_a_first_look_comes_a_whole_campaign():
    look = plan_serve("pr52078.before", "pr52078.after", speculative="mtp", quick=True)
    line = command(look).format(launches=42)
    assert line == "gdnbench serve pr52078.before pr52078.after --speculative mtp --launches 42"
    whole = plan_serve("pr52078.before", "pr52078.after", speculative="mtp", launches=42)
    assert parsed(shlex.split(line)[2:]) == whole


def parsed(words):
    """The plan that the command line makes of these words."""
    seen = []

    def stop(asked, say=None):
        seen.append(asked)
        raise UserError("seen")

    alone = typer.Typer()
    alone.command()(serve)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaigns, "check_releases", stop)
        outcome = CliRunner().invoke(alone, words)
    assert seen, outcome.output
    return seen[0]


def test_a_verdict_that_nothing_settles_says_so():
    result = judge_serving(plan(), campaign(plan(), step=1.01, scatter=0.0001))
    rows = tuple(
        replace(row, judgement=replace(row.judgement, verdict=Verdict.UNKNOWN, more_launches=None))
        for row in result.rows
    )
    assert "nothing that more launches would settle" in advice(replace(result, rows=rows), "{launches}")
