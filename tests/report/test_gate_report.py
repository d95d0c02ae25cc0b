"""A gate's rows as a table, as JUnit XML and as GitHub's workflow commands; hostile text stays text in all of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gates import run
from gdnbench.gate.gate import hold
from gdnbench.report.annotations import MOST, command, commands
from gdnbench.report.gate import headline, print_table
from gdnbench.report.junit import inert, junit, write_junit
from gdnbench.values.gate import Cost, GateResult, GateRun, Place
from gdnbench.values.scenarios import NAMED
from gdnbench.values.verdicts import Verdict

GOLDENS = Path(__file__).parents[1] / "goldens" / "report"
FAILING = frozenset({Verdict.REGRESSED, Verdict.INVALID})
HOSTILE = "</failure><script>alert(1)</script> [red]&amp; ]]> 100 % ::error::x, y"


def mixed() -> GateResult:
    before = {"q1s1k": {}, "16q1s1k": {}, "q2k": {}, "q9s1kd8": "ValueError: no", "4q512s2k": {}, "16q9s1kd8": {}}
    after = {
        "q1s1k": {},
        "16q1s1k": {"syncs": 1, "device_ops": 6},
        "q2k": f"TypeError: {HOSTILE}",
        "q9s1kd8": {},
        "16q9s1kd8": {"host_ops": 3},
        "16q1s1k/eager": {},
    }
    us = [20.0, 20.1, 20.2, 20.0, 20.1, 20.2, 20.1]
    old = run(before, steps={"16q1s1k": us}, changed=True, source="c" * 64)
    return hold("base.json", old, run(after, steps={"16q1s1k": [1.3 * one for one in us]}))


def golden(name: str, text: str) -> None:
    path = GOLDENS / name
    if not path.exists():
        path.write_text(text, "utf-8")
        pytest.fail(f"{name} was written: read it, then commit it")
    assert text == path.read_text("utf-8")


def test_a_person_reads_the_rows_that_matter_and_how_many_are_equal(capsys):
    print_table(mixed(), None)
    golden("a-gate-of-all-kinds.txt", capsys.readouterr().out)


def test_junit_of_all_kinds():
    golden("a-gate-of-all-kinds.xml", junit(mixed(), FAILING))


def test_annotations_of_all_kinds():
    golden("a-gate-of-all-kinds.annotations", "\n".join(commands(mixed(), FAILING)) + "\n")


def test_the_headline_counts_both_sides():
    text = headline(hold("x", run({"q1s1k": {}, "q2k": {}, "4q512s2k": {}}), run({"q1s1k": {}})))
    assert text == "invalid: 3 vs 1 rows; 1 compared, 2 gone"


WHOLE = re.compile(r"\d+")
REQUIRED = {"package", "id", "name", "timestamp", "hostname", "tests", "failures", "errors", "time"}


def test_junit_keeps_to_the_schema():
    """By the rules of windyroad's JUnit.xsd, which asks for the most: attributes, their types, order and number."""
    root = ET.fromstring(junit(mixed(), FAILING))
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.tag == "testsuite"
    assert suite.attrib.keys() - {"skipped"} == REQUIRED
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    assert all(WHOLE.fullmatch(suite.attrib[name]) for name in ("id", "tests", "failures", "errors", "skipped", "time"))
    tags = [child.tag for child in suite]
    cases = suite.findall("testcase")
    assert tags == ["properties", *["testcase"] * len(cases), "system-out", "system-err"]
    assert all(one.attrib.keys() == {"name", "value"} and one.attrib["name"] for one in suite.find("properties") or ())
    for case in cases:
        assert case.attrib.keys() == {"name", "classname", "time"}
        assert len(case) <= 1
        for found in case:
            assert found.tag in ("failure", "skipped")
            assert found.attrib.keys() == ({"type", "message"} if found.tag == "failure" else set())
    assert int(suite.attrib["tests"]) == len(cases)
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) == 4
    assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped")) == 1
    names = [(case.attrib["classname"], case.attrib["name"]) for case in cases]
    assert len(set(names)) == len(names)


def test_what_fails_is_what_fail_on_names():
    root = ET.fromstring(junit(mixed(), frozenset({Verdict.UNKNOWN})))
    assert [case.attrib["name"] for case in root.iter("testcase") if case.find("failure") is not None] == [
        "16q9s1kd8 (exact cost)"
    ]


def hostile(text: str) -> GateResult:
    now = run({"q1s1k": {}, "q2k": text})
    return hold(text, run({"q1s1k": {}, "q2k": {}}, cpu=text), replace(now, identity=replace(now.identity, cpu=text)))


@pytest.mark.parametrize("text", [HOSTILE, "\x00\x1b[31m\x07\x9b", "\ud800\ufffe\uffff", "é漢😀\u2028", "'\"<&>"])
def test_hostile_text_is_inert_in_xml(text: str):
    document = junit(hostile(text), FAILING)
    root = ET.fromstring(document.encode("utf-8"))
    (failure,) = root.iter("failure")
    assert failure.attrib["message"] == f"newly failing: {inert(text)}"
    assert not list(root.iter("script"))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", document)


def test_hostile_text_is_inert_in_a_table(capsys):
    print_table(hostile(HOSTILE), None)
    assert "[red]&amp; ]]>" in " ".join(capsys.readouterr().out.split())


def test_a_command_escapes_what_would_end_it():
    assert (
        command("error", "100 %\r\n::set-env::x", title="a,b:c%\n")
        == "::error title=a%2Cb%3Ac%25%0A::100 %25%0D%0A::set-env::x"
    )


def test_hostile_text_stays_on_the_line_of_its_command():
    lines = commands(hostile("a\n::add-mask::b\r\n::error::c"), FAILING)
    assert all("\n" not in line and "\r" not in line and line.count("::error ") <= 1 for line in lines)
    assert len(lines) == 2


def test_more_marks_than_github_shows_are_counted():
    costs = {Place("pr51913.after", "build", f"{n}q1s1k"): Cost(None, "torn") for n in range(1, 31)}
    old = run({"q1s1k": {}})
    names = tuple(place.scenario for place in costs) + tuple(NAMED)
    now = GateRun(old.identity, replace(old.selection, scenarios=names), costs)
    good = run({place.scenario: {} for place in costs})
    lines = commands(hold("x", good, now), FAILING)
    errors = [line for line in lines if line.startswith("::error ")]
    assert len(errors) == MOST
    assert "21 more" in errors[-1]


def test_the_file_is_whole_and_that_of_an_earlier_run_goes(tmp_path: Path):
    path = tmp_path / "build" / "gate.xml"
    for _ in range(2):
        write_junit(mixed(), FAILING, path)
    assert ET.parse(path).getroot().tag == "testsuites"
    assert [one.name for one in path.parent.iterdir()] == ["gate.xml"]
