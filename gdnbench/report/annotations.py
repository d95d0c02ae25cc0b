"""A gate's rows as workflow commands of GitHub Actions: marks on the files of the changes.

Source: "Workflow commands for GitHub Actions" in GitHub's documentation, and the escapes of its toolkit: `%`, CR and LF
in a message, `:` and `,` as well in a property.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import gdn_impl
from gdnbench.report.gate import headline, story, unique
from gdnbench.values.gate import GateResult, GateRow
from gdnbench.values.verdicts import Verdict

MOST = 10
"""GitHub shows so many marks of each kind of one step, and leaves the others out without a word."""


def commands(result: GateResult, failing: Collection[Verdict]) -> list[str]:
    """One line for each row that must not pass (`error`), each that is open (`warning`), and one for the whole.

    Args:
        failing: the verdicts that `--fail-on` names.
    """
    errors = [row for row in result.rows if row.verdict in failing]
    open_ones = (Verdict.REGRESSED, Verdict.UNKNOWN, Verdict.INVALID)
    warnings = [row for row in result.rows if row.verdict in open_ones and row not in errors]
    marks = [_mark("error", row) for row in errors], [_mark("warning", row) for row in warnings]
    marks[1].extend(command("warning", f"{one.message}: {one.advice}", title="gdnbench") for one in unique(result))
    lines = _few("error", marks[0]) + _few("warning", marks[1])
    return [*lines, command("notice", headline(result), title="gdnbench gate")]


def command(kind: str, message: str, **properties: str) -> str:
    """One workflow command, its text escaped."""
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {given}::{_data(message)}"


def _mark(kind: str, row: GateRow) -> str:
    verdict = "" if row.verdict is None else row.verdict.value
    message = f"{verdict}: {story(row)}"
    file = _file(row.place.variant)
    return command(kind, message, **({"file": file} if file else {}), title=f"{row.place}, {row.metric}")


def _few(kind: str, lines: list[str]) -> list[str]:
    if len(lines) <= MOST:
        return lines
    left = f"{len(lines) - MOST + 1} more, in the log and the JUnit file; GitHub shows {MOST} of a kind"
    return [*lines[: MOST - 1], command(kind, left, title="gdnbench")]


def _file(variant: str) -> str:
    """The file of a change in this repository, empty for what has none."""
    if not (match := re.fullmatch(r"(pr\d+)\.(before|after)", variant)):
        return ""
    package = Path(gdn_impl.__file__).parent
    places = (f"{match[1]}.py", f"{match[1]}/__init__.py")
    return next((f"{package.name}/{place}" for place in places if (package / place).is_file()), "")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
