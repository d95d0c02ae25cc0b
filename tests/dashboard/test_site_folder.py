"""The folder of a site: whole or not at all, and never in the place of anything else."""

from __future__ import annotations

import errno
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import sites
from gdnbench.cli import app, exits
from gdnbench.dashboard import asv_site
from gdnbench.dashboard import build as building
from gdnbench.dashboard.build import build
from gdnbench.dashboard.gather import gather
from gdnbench.history.of_asv import UNIDENTIFIED
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.verdicts import Caveat
from kept import history, point, run, series


@pytest.fixture(autouse=True)
def no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GDNBENCH_HISTORY", raising=False)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_site_replaces_a_site(tmp_path: Path, made) -> None:
    out = tmp_path / "site"
    build(out, made.data, ())
    (out / "of-the-old-one.html").write_text("")
    build(out, made.data, ())
    assert names(tmp_path) == ["site"]
    assert not (out / "of-the-old-one.html").exists()
    assert (out / "index.html").is_file()


def test_an_empty_folder_will_do(tmp_path: Path, made) -> None:
    (tmp_path / "site").mkdir()
    build(tmp_path / "site", made.data, ())
    assert (tmp_path / "site" / "index.html").is_file()


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_nothing_else_is_ever_replaced(kind: str, tmp_path: Path, made) -> None:
    out = tmp_path / "out"
    if kind == "folder":
        out.mkdir()
        (out / "thesis.tex").write_text("years")
    elif kind == "file":
        out.write_text("years")
    else:
        out.symlink_to(made.folder)
    with pytest.raises(UserError, match="--out"):
        build(out, made.data, ())
    assert names(tmp_path) == ["out"]


def test_a_full_disk_leaves_the_old_site(tmp_path: Path, made, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "site"
    build(out, made.data, ())
    (out / "index.html").write_text("the old one")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(building, "write_runs", full)
    with pytest.raises(EnvironmentMissing, match="No space left"):
        build(out, made.data, ())
    assert names(tmp_path) == ["site"]
    assert (out / "index.html").read_text() == "the old one"


def test_a_site_that_cannot_take_its_place_leaves_the_old_one(tmp_path: Path, made, monkeypatch) -> None:
    out = tmp_path / "site"
    build(out, made.data, ())
    rename = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if Path(target) == out and path.name != "old":
            raise OSError(errno.EACCES, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(EnvironmentMissing, match="Permission denied"):
        build(out, made.data, ())
    assert names(tmp_path) == ["site"] and (out / "index.html").is_file()


@pytest.mark.parametrize(("missing", "extra"), [("plotly", "dashboard"), ("asv", "asv")])
def test_what_is_missing_is_named(missing: str, extra: str, tmp_path: Path, made, monkeypatch) -> None:
    for module in (building, asv_site):
        monkeypatch.setattr(module, "find_spec", lambda name: None if name == missing else name)
    with pytest.raises(EnvironmentMissing, match=rf"{missing}.*gdnbench\[{extra}\]"):
        build(tmp_path / "site", made.data, (), asv=True)
    assert names(tmp_path) == []


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sites.keep(tmp_path / "runs")
    out = tmp_path / "site"
    asked = ["dashboard", "--history", str(tmp_path / "runs"), "--out", str(out)]
    assert exits.run(app, [*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"site": str(out / "index.html"), "runs": 31, "series": 8, "points": 72}
    assert exits.run(app, asked) == 0
    assert "72 points of 8 series" in capsys.readouterr().out
    shutil.rmtree(out)
    out.write_text("something else")
    assert exits.run(app, asked) == 2
    assert "something else is there" in capsys.readouterr().err


def test_a_history_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exits.run(app, ["dashboard", "--history", str(tmp_path / "no"), "--out", str(tmp_path / "site")]) == 2
    assert exits.run(app, ["dashboard", "--out", str(tmp_path / "site")]) == 2
    assert names(tmp_path) == []


def test_an_empty_history_has_a_site(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    assert exits.run(app, ["dashboard", "--history", str(tmp_path / "runs"), "--out", str(tmp_path / "site")]) == 0
    assert "Nothing was measured yet" in (tmp_path / "site" / "index.html").read_text("utf-8")


def test_what_is_damaged_is_named_on_the_site(tmp_path: Path, made) -> None:
    opened = history(tmp_path / "runs")
    kept = [opened.record(run(token))[0] for token in "abc"]
    (tmp_path / "runs" / kept[1] / "points.parquet").write_bytes(b"cut off")
    (tmp_path / "runs" / kept[2] / "run.json").unlink()
    listing = opened.listing()
    site = gather(listing, opened.tables(listing.runs), sites.MADE)
    build(tmp_path / "site", site, ())
    for page in ("index.html", "runs.html"):
        text = (tmp_path / "site" / page).read_text("utf-8")
        assert kept[1] in text and kept[2] in text
    assert (tmp_path / "site" / "runs" / f"{kept[0]}.html").is_file()


def test_what_nobody_can_identify_is_named_and_left_out(tmp_path: Path) -> None:
    opened = history(tmp_path / "runs")
    kept, _ = opened.record(run("a"))
    dirty = Caveat(UNIDENTIFIED, "the commit is marked as dirty", "set it")
    nameless, _ = opened.record(replace(run("b", imported="asv"), warnings=(dirty,)))
    out = tmp_path / "site"
    assert exits.run(app, ["dashboard", "--history", str(tmp_path / "runs"), "--out", str(out)]) == 0
    assert names(out / "runs") == [f"{kept}.html"]
    assert f"{nameless}: its commit is not known" in (out / "index.html").read_text("utf-8")


def test_a_series_under_an_id_that_is_not_its_keys_names_no_file(tmp_path: Path, monkeypatch) -> None:
    honest = series().id
    monkeypatch.setattr(type(series()), "id", property(lambda key: "../../elsewhere" if key.load == "q" else honest))
    opened = history(tmp_path / "runs")
    opened.record(run("a", point(1.0), point(2.0, series=series(load="q"))))
    monkeypatch.undo()
    listing = opened.listing()
    site = gather(listing, opened.tables(listing.runs), sites.MADE)
    assert [one.id for one in site.series] == [honest]
    assert "../../elsewhere: a series whose id is not that of its key" in str(site.skipped[0])
