"""Every gdnbench command in the documents and sample pipelines exists, with its options; the pipelines are whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from commands import blocks, check, commands

ROOT = Path(__file__).parents[2]
PAGES = sorted(page for page in (*ROOT.glob("docs/**/*.md"), ROOT / "README.md") if page.name != "cli.md")
WITHOUT = {"comparison", "design", "index", "json", "limit", "metrics", "rule"}
"""Pages on which nothing is to be typed."""
CI = ROOT / "docs" / "ci"
STANDING_FOR = {"n": "51913", "matrix": "51913", "BASELINE": "main", "()": "main"}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_command_of_a_page_exists(page: Path):
    text = page.read_text("utf-8")
    scripts = [block[2] for block in blocks(text) if block[0] in ("sh", "console")]
    scripts += re.findall(r"(?:^ {4}.*\n)+", text, re.MULTILINE)
    found = [arguments for script in scripts for arguments in commands(script, {})]
    assert found or page.stem in WITHOUT
    for arguments in found:
        check(arguments)


def steps_of_github(workflow: dict) -> list[dict]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def scripts(path: Path) -> list[str]:
    found = yaml.safe_load(path.read_text("utf-8"))
    if path in BUILDKITE:
        return ["\n".join(step["command"]) for step in found["steps"] if "command" in step]
    return [step["run"] for step in steps_of_github(found) if "run" in step]


PIPELINES = sorted(CI.glob("*.yml"))
BUILDKITE = [path for path in PIPELINES if path.stem.startswith("buildkite")]
GITHUB = [path for path in PIPELINES if path.stem.startswith("github")]


def test_there_are_pipelines_for_both():
    assert {path.stem for path in BUILDKITE} == {"buildkite", "buildkite-nightly"}
    assert {path.stem for path in GITHUB} == {"github-actions", "github-comment"}


@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: path.stem)
def test_every_command_of_a_pipeline_exists(path: Path):
    found = [arguments for script in scripts(path) for arguments in commands(script, STANDING_FOR)]
    expected = {"buildkite": 3, "buildkite-nightly": 4, "github-actions": 2, "github-comment": 0}
    assert len(found) == expected[path.stem]
    for arguments in found:
        check(arguments)


@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: path.stem)
def test_every_target_of_make_exists(path: Path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for script in scripts(path):
        assert set(re.findall(r"\bmake ([a-z-]+)", script)) <= targets


@pytest.mark.parametrize("path", GITHUB, ids=lambda path: path.stem)
def test_a_github_workflow_is_whole(path: Path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow.keys() <= {"name", True, "permissions", "concurrency", "env", "jobs"}  # YAML reads `on` as true
    assert workflow[True]
    assert all(level in ("read", "write") for level in workflow["permissions"].values())
    for job in workflow["jobs"].values():
        assert job.keys() >= {"runs-on", "timeout-minutes", "steps"}
    for step in steps_of_github(workflow):
        assert ("run" in step) != ("uses" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])
        else:
            assert "${{" not in step["run"], "text from outside goes through the environment, never into a script"


def test_a_token_that_may_write_never_meets_code_of_a_pull_request():
    writing, reading = (
        yaml.safe_load((CI / name).read_text()) for name in ("github-comment.yml", "github-actions.yml")
    )
    assert set(reading["permissions"].values()) == {"read"}
    assert writing[True].keys() == {"workflow_run"}
    assert writing[True]["workflow_run"]["workflows"] == [reading["name"]]
    assert not [step for step in steps_of_github(writing) if "uses" in step]
    kept = next(step for step in steps_of_github(reading) if "upload-artifact" in step.get("uses", ""))
    assert f"--name {kept['with']['name']} " in "\n".join(scripts(CI / "github-comment.yml"))


@pytest.mark.parametrize("path", BUILDKITE, ids=lambda path: path.stem)
def test_a_buildkite_pipeline_is_whole(path: Path):
    pipeline = yaml.safe_load(path.read_text("utf-8"))
    for step in pipeline["steps"]:
        if "wait" in step:
            continue
        assert step.keys() >= {"label", "command", "agents", "timeout_in_minutes", "concurrency", "concurrency_group"}
        assert step["concurrency"] == 1, "two measurements on one machine spoil each other"
        text = "\n".join(step["command"])
        assert not re.search(r"(?<!\$)\$[\w({]", text), "a single $ is replaced when the pipeline is uploaded"


@pytest.mark.parametrize(
    "line", ["gdnbench gate --basline main", "gdnbench gat", "gdnbench step a b --launches many", "gdnbench evidence x"]
)
def test_a_command_that_does_not_exist_is_found(line: str):
    ((*arguments,),) = commands(line, {})
    with pytest.raises(Exception, match=r"basline|gat|valid integer"):
        check(arguments)


def test_commands_are_found_wherever_they_stand():
    script = 'mkdir x && .venv/bin/gdnbench gate \\\n  --baseline "$B" > y\n# gdnbench no\n'
    script += "for n in 1; do gdnbench list; done\n"
    assert commands(script, {"B": "main"}) == [["gate", "--baseline", "main"], ["list"]]
