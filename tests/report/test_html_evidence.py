"""The HTML form of evidence: whole, inert, and with nothing to fetch."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from test_markdown import answered, counts, evidence, served

from gdnbench.report.html import page
from gdnbench.report.waterfall import Fall, Waterfall, waterfall
from gdnbench.report.write import draw, write
from gdnbench.values.serving import Distribution
from gdnbench.values.verdicts import Caveat, CostRow

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> | `x`"
VOID = {"meta", "link", "img", "br"}


class Checked(HTMLParser):
    """Tags that are closed as they were opened, and every address that a browser would follow by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.fetched += [
            value for name, value in attributes if name in ("src", "srcset") or (tag, name) == ("link", "href")
        ]
        assert not any(name.startswith("on") for name, _ in attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(text: str) -> Checked:
    parser = Checked()
    parser.feed(text)
    assert parser.open == []
    return parser


def whole():
    server = served()
    gaps = tuple(2.0 + place / 10 for place in range(101))
    distributions = tuple(Distribution(at, role, "itl", gaps) for at in (1, 16) for role in ("before", "after"))
    falls = (Fall("ge", "host", -1), Fall("sub", "device", -2), Fall("copy", "copy back", 1))
    return evidence(
        server=replace(server, distributions=distributions),
        accuracy=answered(),
        waterfall=Waterfall("16q1s1k", 12, 10, falls),
        elsewhere={},
    )


def test_pictures_of_which_a_later_report_does_not_speak_do_not_stay(tmp_path):
    folder = write(whole(), tmp_path).parent
    (folder / "notes.png").write_bytes(b"somebody's own")
    write(evidence(), tmp_path)
    assert sorted(path.name for path in folder.glob("*.png")) == ["notes.png", "step-time.png"]


def test_all_sections_and_pictures_are_in_one_file(tmp_path):
    report = write(whole(), tmp_path)
    assert sorted(path.name for path in report.parent.iterdir()) == [
        "README.md", "answers.png", "description.md", "evidence.json", "exact-costs.png", "index.html", "latencies.png",
        "live-server.png", "step-time.png",
    ]  # fmt: skip
    text = (report.parent / "index.html").read_text("utf-8")
    found = checked(text)
    assert found.tags.count("img") == 5
    assert all(address.startswith("data:") for address in found.fetched)
    for section in ("Equality", "Exact costs", "Step time", "Live server", "Accuracy", "What to do next"):
        assert section in text
    markdown = report.read_text("utf-8")
    assert len(markdown) < 60_000
    assert markdown.count("<details>") == markdown.count("</details>") == 6
    assert all(f"({name})" in markdown for name in draw(whole(), tmp_path / "again").values())


def test_hostile_text_is_inert():
    warning = Caveat("hostile", HOSTILE, HOSTILE)
    report = evidence(
        environment={"torch": HOSTILE, "machine": HOSTILE},
        warnings=(warning,),
        accuracy=replace(answered(), warnings=(warning,), task=HOSTILE),
    )
    text = page(report, {})
    found = checked(text)
    assert "script" not in found.tags
    assert "img" not in found.tags


def test_a_report_without_optional_parts_is_whole_as_well():
    text = page(evidence(step=None), {})
    checked(text)
    assert "Live server</summary>" not in text
    assert '<td>live server</td><td class="not judged">not judged</td>' in text


def test_a_waterfall_leads_from_before_to_after():
    def row(variant, *operations):
        return CostRow("16q1s1k", variant, counts(), operations)

    before = row(
        "a", "device       aten.sub.Tensor(x)", "view         aten.slice.Tensor(x)", "host   aten.ge.Scalar(x)"
    )
    after = row(
        "b", "device       aten.copy_.default(x)", "device       aten.copy_.default(y)", "host   aten.ge.Scalar(x)"
    )
    found = waterfall(before, after)
    assert (found.before, found.after) == (2, 3)
    assert found.falls == (Fall("sub", "device", -1), Fall("copy", "device", 2))
    assert found.before + sum(one.change for one in found.falls) == found.after
    assert waterfall(replace(before, operations=None), after) is None


@pytest.mark.parametrize("name", ["exact-costs.png", "latencies.png", "answers.png"])
def test_pictures_are_written_whole(name, tmp_path):
    draw(whole(), tmp_path)
    assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert not list(tmp_path.glob("*.partial.png"))
