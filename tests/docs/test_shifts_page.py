"""docs/shifts.md, followed word for word; its tables are those that the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from commands import blocks
from gdnbench.cli import app, exits
from gdnbench.stats.shifts import RULE

PAGE = (Path(__file__).parents[2] / "docs" / "shifts.md").read_text("utf-8")


def test_the_page_is_followed_word_for_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GDNBENCH_HISTORY", raising=False)
    for language, _, text in blocks(PAGE):
        if language == "python":
            exec(compile(text, "docs/shifts.md", "exec"), {})
            continue
        for part in text.removeprefix("$ ").split("\n$ "):
            command, *shown = part.splitlines()
            assert exits.run(app, shlex.split(command)[1:]) == 0
            said = capsys.readouterr().out.splitlines()
            for line in shown:
                pattern = ".*".join(map(re.escape, line.split("...")))
                assert any(re.search(pattern, one) for one in said), f"{command}: no {line!r} in\n" + "\n".join(said)
    assert capsys.readouterr().out.endswith("1 0\n")


def test_the_constants_of_the_page_are_those_of_the_rule() -> None:
    text = " ".join(PAGE.split())
    assert RULE.history == 10 and "before the eleventh night" in text
    assert f"each k from 1 to {RULE.window}" in text and f"at most {RULE.memory} or so" in text
    assert f"clipped at {RULE.clip} scatters" in text and f"({RULE.shared:.0%} of" in text.replace(" %", "%")
    assert f"an error of {RULE.error} a night" in text and f"over {RULE.fewest:,} at least" in text
    assert f"{RULE.suspicion} standard errors" in text
