"""Commands that stand in documents and pipelines: found, and held against the command line without running them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from itertools import takewhile

import typer

from gdnbench.cli import app

PROGRAM = "gdnbench"


def commands(script: str, variables: Mapping[str, str]) -> list[list[str]]:
    """The arguments of every call of gdnbench in a shell script.

    Args:
        variables: what stands in for `$name`, `$(...)` and `{{matrix}}`; others become `x`.
    """
    joined = re.sub(r"\\\n\s*", " ", script)
    plain = re.sub(r"\$?\$\(([^()]*)\)", variables.get("()", "x"), joined)
    plain = re.sub(r"\$?\$\{?(\w+)\}?|\{\{(\w+)\}\}", lambda match: variables.get(match[1] or match[2], "x"), plain)
    found = []
    for line in plain.splitlines():
        words = _words(line) if PROGRAM in line else []
        for i, word in enumerate(words):
            if word.rpartition("/")[2] == PROGRAM and (
                i == 0 or words[i - 1] in ("$", "then", "do") or _ends(words[i - 1])
            ):
                found.append(list(takewhile(lambda one: not _ends(one), words[i + 1 :])))
    return found


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&<>{}")
    lexer.whitespace_split, lexer.commenters = True, "#"
    return list(lexer)


def _ends(word: str) -> bool:
    return bool(word) and set(word) <= set(";|&<>{}")


def check(arguments: list[str]) -> None:
    """Read the arguments as the command line would, types and choices included; nothing runs.

    Raises:
        Exception: what the command line's library raises for bad usage.
    """
    command = typer.main.get_command(app)
    words = list(arguments)
    while hasattr(command, "commands"):
        name = words.pop(0)
        assert name in command.commands, f"gdnbench has no command {name!r}"
        command = command.commands[name]
    command.make_context(command.name, words)


def blocks(markdown: str) -> list[tuple[str, str | None, str]]:
    """The fenced code of a document: language, the file that its title names, text."""
    fence = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
    return [(match[1], match[2], match[3]) for match in fence.finditer(markdown)]
