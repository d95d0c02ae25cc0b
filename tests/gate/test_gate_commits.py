"""The gate against commits, in a repository of its own: what is broken, bought, lost and new between two commits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from copies import Copy

SCOPE = (
    "--variant",
    "pr51913.after",
    "--variant",
    "pr51565.after",
    "--scenario",
    "16q1s1k",
    "--scenario",
    "15q1s1k_q2k",
)


def git(copy: Copy, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = copy.run("git", *identity, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Copy:
    copy = Copy(tmp_path_factory.mktemp("repository"))
    (copy.root / ".gitignore").write_text("cache/\n")
    git(copy, "init", "--quiet", "--initial-branch=main")
    git(copy, "add", "--all")
    git(copy, "commit", "--quiet", "--message=all")
    return copy


@pytest.fixture
def copy(repository: Copy):
    yield repository
    git(repository, "checkout", "--quiet", "--force", "main")
    git(repository, "clean", "--quiet", "--force", "-d")


def gate(copy: Copy, *arguments: str, status: int = 0, **env: str) -> dict:
    done = copy.run("gdnbench", "gate", *arguments, "--json", **env)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def verdicts(found: dict) -> dict[tuple[str, str], str]:
    return {(row["variant"], row["scenario"]): row["verdict"] for row in found["rows"]}


def test_the_same_code_passes(copy: Copy):
    found = gate(copy, "--baseline", "main", *SCOPE)
    assert found["verdict"] == "same"
    assert found["unchanged"] is True
    assert found["before"]["commit"] == git(copy, "rev-parse", "HEAD")
    assert len(found["rows"]) == 4


def test_undoing_a_change_regresses_its_rows_and_no_others(copy: Copy):
    copy.edit("gdn_impl/pr51913.py", "        pass\n", "        common.compute_num_computed_tokens()\n")
    found = gate(copy, "--baseline", "main", *SCOPE, status=1)
    assert verdicts(found) == {
        ("pr51913.after", "16q1s1k"): "regressed",
        ("pr51565.after", "16q1s1k"): "regressed",
        ("pr51913.after", "15q1s1k_q2k"): "same",
        ("pr51565.after", "15q1s1k_q2k"): "same",
    }
    assert found["after"]["changed"] is True
    assert found["rows"][0]["reason"].startswith("device_ops 2 -> 4")
    assert gate(copy, "--baseline", "main", *SCOPE, "--fail-on", "invalid")["verdict"] == "regressed"


def test_a_builder_that_crashes_is_newly_failing_and_as_a_baseline_it_is_refused(copy: Copy):
    copy.edit("gdn_impl/pr51913.py", "        pass\n", "        raise TypeError('torn')\n")
    broken = gate(copy, "--baseline", "main", *SCOPE, status=1)
    assert broken["tally"] == {**dict.fromkeys(broken["tally"], 0), "newly failing": 4}
    assert broken["rows"][0]["reason"] == "TypeError: torn"
    git(copy, "checkout", "--quiet", "-b", "torn")
    git(copy, "commit", "--quiet", "--all", "--message=torn")
    git(copy, "checkout", "--quiet", "main")
    done = copy.run("gdnbench", "gate", "--baseline", "torn", *SCOPE)
    assert done.returncode == 2
    assert "all 4 rows that both sides have fail in the baseline" in done.stderr
    git(copy, "branch", "--quiet", "-D", "torn")


def test_a_change_that_left_the_catalogue_is_gone_and_one_that_came_is_new(copy: Copy):
    git(copy, "checkout", "--quiet", "-b", "fewer")
    text = (copy.root / "gdn_impl/catalog.py").read_text("utf-8")
    start, end = (
        text.index("        Change(\n            number=40654"),
        text.index("        Change(\n            number=51913"),
    )
    (copy.root / "gdn_impl/catalog.py").write_text(text[:start] + text[end:], "utf-8")
    scope = ("--scenario", "13q1s1k_3pad")

    found = gate(copy, "--baseline", "main", *scope, status=1)
    gone = {row["variant"]: row["verdict"] for row in found["rows"] if row["presence"] == "gone"}
    assert gone == {"pr40654.after": "invalid", "pr41873.after": "invalid"}
    allowed = gate(copy, "--baseline", "main", *scope, "--allow-gone", "pr40654*", "--allow-gone", "pr41873.after *")
    assert allowed["tally"]["gone"] == found["tally"]["gone"]

    git(copy, "commit", "--quiet", "--all", "--message=fewer")
    git(copy, "checkout", "--quiet", "main")
    found = gate(copy, "--baseline", "fewer", *scope)
    new = {row["variant"]: row["verdict"] for row in found["rows"] if row["presence"] == "new"}
    assert new == {"pr40654.after": None, "pr41873.after": None}
    git(copy, "branch", "--quiet", "-D", "fewer")


def test_a_saved_run_is_held_against_what_stands_here_now(copy: Copy):
    assert gate(copy, "--save", "cache/base.json", *SCOPE)["saved"] == "cache/base.json"
    copy.edit("gdn_impl/pr51913.py", "        pass\n", "        common.compute_num_computed_tokens()\n")
    found = gate(copy, "--baseline", "cache/base.json", status=1)
    assert len(found["rows"]) == 4  # what the baseline holds, not all that there is
    assert found["verdict"] == "regressed"


def test_a_name_that_is_both_a_file_and_a_commit_is_asked_about(copy: Copy):
    (copy.root / "main").write_text("{}")
    done = copy.run("gdnbench", "gate", "--baseline", "main")
    assert done.returncode == 2
    assert "both a file and a commit are called so" in done.stderr


@pytest.mark.parametrize("name", ["mian", "--help", "HEAD~99", "", "main:gdn_impl", "nowhere.json"])
def test_a_name_that_is_neither_is_one_line(copy: Copy, name: str):
    done = copy.run("gdnbench", "gate", f"--baseline={name}")
    assert done.returncode == 2
    assert "neither a file nor a commit" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("option", ["--variant", "--step"])
def test_what_is_the_same_in_every_commit_is_no_comparison(copy: Copy, option: str):
    done = copy.run("gdnbench", "gate", "--baseline", "main", option, "vllm@0.29.0", "--scenario", "q1s1k")
    assert done.returncode == 2
    assert "every commit has the same" in done.stderr


def test_a_commit_without_builders_is_one_line(copy: Copy):
    git(copy, "checkout", "--quiet", "--orphan", "empty")
    git(copy, "rm", "--quiet", "-r", "--cached", "gdn_impl")
    git(copy, "commit", "--quiet", "--message=none")
    git(copy, "checkout", "--quiet", "--force", "main")
    done = copy.run("gdnbench", "gate", "--baseline", "empty")
    git(copy, "branch", "--quiet", "-D", "empty")
    assert done.returncode == 2
    assert "holds no gdn_impl to count" in done.stderr


def test_neither_the_checkout_nor_its_index_is_touched(copy: Copy):
    copy.edit("gdn_impl/pr51913.py", '"""Only', '"""Yes, only')
    git(copy, "add", "gdn_impl/pr51913.py")
    before = git(copy, "status", "--porcelain")
    gate(copy, "--baseline", "HEAD", *SCOPE)
    assert git(copy, "status", "--porcelain") == before == "M  gdn_impl/pr51913.py"
    assert git(copy, "worktree", "list").count("\n") == 0


def test_annotations_mark_the_file_of_the_change(copy: Copy):
    copy.edit("gdn_impl/pr51913.py", "        pass\n", "        common.compute_num_computed_tokens()\n")
    done = copy.run("gdnbench", "gate", "--baseline", "main", *SCOPE, GITHUB_ACTIONS="true")
    marks = [line for line in done.stdout.splitlines() if line.startswith("::error ")]
    assert marks[0].startswith("::error file=gdn_impl/pr51913.py,title=pr51913.after build 16q1s1k%2C exact cost::")
    assert len(marks) == 2
    quiet = copy.run("gdnbench", "gate", "--baseline", "main", *SCOPE, "--no-annotations", GITHUB_ACTIONS="true")
    assert "::" not in quiet.stdout


@pytest.mark.slow
def test_step_time_against_a_commit_takes_turns_with_its_builders(copy: Copy):
    slower = "        import time\n\n        time.sleep(0.0002)\n"
    copy.edit("gdn_impl/pr51913.py", "        pass\n", slower)
    arguments = ("--variant", "pr51913.after", "--scenario", "16q1s1k", "--step", "pr51913.after", "--launches", "6")
    found = gate(copy, "--baseline", "main", *arguments, status=1)
    rows = {row["metric"]: row for row in found["rows"]}
    assert rows["exact cost"]["verdict"] == "same"
    assert rows["host_time"]["verdict"] == "regressed"
    assert rows["host_time"]["after"]["host_time"] > rows["host_time"]["before"]["host_time"] + 150


def test_the_copy_is_what_the_tests_run(copy: Copy):
    done = copy.run("python", "-c", "import gdn_impl, gdnbench; print(gdn_impl.__file__, gdnbench.__file__)")
    assert all(Path(place).is_relative_to(copy.root) for place in done.stdout.split())
