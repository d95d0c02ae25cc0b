"""docs/adding-a-change.md, followed word for word in a copy of the packages."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from commands import blocks
from copies import ROOT, Copy

PAGE = (ROOT / "docs" / "adding-a-change.md").read_text("utf-8")


def follow(copy: Copy, language: str, title: str | None, text: str) -> None:
    """Do what one block of the page says: run its commands, write its file, or make its edit."""
    if language == "console":
        for part in text.removeprefix("$ ").split("\n$ "):
            command, *shown = part.splitlines()
            said = run(copy, command)
            for line in shown:
                pattern = ".*".join(map(re.escape, line.split("...")))
                assert any(re.search(pattern, one) for one in said), f"{command}: no {line!r} in\n" + "\n".join(said)
    elif title is not None and language == "diff":
        lines = text.splitlines()
        old = "\n".join(line[1:] for line in lines if not line.startswith("+"))
        new = "\n".join(line[1:] for line in lines if not line.startswith("-"))
        copy.edit(title, old, new)
    elif title is not None:
        (copy.root / title).write_text(text, "utf-8")


def run(copy: Copy, command: str) -> list[str]:
    words = shlex.split(command)
    done = copy.run(*words, *(["-p", "no:cacheprovider"] if "pytest" in words else []))
    assert done.returncode == 0, f"{command}: {done.stderr or done.stdout}"
    return done.stdout.splitlines()


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    made = Copy(tmp_path, "tests/conftest.py", "tests/strategies.py", "tests/gdn_impl")
    (made.root / ".gitignore").write_text("cache/\n__pycache__/\n.hypothesis/\n")
    for arguments in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
    ):
        assert made.run("git", *arguments).returncode == 0
    return made


def test_the_page_is_followed_word_for_word(copy: Copy):
    done = [block for block in blocks(PAGE) if block[0] != "sh"]
    assert {block[0] for block in done} == {"console", "python", "diff"}
    for block in done:
        follow(copy, *block)


def test_the_code_of_the_page_is_as_the_linters_want_it(copy: Copy):
    for block in blocks(PAGE):
        if block[0] != "sh" and "pytest" not in block[2] and "gate" not in block[2]:
            follow(copy, *block)
    for check in (["format", "--check"], ["check"]):
        done = copy.run("python", "-m", "ruff", *check, "gdn_impl", "tests/gdn_impl", "--no-cache")
        assert done.returncode == 0, done.stdout
