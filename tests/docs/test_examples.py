"""What the documents tell a reader to type is typed, and every page is in the site."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gdnbench.cli import app, exits

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
FOLLOWED = {"adding-a-change.md", "gate-a-repository.md", "shifts.md", "cli.md"}
"""By tests of their own; `cli.md` lists what can be typed."""
BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
MEASURES = ("step", "serve", "accuracy", "evidence")
MAY_FAIL = {exits.DONE, exits.FAILING_VERDICT}
"""A verdict may be a bad one; whatever else a command ends with is the page's mistake."""


def typed() -> list[object]:
    """Every command line of a console block; those that measure are slow."""
    found = []
    for page in (page for page in PAGES if page.name not in FOLLOWED):
        for block in BLOCK.findall(page.read_text("utf-8")):
            for line in re.findall(r"^\$ gdnbench (.*)$", block, re.MULTILINE):
                words = shlex.split(line)
                marks = [pytest.mark.slow] if words[0] in MEASURES else []
                found.append(pytest.param(words, marks=marks, id=f"{page.name}: {line[:60]}"))
    return found


@pytest.mark.parametrize("words", typed())
def test_commands_of_the_documents_run(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    status = exits.run(app, words)
    out, err = capsys.readouterr()
    assert status in MAY_FAIL, err
    assert out


def test_there_are_commands_to_type():
    assert len(typed()) >= 4


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    if shutil.which("mkdocs", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("mkdocs is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("index.html")}
    assert {"index.html", "tutorial/index.html", "reference/rule/index.html"} <= pages


def test_links_between_pages_lead_somewhere():
    for page in [*PAGES, ROOT / "README.md"]:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_list_of_commands_is_up_to_date(tmp_path):
    command = [str(Path(sys.executable).parent / "typer"), "gdnbench.cli", "utils", "docs", "--name", "gdnbench"]
    subprocess.run([*command, "--output", str(tmp_path / "cli.md")], cwd=ROOT, check=True, capture_output=True)
    current = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    assert (tmp_path / "cli.md").read_text("utf-8") == current, "make docs writes it anew"
