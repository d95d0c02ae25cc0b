"""The pages of a site: what they say, that they are whole, inert, and lead nowhere outside of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

import sites
from gdnbench.dashboard.inert import literal, packed, script
from gdnbench.dashboard.words import amount
from kept import MACHINE
from page_text import Page

GOLDENS = Path(__file__).parents[1] / "goldens" / "dashboard"
OUTSIDE = "https://github.com/vllm-project/vllm/pull/"

NAMED = ("index", "shifts", "changes", "changes/51913", "devices", "releases", "runs")


def paths(made) -> list[Path]:
    return sorted(made.folder.rglob("*.html"))


@pytest.mark.parametrize("name", NAMED)
def test_what_a_page_says(name: str, made) -> None:
    golden = GOLDENS / f"{name.replace('/', '-')}.txt"
    assert Page(made.text(f"{name}.html")).text == golden.read_text("utf-8")


def test_what_the_page_of_a_series_says(made) -> None:
    name = made.series(variant="pr51913.after", against="", machine=MACHINE.host)
    assert Page(made.text(f"series/{name}.html")).text == (GOLDENS / "series.txt").read_text("utf-8")


def test_every_page_is_whole_and_every_link_leads_somewhere(made) -> None:
    pages = {path: Page(path.read_text("utf-8")) for path in paths(made)}
    assert len(pages) > 40
    for path, page in pages.items():
        assert len(set(page.ids)) == len(page.ids)
        assert page.tags.count("h1") == 1
        for link in page.links + page.loads:
            found = urlsplit(link)
            if link.startswith((OUTSIDE, "data:,")):
                continue
            assert not found.scheme and not found.netloc, link
            target = (path.parent / unquote(found.path)).resolve() if found.path else path
            assert target.is_file(), f"{path.name}: {link}"
            if found.fragment and target.suffix == ".html" and "asv" not in target.parts:
                assert found.fragment in pages[target].ids, f"{path.name}: {link}"


def test_nothing_is_loaded_from_a_network(made) -> None:
    for path in paths(made):
        text = path.read_text("utf-8")
        assert "default-src 'none'" in text
        assert not [load for load in Page(text).loads if "//" in load]
    for asset in made.folder.glob("assets/*.[jc]s*"):
        if asset.name != "plotly.min.js":
            assert not re.search(r"https?://(?!www\.w3\.org)|@import|url\(", asset.read_text("utf-8"))


def test_texts_of_others_stay_texts(made) -> None:
    for path in [*paths(made), *made.folder.glob("*/*.js")]:
        if path.parent.name != "assets":
            text = path.read_text("utf-8")
            assert "<script>alert" not in text and "<img src=x" not in text and "<b>1" not in text
            assert path.suffix == ".html" or not re.search("[\u2028\u2029]", text)


@pytest.mark.parametrize("text", [sites.HOSTILE, "\u2028\u2029", "<!--<script>", "]]>", "\\", "\x7f\x00", "'\"`${1}"])
def test_any_text_comes_back_from_a_script(text: str) -> None:
    written = script(text, {text: [text]})
    assert not set("<>&\u2028\u2029") & set(written.replace("window.gdnbench??={}", ""))
    name, value = re.fullmatch(r"\(window\.gdnbench\?\?=\{\}\)\[(.*?)\]=(\{.*\});\n", written).groups()
    assert json.loads(name) == text
    assert json.loads(value) == {text: [text]} == json.loads(literal({text: [text]}))


def test_columns_are_packed() -> None:
    assert packed(np.array([2.0, 2.0])) == 2.0
    assert packed(np.array([np.nan, np.nan])) is None
    assert packed(np.array([1, 2], np.uint16)) == {"dtype": "u2", "bdata": "AQACAA=="}
    assert packed(np.array([1.0, np.nan]))["dtype"] == "f8"
    assert packed(np.zeros(0)) is None
    assert packed(np.array([np.inf, np.inf]))["dtype"] == "f8"


@pytest.mark.parametrize(
    ("unit", "number", "said"),
    [
        ("ratio", 0.93, "-7.0 %"),
        ("difference", -0.013, "-1.3 points"),
        ("us", 12.345, "12.35 us"),
        ("us", 13.0, "13 us"),
        ("count", 4096.0, "4,096"),
        ("B", 4096.0, "4,096 B"),
        ("us", float("nan"), "n/a"),
        ("count", float("inf"), "n/a"),
        ("", 0.0123, "0.012"),
    ],
)
def test_figures_are_said_with_their_unit(unit: str, number: float, said: str) -> None:
    assert amount(unit, number) == said
