"""What stands around a block or table: headings, labels and commands, and what they say of side and concurrency."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field

from gdnbench.ingest.lines import Line, short
from gdnbench.serving.logs import COMPILES
from gdnbench.values.ingested import Side

COMPILED = "compiled while measured"
"""The fact that holds a line of a log."""

_PLAIN_LEVEL = 7
"""Below every Markdown heading."""

_FEW_WORDS = 5

_MEASURING = "Starting main benchmark run"
"""What vLLM's client says before requests count; "main" in it is no branch."""

_OF_A_LOG = re.compile(r"^(?:\(.{1,40}?\)\s*)?(?:DEBUG|INFO|WARN|WARNING|ERROR)\b|(?:\.\.\.|\u2026)$")
"""Lines of logs, and of programs that say what they do: no label, whatever words are in them."""

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_SUMMARY = re.compile(r"<summary>(.{1,200}?)</summary>", re.IGNORECASE)
_CONCURRENCY = re.compile(
    r"(?:^|[^a-z])(?:(?:max[-_ ]?)?(?:request[-_ ])?concurrency|conc|batch[-_ ]?size|bs|c)"
    r"\s?[=:_-]?\s?([0-9]{1,5})(?![0-9.])",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[a-z]+[0-9]*|#[0-9]+")

_SURE: dict[Side, frozenset[str]] = {
    "before": frozenset({"before", "without", "baseline", "unpatched", "vanilla"}),
    "after": frozenset({"after", "patched"}),
}
_LIKELY: dict[Side, frozenset[str]] = {
    "before": frozenset({"main", "master", "base", "old", "original", "origin", "upstream", "reference", "stock"}),
    "after": frozenset(
        {"pr", "patch", "new", "branch", "feature", "head", "optimized", "optimised", "fix", "fixed", "candidate"}
        | {"proposed", "change", "ours", "mine"}
    ),
}
_NUMBERED = re.compile(r"pr[0-9]+|#[0-9]+")
_PUT_TOGETHER = re.compile(r"\b(?:main|master|base|upstream)\b\s*(?:\+|with|plus|and)\s", re.IGNORECASE)


def side_of(text: str) -> Side | None:
    """The side that a label names; None where it names none, or both.

    Words that say it outright (before, without, baseline; after, patched) outweigh names (main, base; PR, branch,
    new): "before this PR" is before, and so is "without the patch". "main + PR" is after.
    """
    words = set(_WORDS.findall(text.lower()))
    if any(_NUMBERED.fullmatch(word) for word in words):
        words.add("pr")
    for table in (_SURE, _LIKELY):
        found: list[Side] = [side for side, known in table.items() if words & known]
        if len(found) == 1:
            return found[0]
        if len(found) == 2:
            return "after" if table is _LIKELY and _PUT_TOGETHER.search(text) else None
    return None


def concurrency_of(text: str) -> int | None:
    """The concurrency that a label names; None where it names none, or several."""
    found = {int(digits) for digits in _CONCURRENCY.findall(text)}
    return found.pop() if len(found) == 1 else None


@dataclass
class Context:
    """What has been read so far, while a text is gone through line by line."""

    headings: list[tuple[int, str]] = field(default_factory=list)
    side_label: str = ""
    place_label: str = ""
    load: dict[str, str] = field(default_factory=dict)
    server: dict[str, str] = field(default_factory=dict)
    measuring: bool = False
    compiled: str = ""

    def labels(self) -> tuple[str, ...]:
        """What names a piece that begins here, the nearest first."""
        own = [text for text in (self.place_label, self.side_label) if text]
        return tuple(dict.fromkeys([*own, *(text for _, text in reversed(self.headings))]))

    def take(self, line: Line, label: str | None) -> None:
        """Take note of a line outside of blocks and tables.

        Args:
            label: what `label_in` found in it.
        """
        if heading := _heading(line):
            level, text = heading
            self.headings = [one for one in self.headings if one[0] < level] + [(level, text)]
            self.side_label = self.place_label = ""
            return
        if _MEASURING in line.text:
            self.measuring, self.compiled = True, ""
        elif self.measuring and not self.compiled and COMPILES.search(line.text):
            self.compiled = short(line.text, 200)
        elif "bench" in line.text and "serve" in line.text and "--" in line.text:
            self.load = flags(line.text)
        elif re.search(r"vllm serve|api_server|launch_server", line.text):
            self.server = flags(line.text) | {"command": short(line.text, 200)}
        elif label is not None:
            if side_of(label) is not None:
                self.side_label, self.place_label = label, ""
            else:
                self.place_label = label

    def facts(self) -> dict[str, str]:
        """What the commands say, by flag; those of the server behind `server `."""
        return {**self.load, **{f"server {name}": value for name, value in self.server.items()}}

    def facts_of_block(self) -> dict[str, str]:
        """The same, and whether the server compiled while this block was measured: that is told once."""
        compiled, self.measuring, self.compiled = self.compiled, False, ""
        return {**self.facts(), **({COMPILED: compiled} if compiled else {})}


def label_in(line: Line) -> str | None:
    """What a line outside of blocks names, if it is a label and speaks of a side or a concurrency.

    A label is a heading, bold, ends in a colon, or has a few words; a sentence that mentions "this PR" is none.
    """
    if heading := _heading(line):
        return heading[1]
    text = line.text.strip("*_` :")
    if not text or len(text) > 120 or "|" in text or text.startswith(("$", "```", "http")) or _OF_A_LOG.search(text):
        return None
    marked = line.bold or line.text.endswith((":", "__")) or len(text.split()) <= _FEW_WORDS
    return short(text, 120) if marked and (side_of(text) or concurrency_of(text)) else None


def joined(lines: Iterable[Line]) -> list[Line]:
    """Lines, with those that end in a backslash joined to the next: commands."""
    found: list[Line] = []
    going_on = False
    for line in lines:
        text = line.text.removesuffix("\\").rstrip()
        if going_on and found:
            last = found[-1]
            whole = f"{last.text} {text}"[:4000]
            found[-1] = Line(last.number, whole, last.raw, line.ended, last.bold)
        else:
            found.append(Line(line.number, text, line.raw, line.ended, line.bold) if text != line.text else line)
        going_on = line.text.endswith("\\") and bool(text)
    return found


def flags(command: str) -> dict[str, str]:
    """The flags of a command line, by name with dashes inside made underscores."""
    try:
        words = shlex.split(command.replace("\\", " "), comments=True)
    except ValueError:
        words = command.split()
    found: dict[str, str] = {}
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            given = value if equals else "" if following.startswith("--") else following
            found[name.replace("-", "_")] = short(given, 200)
    return found


def _heading(line: Line) -> tuple[int, str] | None:
    if match := _HEADING.match(line.text):
        return len(match[1]), short(match[2], 120)
    if match := _SUMMARY.search(line.text):
        return _PLAIN_LEVEL, short(match[1], 120)
    return None
