"""`gdnbench new-change`: what it writes, what it refuses, and that nothing is ever half written or overwritten."""

from __future__ import annotations

import ast
import json
import shutil
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copies import ROOT, Copy
from gdn_impl.catalog import CATALOG
from gdnbench.cli import app, exits
from gdnbench.cli.skeleton import CATALOGUE, LONGEST_TITLE, skeleton, write
from gdnbench.values.errors import EnvironmentMissing, UserError

DAY, PAIR = date(2026, 12, 1), "0.31.0,0.32.0"
NEW = [Path("gdn_impl/pr60001.py"), Path("tests/gdn_impl/test_pr60001.py")]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "gdn_impl").mkdir()
    (tmp_path / "tests" / "gdn_impl").mkdir(parents=True)
    shutil.copy(ROOT / CATALOGUE, tmp_path / CATALOGUE)
    return tmp_path


def make(checkout: Path, **changes):
    return skeleton(checkout, **{"number": 60001, "title": "A title", "merged": DAY, "releases": None} | changes)


def test_three_files_and_no_others(checkout: Path):
    before = (checkout / CATALOGUE).read_text()
    made = make(checkout)
    write(made, checkout)
    written = [path.relative_to(checkout) for path in checkout.rglob("*") if path.is_file()]
    assert sorted(written) == sorted([*NEW, CATALOGUE])
    after = (checkout / CATALOGUE).read_text()
    lines = after.splitlines()
    assert lines[made.line - 1] == "        Change("
    assert lines[made.line] == "            number=60001,"
    assert after.replace("\n".join(lines[made.line - 1 : made.line + 8]) + "\n", "") == before
    assert made.releases == ("0.31.0", "0.32.0")
    assert made.previous == 51565


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"number": 51913}, "in the catalogue already: Computed-token lengths"),
        ({"title": ""}, "one line of at most 70"),
        ({"title": "x" * (LONGEST_TITLE + 1)}, "one line of at most 70"),
        ({"title": 'a"""b'}, "without double quotes"),
        ({"title": "a\\"}, "without double quotes"),
        ({"title": "a\nb"}, "one line"),
        ({"title": "\x1b[31m"}, "one line"),
        ({"releases": "0.31.0"}, "two releases are needed"),
        ({"releases": '0.31.0,"'}, "two releases are needed"),
        ({"releases": "0.32.0,0.31.0"}, "the first must be older"),
        ({"releases": "0.10.0,0.10.0"}, "the first must be older"),
        ({"merged": date(2026, 1, 1)}, "51565 came later"),
    ],
)
def test_what_cannot_be_is_refused(checkout: Path, changes, says):
    with pytest.raises(UserError, match=says):
        make(checkout, **changes)


@pytest.mark.parametrize("name", [*NEW, Path("gdn_impl/pr60001")])
def test_what_is_there_is_refused_and_stays(checkout: Path, name: Path):
    (checkout / name).write_text("mine")
    with pytest.raises(UserError, match=f"{name} is there already"):
        make(checkout)
    assert (checkout / name).read_text() == "mine"


@pytest.mark.parametrize("name", NEW)
def test_what_comes_in_between_stays_and_nothing_else_is_left(checkout: Path, name: Path):
    made, catalogue = make(checkout), (checkout / CATALOGUE).read_text()
    (checkout / name).write_text("mine")
    with pytest.raises(UserError, match="nothing is overwritten"):
        write(made, checkout)
    assert [path for path in NEW if (checkout / path).exists()] == [name]
    assert (checkout / name).read_text() == "mine"
    assert (checkout / CATALOGUE).read_text() == catalogue


def test_a_file_that_cannot_be_written_leaves_nothing(checkout: Path):
    made, catalogue = make(checkout), (checkout / CATALOGUE).read_text()
    (checkout / "tests" / "gdn_impl").rmdir()
    with pytest.raises(EnvironmentMissing, match="cannot write"):
        write(made, checkout)
    assert [path for path in checkout.rglob("*") if path.is_file()] == [checkout / CATALOGUE]
    assert (checkout / CATALOGUE).read_text() == catalogue


@pytest.mark.parametrize("text", ["", "CATALOG = {}\n", "CATALOG: dict = {c.number: c for c in ()}\n"])
def test_a_catalogue_of_another_shape_is_refused(checkout: Path, text: str):
    (checkout / CATALOGUE).write_text(text)
    with pytest.raises(UserError, match="to which one could be added"):
        make(checkout)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=LONGEST_TITLE))
def test_every_title_that_is_taken_makes_code(title: str):
    try:
        made = skeleton(ROOT, 60001, title, DAY, PAIR)
    except UserError:
        return
    for text in (*made.new.values(), made.catalogue):
        ast.parse(text)
        assert all(len(line) <= 120 for line in text.splitlines())
    entry = made.catalogue.splitlines()[made.line + 1]
    kept = title.strip().rstrip(".")
    assert ast.literal_eval(entry.strip().removeprefix("title=").removesuffix(",")) == kept[0].upper() + kept[1:]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["60001"], "Missing option '--title'"),
        (["51913", "--title", "x"], "in the catalogue already"),
        (["56531", "--title", "x"], "gdn_impl/pr56531.py is there already"),
        (["0", "--title", "x"], "greater than or equal to 1"),
        (["60001", "--title", "x", "--merged", "yesterday"], "yesterday"),
    ],
)
def test_a_mistake_is_one_line(arguments, says, capsys):
    assert exits.run(app, ["new-change", *arguments]) == 2
    out, err = capsys.readouterr()
    assert says in err
    assert err.count("\n") == 1
    assert not out


def test_one_goes_on_from_the_other_and_every_command_knows_them(tmp_path: Path):
    copy = Copy(tmp_path, "tests/gdn_impl", "tests/strategies.py")
    for number in ("60001", "60002"):
        done = copy.run("gdnbench", "new-change", number, "--title", "x", "--releases", PAIR, "--json")
        assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["previous"] == 60001
    assert found["written"] == ["gdn_impl/pr60002.py", "tests/gdn_impl/test_pr60002.py"]
    assert len(found["next"]) == 6
    listed = json.loads(copy.run("gdnbench", "list", "--json").stdout)
    assert [change["change"] for change in listed["changes"]] == [*CATALOG, 60001, 60002]
    assert listed["changes"][-1]["parts"] == ["build"]
    done = copy.run("gdnbench", "cost", "pr51565.after", "pr60002.after", "--scenario", "16q1s1k", "--json")
    assert json.loads(done.stdout)["verdict"] == "same"
