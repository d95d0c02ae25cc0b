"""A gate's rows as JUnit XML: one suite, one test case for each row.

Source: the schema of Apache Ant's JUnit task as windyroad published it (JUnit.xsd), which asks for the most; readers of
the later dialects (Jenkins, GitLab, Buildkite) take it as well.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from gdnbench.oracle.cache import write_aside
from gdnbench.report.gate import headline, identity, story, unique
from gdnbench.values.errors import EnvironmentMissing
from gdnbench.values.gate import GateResult, GateRow
from gdnbench.values.verdicts import Verdict

SUITE = "gdnbench.gate"


def write_junit(result: GateResult, failing: Collection[Verdict], path: Path) -> None:
    """Write the file; one of an earlier run is replaced, as CI expects.

    Args:
        failing: the verdicts that `--fail-on` names: a row with one of them is a failure.

    Raises:
        EnvironmentMissing: the disk does not take it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_aside(path, junit(result, failing))
    except OSError as error:
        raise EnvironmentMissing(f"cannot write {path} ({error.strerror or error})") from None


def junit(result: GateResult, failing: Collection[Verdict]) -> str:
    """The document. A row that must not pass is a failure; one without a verdict is skipped."""
    failures = sum(row.verdict in failing for row in result.rows)
    suite = ET.Element(
        "testsuite",
        {
            "package": SUITE,
            "id": "0",
            "name": SUITE,
            "timestamp": datetime.fromisoformat(result.after.made).strftime("%Y-%m-%dT%H:%M:%S"),
            "hostname": "localhost",  # the schema wants one; whose machine it is, is nobody's business
            "tests": str(len(result.rows)),
            "failures": str(failures),
            "errors": "0",
            "skipped": str(sum(row.judgement is None for row in result.rows)),
            "time": "0",
        },
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("baseline", f"{result.baseline}: {identity(result.before)}"),
        ("now", identity(result.after)),
        ("verdict", result.verdict.value),
        ("fail-on", ",".join(sorted(failing))),
    ):
        ET.SubElement(properties, "property", {"name": name, "value": inert(value)})
    for row in result.rows:
        _case(suite, row, failing)
    lines = [headline(result), *(f"{caveat.message}: {caveat.advice}" for caveat in unique(result))]
    ET.SubElement(suite, "system-out").text = inert("\n".join(lines))
    ET.SubElement(suite, "system-err")
    document = ET.Element("testsuites")
    document.append(suite)
    ET.indent(document)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(document, encoding="unicode") + "\n"


def _case(suite: ET.Element, row: GateRow, failing: Collection[Verdict]) -> None:
    place = row.place
    name = inert(f"{place.scenario} ({row.metric})")
    classname = inert(f"{SUITE}.{place.variant.replace('.', '-')}.{place.part}")
    case = ET.SubElement(suite, "testcase", {"name": name, "classname": classname, "time": "0"})
    text = inert(story(row))
    if row.judgement is None:
        ET.SubElement(case, "skipped")
    elif row.judgement.verdict in failing:
        verdict = row.judgement.verdict.value
        failure = ET.SubElement(case, "failure", {"type": verdict, "message": text})
        failure.text = inert(f"{row.place}: {verdict}: {text}")


def inert(text: str) -> str:
    """The text without what XML 1.0 cannot hold: control characters, lone surrogates, the two non-characters."""
    return "".join(char if char in "\t\n" or (char >= " " and _is_allowed(ord(char))) else "\ufffd" for char in text)


def _is_allowed(code: int) -> bool:
    return not (0x7F <= code <= 0x9F or 0xD800 <= code <= 0xDFFF or code in (0xFFFE, 0xFFFF))
