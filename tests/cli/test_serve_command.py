"""`gdnbench serve` as a person types it, without a server: what is refused, and what a kept campaign says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import served
from gdnbench.cli import app, exits
from gdnbench.serving import recording


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "two variants are needed"),
        (["pr51913.before"], "two variants are needed"),
        (["pr51913.before", "pr51913.aftr"], "did you mean pr51913.after?"),
        (["pr51913.before", "pr51913.after", "--concurrency", "one"], "numbers from 1 to 4096"),
        (["pr51913.before", "pr51913.after", "--concurrency", "0"], "numbers from 1 to 4096"),
        (["pr51913.before", "pr51913.after", "--preset", "huge"], "known are tiny-cpu"),
        (["pr51913.before", "pr51913.after", "--method", "both"], "there are switch and apart"),
        (["pr51913.before", "pr51913.after", "--speculative", "eagle"], "neither JSON"),
        (["pr51913.before", "pr51913.after", "--fail-on", "worse"], "'worse' is no verdict"),
        (["pr51913.before", "pr51913.after", "--observation"], "give one variant twice"),
        (["pr40654.before", "pr40654.after"], "nothing reads the bound"),
        (["vllm@0.29.0", "fault:nothing"], "nothing"),
        (["--resume", "/nowhere"], "holds no campaign"),
        (["--recording", "/nowhere"], "there is no recording"),
    ],
)
def test_what_cannot_be_is_one_line(arguments, says, capsys):
    assert exits.run(app, ["serve", *arguments]) == 2
    out, err = capsys.readouterr()
    assert says in err and err.count("\n") == 1 and not out


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    plan = served.plan("pr51913.after", "pr51913.after+100us")
    path = tmp_path / "campaign.json.gz"
    recording.save(plan, served.campaign(plan, step=1.05), path)
    return path


def test_a_kept_campaign_is_judged_again(kept, capsys):
    assert exits.run(app, ["serve", "--recording", str(kept), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [row["verdict"] for row in found["rows"] if row["primary"]] == ["regressed"] * 2
    assert {"rows", "decomposition", "coverage", "invalid", "control"} <= found.keys()
    assert exits.run(app, ["serve", "--recording", str(kept), "--fail-on", "none"]) == 0
    assert "regressed" in capsys.readouterr().out


def test_a_kept_campaign_of_other_sides_is_refused(kept, capsys):
    assert exits.run(app, ["serve", "pr52078.before", "pr52078.after", "--recording", str(kept)]) == 2
    assert "as its before side" in capsys.readouterr().err


def test_a_recording_is_not_overwritten_after_an_hour_of_measuring(kept, capsys):
    before = kept.read_bytes()
    assert exits.run(app, ["serve", "vllm@0.29.0", "vllm@0.29.0", "--keep", str(kept)]) == 2
    assert "never overwritten" in capsys.readouterr().err
    assert kept.read_bytes() == before
