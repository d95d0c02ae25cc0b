"""`gdnbench check`: results that others measured and pasted, read, checked against themselves, and judged."""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from gdnbench.cli import exits

EXAMPLES = """Reads vllm bench serve results and pasted blocks (SGLang's too), lm-eval folders, results and tables,
Markdown tables of before and after, asv results, github-action-benchmark JSON.

Examples:

gdnbench check description.md

gdnbench check --before main.json --after pr.json

xclip -o | gdnbench check - --claim "output_tps +7% @ concurrency=1\""""


def check(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]...", help="Files, folders, or - for standard input.")
    ] = None,
    before: Annotated[list[str] | None, typer.Option(help="A file of the before side; may be repeated.")] = None,
    after: Annotated[list[str] | None, typer.Option(help="A file of the after side; may be repeated.")] = None,
    pair: Annotated[
        list[str] | None, typer.Option(help="N,M: record N is before and record M after; may be repeated.")
    ] = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(help='What was claimed, e.g. "output_tps +7% @ concurrency=1" or "build -54us"; may be repeated.'),
    ] = None,
    groups: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="KV groups: what a build saves counts so many times a step.")
    ] = None,
    floor: Annotated[float, typer.Option(help="The smallest difference of answers that matters, in points.")] = 1.0,
    allow_missing: Annotated[
        list[str] | None, typer.Option(help="A benchmark that may be missing after; may be repeated.")
    ] = None,
    fail_on: Annotated[str, typer.Option(help="Verdicts that give exit code 1.")] = exits.FAIL_ON,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """Read what others measured, check it against itself, find the sides, and say what it shows and what it cannot."""
    from gdnbench.ingest.check import Question
    from gdnbench.ingest.check import check as answer
    from gdnbench.report.check import print_json, print_tables
    from gdnbench.values.claims import parse_claim
    from gdnbench.values.errors import UserError

    failing = exits.verdict_names(fail_on)
    if not 0 < floor < 100:
        raise UserError(f"--floor: between 0 and 100 points are needed, not {floor:g}")
    if not (files or before or after):
        raise UserError("a file is needed, or - for standard input, for example: gdnbench check description.md")
    question = Question(
        paths=tuple(files or ()),
        before=tuple(before or ()),
        after=tuple(after or ()),
        pairs=tuple(_numbers(text) for text in pair or ()),
        claims=tuple(parse_claim(text) for text in claim or ()),
        groups=groups,
        floor=floor / 100,
        allowed=tuple(allow_missing or ()),
    )
    result = answer(question, sys.stdin.buffer)
    (print_json if as_json else print_tables)(result)
    return exits.status_of([result.verdict], failing)


check.__doc__ = f"{check.__doc__}\n\n{EXAMPLES}"


def _numbers(text: str) -> tuple[int, int]:
    from gdnbench.values.errors import UserError

    match = re.fullmatch(r"\s*([0-9]{1,4})\s*,\s*([0-9]{1,4})\s*", text)
    if match is None:
        raise UserError(f"--pair {text!r}: two numbers of records are needed, for example: --pair 1,2")
    return int(match[1]), int(match[2])
