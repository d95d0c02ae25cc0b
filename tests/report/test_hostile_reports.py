"""Reports made of hostile text are inert: in Markdown, when GitHub reads it, and as a page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import hostile
import pytest
from markdown_it import MarkdownIt
from test_html_evidence import checked

from browser import DESKTOP, PHONE, Browser
from gdnbench.report.html import page
from gdnbench.report.markdown import render
from gdnbench.report.paste import paste
from gdnbench.report.write import write

OUR_OWN = {"h1", "h2", "h3", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "ol", "li", "details"}
OUR_OWN |= {"summary", "code", "pre", "br", "a", "img"}
LINK = "https://github.com/vllm-project/vllm/pull/51913"
PLOTS = {"plot": "step-time.png", "server_plot": "live-server.png"}
ACTED_ON = re.compile(r"(?<![\w/])@\w|(?<!vllm-project/vllm)#[0-9]|\bGH-[0-9]|://|\bwww\.", re.IGNORECASE)
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufeff]")


class Read(HTMLParser):
    """What a browser would show of rendered Markdown, and where it leads."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.leads: set[str] = set()
        self.shown: list[str] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.inside.append(tag)
        self.leads |= {value for name, value in attributes if name in ("href", "src")}
        assert not any(name.startswith("on") for name, _ in attributes)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"code", "pre"} & set(self.inside):
            self.shown.append(data)


def read(markdown: str) -> Read:
    found = Read()
    found.feed(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown))
    return found


def titles(markdown: str) -> list[str]:
    return [line for line in markdown.splitlines() if line.startswith("#")]


@pytest.mark.parametrize("form", [lambda report: render(report, PLOTS), paste], ids=["report", "description"])
@pytest.mark.parametrize("text", hostile.TEXTS)
def test_markdown_is_inert_and_github_acts_on_nothing(text, form):
    markdown, harmless = form(hostile.report(text)), form(hostile.report("harmless"))
    found, plain = read(markdown), read(harmless)
    assert found.tags <= OUR_OWN and found.tags == plain.tags
    assert found.leads == plain.leads <= {LINK, *PLOTS.values()}
    assert not ACTED_ON.search("".join(found.shown))
    assert not UNSEEN.search(markdown)
    assert [len(line) - len(line.lstrip("#")) for line in titles(markdown)] == [
        len(line) - len(line.lstrip("#")) for line in titles(harmless)
    ]
    assert markdown.count("\n|") == harmless.count("\n|"), "as many rows"


def test_what_was_meant_is_still_read():
    shown = "".join(read(render(hostile.report(hostile.TEXTS[2]), PLOTS)).shown).replace("\u200b", "")
    assert hostile.TEXTS[2] in shown


@pytest.mark.parametrize("text", hostile.TEXTS)
def test_a_page_is_inert(text):
    html = page(hostile.report(text), {})
    assert not {"script", "b", "img", "iframe"} & set(checked(html).tags)
    assert not UNSEEN.search(html)


@pytest.mark.slow
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_in_a_browser_and_asks_nobody(window: Browser, scheme: str, size, tmp_path: Path):
    report = hostile.report(" ".join(hostile.TEXTS))
    address = write(report, tmp_path).parent / "index.html"
    window.size(size)
    window.prefer(scheme)
    window.requests(), window.complaints()
    window.open(address)
    window.run("for (const one of document.querySelectorAll('details')) one.open = true")
    assert window.complaints() == []
    assert {one.partition(":")[0] for one in window.requests()} == {"file", "data"}
    assert window.driver.title == "51913: Computed-token lengths only where a prefill reads them"
    assert window.run("return document.scripts.length") == 0
    pictures = "return [...document.images].map(one => one.complete && one.naturalWidth > 0)"
    assert window.run(pictures) == [True] * 5
    assert window.run("return document.documentElement.scrollWidth") <= size[0], "nothing is wider than the window"
    ground = window.run("return getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(22, 24, 27)")
    links = window.run("return [...document.links].map(one => one.href)")
    assert links == ["https://github.com/vllm-project/vllm/pull/51913"]
