"""Plan files: TOML, checked key by key, expanded into parts. What is wrong is told in one line, with its place.

budget = "25m"                      # of a night
fail_on = ["regressed", "invalid"]  # verdicts that are alerts

[[step]]                            # cost, step, serve or accuracy; as many tables as are wanted
changes = [51913, 52078]            # before against after of each; or "all"
compare = [["vllm@0.31.0", "limit"]]
releases = ["0.30.0", "0.31.0"]     # each against the one before it
devices = ["cpu"]                   # lists whose names end in s: a part for each
launches = 10
again_after = "20h"                 # though nothing changed
value = 3                           # against other parts, when time is short
minutes = 1                         # for each part; default, what the last night took
expect = "regressed"                # a verdict that is no news
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import resources
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from gdn_impl.catalog import CATALOG, Level
from gdnbench.nightly import checks
from gdnbench.nightly.checks import Check
from gdnbench.nightly.parts import KINDS, Kind, NightPlan, Part
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.variants import parse as parse_variant
from gdnbench.values.verdicts import Verdict

DEFAULT = "default"
"""The plan that comes with the package."""

MOST_BYTES = 1 << 20
MOST_PARTS = 500

LEVELS: Mapping[Kind, Level] = {
    "cost": Level.COST,
    "step": Level.STEP_TIME,
    "serve": Level.SERVER,
    "accuracy": Level.ACCURACY,
}

_LAUNCHES, _ROUNDS = checks.whole(1, 1000), checks.whole(1, 100_000)
_SERVER: dict[str, Check] = {
    "release": checks.text,
    "speculative": checks.text,
    "flags": checks.listed(checks.text, "arguments of the server"),
    "model": checks.text,
    "tokenizer": checks.text,
}
OPTIONS: Mapping[Kind, Mapping[str, Check]] = {
    "cost": {"scenarios": checks.listed(checks.scenario, "scenarios"), "part": checks.text},
    "step": {
        "scenarios": checks.listed(checks.scenario, "scenarios"),
        "part": checks.text,
        "launches": _LAUNCHES,
        "rounds": _ROUNDS,
    },
    "serve": {
        **_SERVER,
        "concurrency": checks.listed(checks.whole(1, 4096), "numbers"),
        "launches": _LAUNCHES,
        "rounds": _ROUNDS,
        "method": checks.one_of("switch", "apart"),
        "dataset": checks.text,
        "output_len": checks.whole(1, 100_000),
        "seed": checks.whole(0, 1 << 31),
        "quick": checks.yes_or_no,
    },
    "accuracy": {
        **_SERVER,
        "task": checks.one_of("word-problems", "gsm8k"),
        "data": checks.text,
        "shots": checks.whole(0, 64),
        "limit": checks.whole(2, 1_000_000),
    },
}
"""By kind what may be asked, as the command of that name takes it."""

MATRIX: Mapping[Kind, Mapping[str, tuple[str, Check]]] = {
    "cost": {},
    "step": {"devices": ("device", checks.listed(checks.one_of("cpu", "cuda"), "devices"))},
    "serve": {"presets": ("preset", checks.listed(checks.text, "presets"))},
    "accuracy": {"presets": ("preset", checks.listed(checks.text, "presets"))},
}
"""By kind the lists that make a part for each of their items, and the option that it becomes."""

_SIDES = ("changes", "compare", "releases")
_COMMON: Mapping[str, Check] = {
    "compare": checks.listed(checks.pair, "pairs"),
    "releases": checks.listed(lambda value: checks.variant(f"vllm@{checks.text(value)}"), "releases"),
    "value": checks.positive,
    "minutes": checks.positive,
    "again_after": checks.duration,
    "expect": checks.verdicts,
}


def read_plan(path: Path | None = None) -> NightPlan:
    """The plan in a file; default, the one that comes with the package.

    Raises:
        UserError: it is no plan; the line names the place.
        EnvironmentMissing: the file cannot be read.
    """
    place = resources.files("gdnbench.nightly").joinpath("plans", f"{DEFAULT}.toml") if path is None else path
    try:
        with place.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise UserError(f"--plan {path}: there is no such file") from None
    except OSError as error:
        raise EnvironmentMissing(f"--plan {path}: {error.strerror or error}") from None
    if len(content) > MOST_BYTES:
        raise UserError(f"--plan {path}: more than {MOST_BYTES >> 20} MiB")
    return plan_of(content, DEFAULT if path is None else str(path))


def plan_of(content: bytes, name: str) -> NightPlan:
    """The plan that a file's content says.

    Raises:
        UserError: it is none; the line names the place.
    """
    try:
        data = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: no text in UTF-8 (at byte {error.start})") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{name}: no TOML: {error}") from None
    known = {"budget": checks.duration, "fail_on": checks.verdicts}
    top = _checked({key: value for key, value in data.items() if key not in KINDS}, known, name, KINDS)
    parts: list[Part] = []
    for kind in KINDS:
        tables = data.get(kind, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise UserError(f"{name}: {kind}: tables are needed, each headed [[{kind}]]")
        for number, table in enumerate(tables, 1):
            parts += _parts(kind, table, f"{name}: {kind}[{number}]")
    if not parts:
        raise UserError(f"{name}: nothing to measure: tables such as [[step]] are needed")
    if len(parts) > MOST_PARTS:
        raise UserError(f"{name}: {len(parts)} parts, and {MOST_PARTS} are the most")
    _refuse_twice(parts, name)
    usual = frozenset({Verdict.REGRESSED, Verdict.INVALID})
    return NightPlan(name, top.get("budget", 25 * 60.0), top.get("fail_on", usual), tuple(parts))


def _parts(kind: Kind, table: Mapping[str, Any], place: str) -> Iterator[Part]:
    lists = MATRIX[kind]
    known = {**_COMMON, "changes": _changes(kind), **OPTIONS[kind], **{key: one for key, (_, one) in lists.items()}}
    found = _checked(table, known, place)
    pairs = [(f"pr{number}.before", f"pr{number}.after") for number in found.get("changes", ())]
    pairs += found.get("compare", ())
    pairs += pairwise(found.get("releases", ()))
    if not pairs:
        raise UserError(f"{place}: what is to be compared? Give changes, compare, or two releases")
    options = {key: found[key] for key in OPTIONS[kind] if key in found}
    chosen = [[(option, item) for item in found[key]] for key, (option, _) in lists.items() if key in found]
    for before, after in pairs:
        if kind in ("cost", "accuracy") and any(parse_variant(side).handicap for side in (before, after)):
            raise UserError(f"{place}: {before} -> {after}: a handicap costs time alone; leave it to step or serve")
        for items in product(*chosen):
            yield Part(
                kind=kind,
                before=before,
                after=after,
                options={**options, **dict(items)},
                value=found.get("value", 1.0),
                minutes=found.get("minutes"),
                again_after_s=found.get("again_after"),
                expected=found.get("expect", frozenset()),
            )


def _changes(kind: Kind) -> Check:
    """Numbers of the catalogue, or `all` for those that can be judged at this level."""
    level = LEVELS[kind]
    judged = [number for number, change in CATALOG.items() if change.judged_at(level)]

    def check(value: Any) -> list[int]:
        if value == "all":
            return judged
        known = ", ".join(map(str, sorted(CATALOG)))
        numbers: list[int] = checks.listed(checks.whole(1, 1 << 31), "numbers of the catalogue")(value)
        for number in numbers:
            if number not in CATALOG:
                raise ValueError(f"no change {number} in the catalogue; known: {known}")
            if number not in judged:
                raise ValueError(f"{number} is not judged by {level.value}: {CATALOG[number].not_judged_at[level]}")
        return numbers

    return check


def _checked(
    table: Mapping[str, Any], known: Mapping[str, Check], place: str, more: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The values of a table, each checked."""
    found = {}
    for key, value in table.items():
        if key not in known:
            near = get_close_matches(key, [*known, *more], n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join([*known, *more])}"
            raise UserError(f"{place}: unknown key {key!r}: {hint}")
        try:
            found[key] = known[key](value)
        except ValueError as error:
            raise UserError(f"{place}: {key} = {_short(value)}: {error}") from None
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _refuse_twice(parts: list[Part], name: str) -> None:
    seen: set[str] = set()
    for part in parts:
        if part.digest in seen:
            raise UserError(f"{name}: {part.name} is there twice")
        seen.add(part.digest)
