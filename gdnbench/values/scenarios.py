"""Scenarios: one model-runner step each, named with vLLM's batch-spec grammar.

The grammar of vLLM's attention benchmarks, `[count]q<query>[k][s<sequence>[k]]` joined by `_`, is extended:

    d<n>      the rows carry n drafts (query length is n + 1); 0 = speculative, but nothing was drafted
    p<n>[k]   prompt length, where it is not the default
    <n>pad    n rows of padding, as for a captured graph size
    /spec<n>  speculation depth, where no row shows it
    /g<n>     KV-cache groups (default 1)
    /v2       model runner V2 (default V1)
    /eager    nothing is staged into graph buffers
    /async    asynchronous speculation: the host knows an upper bound of the lengths only
    /capture  metadata for graph capture instead of a step

Without `p`, a row that has context and one token, or drafts, is a decode; any other row
is the last chunk of its prompt.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from gdnbench.values.errors import UserError

Runner = Literal["V1", "V2"]

NO_DRAFTS = -1
MAX_ROWS = 1024
MAX_TOKENS = 1 << 20


class ScenarioError(UserError):
    """A scenario that cannot be read or cannot happen; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Row:
    """One request in the step. Lengths are tokens."""

    query_len: int
    computed: int
    prompt_len: int
    drafts: int = NO_DRAFTS

    @property
    def sequence_len(self) -> int:
        return self.computed + self.query_len

    @property
    def is_prefilling(self) -> bool:
        return self.computed < self.prompt_len

    @property
    def is_speculative(self) -> bool:
        return self.drafts >= 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """One model-runner step; `name` is its canonical spelling and its identity."""

    rows: tuple[Row, ...]
    padded_rows: int = 0
    kv_groups: int = 1
    speculation: int = 0
    runner: Runner = "V1"
    staged: bool = True
    asynchronous: bool = False
    capture: bool = False

    def __post_init__(self) -> None:
        _check(self)

    @property
    def name(self) -> str:
        return _format(self)

    @property
    def num_tokens(self) -> int:
        """Tokens of the real rows."""
        return sum(row.query_len for row in self.rows)

    @property
    def num_rows(self) -> int:
        """Rows with padding, as the builder sees them."""
        return len(self.rows) + self.padded_rows

    @property
    def host_knows_lengths(self) -> bool:
        """Whether the runner has an exact copy of the sequence lengths on the host."""
        return self.runner == "V1" and not self.asynchronous

    @property
    def kind(self) -> Literal["decode", "prefill", "mixed", "speculative", "speculative mixed"]:
        """The kind of step, as coverage counts it: what the rows are, not what a builder makes of them."""
        speculative = sum(row.drafts for row in self.rows if row.is_speculative) > 0
        plain = [row for row in self.rows if not (speculative and row.is_speculative)]
        if speculative:
            return "speculative mixed" if plain else "speculative"
        prefills = sum(row.query_len > 1 or row.computed == 0 for row in plain)
        if prefills == 0:
            return "decode"
        return "prefill" if prefills == len(plain) else "mixed"


def _check(scenario: Scenario) -> None:
    def refuse(why: str) -> None:
        raise ScenarioError(f"impossible scenario: {why}")

    if not scenario.rows:
        refuse("it has no rows")
    if scenario.num_rows > MAX_ROWS or scenario.num_tokens > MAX_TOKENS:
        refuse(f"more than {MAX_ROWS} rows or {MAX_TOKENS} tokens")
    if scenario.kv_groups < 1 or scenario.padded_rows < 0 or scenario.speculation < 0:
        refuse("groups, padding and speculation must be positive")
    for row in scenario.rows:
        if row.query_len < 1 or row.computed < 0 or row.prompt_len < 1:
            refuse("a row needs a query of at least 1, context of at least 0 and a prompt of at least 1")
        if row.is_speculative:
            if row.query_len != row.drafts + 1:
                refuse(f"a row with {row.drafts} drafts has a query of {row.drafts + 1}, not {row.query_len}")
            if row.drafts > scenario.speculation:
                refuse(f"{row.drafts} drafts exceed the speculation depth {scenario.speculation}")
            if row.is_prefilling:
                refuse("a row that still prefills carries no drafts")
            if scenario.speculation == 0:
                refuse("rows with d0 need a speculation depth: add /spec<n>")
            if scenario.runner == "V2" and row.drafts == 0:
                refuse("runner V2 marks rows without drafts -1, never 0: leave d0 out")
    if scenario.padded_rows and any(row.query_len > 1 + scenario.speculation for row in scenario.rows):
        refuse("padding occurs in graph batches only, and a prefill is in none")
    if scenario.capture and len({row.query_len for row in scenario.rows}) > 1:
        refuse("a captured batch has rows of one length")
    if scenario.asynchronous and not scenario.speculation:
        refuse("/async speaks of speculation, and there is none: add /spec<n>")


def ordered(rows: Iterable[Row], speculation: int, runner: Runner) -> tuple[Row, ...]:
    """Rows in the runner's order: V1 decodes, short extends, long extends, prefills; V2 drafted rows, then by length.

    Source: `reorder_batch_to_split_decodes_and_prefills` (V1) and `sort_batch_req_ids` (V2) of vLLM 0.29.0.
    """

    def region(row: Row) -> int:
        if row.computed == 0:
            return 3
        if row.query_len > 1 + speculation:
            return 2
        return 1 if row.is_prefilling else 0

    def by_length(row: Row) -> tuple[bool, bool, int]:
        return row.drafts <= 0, row.query_len != 1 + speculation, row.query_len

    return tuple(sorted(rows, key=region if runner == "V1" else by_length))


_SEGMENT = re.compile(
    r"(?P<count>\d+)?q(?P<q>\d+)(?P<qk>k?)(?:s(?P<s>\d+)(?P<sk>k?))?(?:d(?P<d>\d+))?(?:p(?P<p>\d+)(?P<pk>k?))?"
)
_PADDING = re.compile(r"(\d+)pad")
_OPTION = re.compile(r"(?P<flag>eager|v2|async|capture)|(?P<key>g|spec)(?P<value>\d+)")


def parse(text: str) -> Scenario:
    """The scenario that `text` spells, rows put into the runner's order.

    Raises:
        ScenarioError: with one line that names the part at fault.
    """
    if len(text) > 4096:
        raise ScenarioError("a scenario's name has at most 4,096 characters")
    batch, *options = text.strip().split("/")
    given: dict[str, int] = {}
    for option in options:
        match = _OPTION.fullmatch(option)
        if match is None:
            raise ScenarioError(
                f"scenario {text!r}: unknown option /{option}; known: /g<n> /spec<n> /v2 /eager /async /capture"
            )
        given[match["flag"] or match["key"]] = int(match["value"] or 1)
    rows: list[Row] = []
    padded = 0
    for segment in batch.split("_"):
        if padding := _PADDING.fullmatch(segment):
            padded += int(padding[1])
            continue
        match = _SEGMENT.fullmatch(segment)
        if match is None:
            raise ScenarioError(f"scenario {text!r}: cannot read {segment!r}; a segment looks like 16q1s1k or 8q9s1kd8")
        count = int(match["count"] or 1)
        if not 1 <= count <= MAX_ROWS:
            raise ScenarioError(f"scenario {text!r}: {segment!r} asks for {count} rows; 1 to {MAX_ROWS} can be")
        rows += [_row(text, match)] * count
    speculation = given.get("spec", max((row.drafts for row in rows), default=0))
    runner: Runner = "V2" if "v2" in given else "V1"
    try:
        return Scenario(
            rows=ordered(rows, max(speculation, 0), runner),
            padded_rows=padded,
            kv_groups=given.get("g", 1),
            speculation=max(speculation, 0),
            runner=runner,
            staged="eager" not in given,
            asynchronous="async" in given,
            capture="capture" in given,
        )
    except ScenarioError as error:
        raise ScenarioError(f"scenario {text!r}: {error}") from None


def _row(text: str, match: re.Match[str]) -> Row:
    def tokens(key: str) -> int | None:
        return None if match[key] is None else int(match[key]) * (1024 if match[key + "k"] else 1)

    query_len = tokens("q") or 0
    sequence_len = tokens("s")
    if sequence_len is None:
        sequence_len = query_len
    computed = sequence_len - query_len
    if computed < 0:
        raise ScenarioError(f"scenario {text!r}: {match[0]!r} has a sequence shorter than its query")
    drafts = int(match["d"]) if match["d"] is not None else NO_DRAFTS
    prompt_len = tokens("p")
    if prompt_len is None:
        prompt_len = _default_prompt(query_len, computed, drafts)
    return Row(query_len, computed, prompt_len, drafts)


def _default_prompt(query_len: int, computed: int, drafts: int) -> int:
    decodes = computed > 0 and (query_len == 1 or drafts >= 0)
    return computed if decodes else computed + query_len


def _tokens(n: int) -> str:
    return f"{n // 1024}k" if n >= 1024 and n % 1024 == 0 else str(n)


def _format(scenario: Scenario) -> str:
    segments = []
    for row, same in groupby(scenario.rows):
        count = len(list(same))
        text = f"{count if count > 1 else ''}q{_tokens(row.query_len)}"
        if row.computed or row.query_len == 1:
            text += f"s{_tokens(row.sequence_len)}"
        if row.is_speculative:
            text += f"d{row.drafts}"
        if row.prompt_len != _default_prompt(row.query_len, row.computed, row.drafts):
            text += f"p{_tokens(row.prompt_len)}"
        segments.append(text)
    if scenario.padded_rows:
        segments.append(f"{scenario.padded_rows}pad")
    options = ""
    if scenario.speculation != max(0, *(row.drafts for row in scenario.rows)):
        options += f"/spec{scenario.speculation}"
    if scenario.kv_groups > 1:
        options += f"/g{scenario.kv_groups}"
    options += "/v2" * (scenario.runner == "V2") + "/eager" * (not scenario.staged)
    options += "/async" * scenario.asynchronous + "/capture" * scenario.capture
    return "_".join(segments) + options


# Every branch of the builders, and the published setting (concurrency 1 and 16, 8 drafts). Only ever appended to.
NAMED: dict[str, str] = {
    "q1s1k": "decode at concurrency 1",
    "16q1s1k": "decode at concurrency 16",
    "16q1s1k/eager": "the same without graph staging",
    "q2k": "prefill of one prompt",
    "4q512s2k": "chunked prefills that resume",
    "15q1s1k_q2k": "fifteen decodes beside one prefill",
    "q9s1kd8": "uniform speculation at concurrency 1",
    "16q9s1kd8": "uniform speculation at concurrency 16",
    "16q9s1kd8/eager": "the same without graph staging",
    "8q9s1kd8_4q5s1kd4_4q1s1kd0": "ragged speculation, some rows without drafts",
    "8q9s1kd8_6q1s1k_2q128": "speculation beside decodes and prefills",
    "16q1s1kd0/spec8": "every row speculative, none with drafts",
    "15q1s1k_q1s1p64": "decodes beside a first chunk of one token",
    "13q1s1k_3pad": "decodes padded to a captured size",
    "13q9s1kd8_3pad": "speculation padded to a captured size",
    "16q1s1k/g30": "decode with 30 KV groups, the published setting's number",
    "16q9s1kd8/v2": "uniform speculation under runner V2",
    "14q1s1k_2q300s1k/v2": "decodes beside extends under runner V2",
    "16q1s1k/capture": "metadata for capturing a decode graph",
    "16q9s1k/spec8/capture": "metadata for capturing a speculative graph",
    "12q9s1kd8_2q200s1k_2q128/async": "speculation whose true lengths the host does not know yet",
}


def named() -> tuple[Scenario, ...]:
    return tuple(parse(text) for text in NAMED)


def random_scenario(rng: random.Random, *, capture: bool = False) -> Scenario:
    """A random valid scenario: small enough to build in well under a millisecond, wide enough to meet every branch."""
    speculation = rng.choice([0, 0, 1, 2, 4, 8])
    runner: Runner = rng.choice(["V1", "V2"])
    kv_groups, staged = rng.choice([1, 1, 1, 2, 3]), rng.random() < 0.7
    count = rng.choice([1, 2, 3, 5, 8, 16, 24])
    if capture:
        query_len = rng.choice([1, 1 + speculation])
        rows: Sequence[Row] = [Row(query_len, rng.randint(1, 2000), 1) for _ in range(count)]
        return Scenario(tuple(rows), 0, kv_groups, speculation, runner, staged, capture=True)
    mixtures = ["decode", "spec", "prefill", "decode prefill", "spec decode prefill", "spec zero"]
    kinds = rng.choice(mixtures).split()
    rows = [_random_row(rng, rng.choice(kinds), speculation, runner) for _ in range(count)]
    graph_batch = all(row.query_len <= 1 + speculation for row in rows)
    return Scenario(
        rows=ordered(rows, speculation, runner),
        padded_rows=rng.choice([0, 0, 1, 3, 7]) if graph_batch else 0,
        kv_groups=kv_groups,
        speculation=speculation,
        runner=runner,
        staged=staged,
        asynchronous=speculation > 0 and rng.random() < 0.3,
    )


def _random_row(rng: random.Random, kind: str, speculation: int, runner: Runner) -> Row:
    context = rng.randint(1, 3000)
    if kind in ("spec", "zero") and speculation:
        fewest = 1 if runner == "V2" else 0
        drafts = 0 if kind == "zero" and runner == "V1" else rng.randint(fewest, speculation)
        return Row(drafts + 1, context, rng.randint(1, context), drafts)
    if kind == "prefill":
        query_len = rng.choice([1, 2, 7, 63, 64, 65, 130, 300])
        computed = rng.choice([0, 0, context])
        return Row(query_len, computed, computed + query_len + rng.choice([0, 0, 500]))
    return Row(1, context, rng.randint(1, context))
