"""The skeleton of a change: its builder, its entry in the catalogue, its test. Nothing that is there is overwritten."""

from __future__ import annotations

import ast
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from gdn_impl.catalog import CATALOG, Change
from gdnbench.drivers.registry import GDN_CHANGES
from gdnbench.oracle.cache import ASIDE, write_aside
from gdnbench.oracle.wheels import known_releases
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.releases import age

CATALOGUE = Path("gdn_impl/catalog.py")
LONGEST_TITLE = 70
"""A title stands in one line of code, and in one of a table."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What is to be written.

    Attributes:
        new: the texts of new files, by their paths in the checkout.
        catalogue: the whole new text of the catalogue.
        line: of its entry there, from 1.
        previous: the change whose after side is the new one's before side.
        releases: the pair in the entry.
    """

    new: Mapping[Path, str]
    catalogue: str
    line: int
    previous: int
    releases: tuple[str, str]


def skeleton(checkout: Path, number: int, title: str, merged: date, releases: str | None) -> Skeleton:
    """The skeleton of a new change of the GDN builder, in memory.

    Args:
        number: of the pull request.
        title: in our words, one line.
        merged: the day of the merge.
        releases: the last release without it and the first with it, `A,B`; None for the pair after the newest change.

    Raises:
        UserError: something of it is there already, or cannot be.
    """
    newest = max((CATALOG[one] for one in GDN_CHANGES), key=lambda change: change.merged)
    _refuse_present(checkout, number)
    if merged < newest.merged:
        raise UserError(
            f"--merged {merged}: {newest.number} came later ({newest.merged}), and a change goes on from the one before"
        )
    pair = _next_pair(newest) if releases is None else _pair(releases)
    told = _title(title)
    values = {
        "number": number,
        "title": told,
        "told": told[0].lower() + told[1:] if told[1:2].islower() or told[1:2] == " " else told,
        "merged": merged,
        "releases": pair,
        "previous": newest.number,
    }
    new = {
        Path(f"gdn_impl/pr{number}.py"): _render("change.py.j2", values),
        Path(f"tests/gdn_impl/test_pr{number}.py"): _render("test_change.py.j2", values),
    }
    text, line = _with_entry((checkout / CATALOGUE).read_text("utf-8"), _render("entry.py.j2", values))
    return Skeleton(new, text, line, newest.number, pair)


def write(made: Skeleton, checkout: Path) -> None:
    """Write it; if one file cannot be written, none is.

    Raises:
        UserError: a file is there already.
        EnvironmentMissing: the disk does not take it.
    """
    written: list[Path] = []
    try:
        for name, text in made.new.items():
            _write_new(checkout / name, text)
            written.append(checkout / name)
        write_aside(checkout / CATALOGUE, made.catalogue)
    except BaseException as error:
        for path in written:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise EnvironmentMissing(f"cannot write to {checkout} ({error.strerror or error})") from None
        raise


def _refuse_present(checkout: Path, number: int) -> None:
    if number in CATALOG:
        raise UserError(f"{number} is in the catalogue already: {CATALOG[number].title}")
    for name in (f"gdn_impl/pr{number}.py", f"gdn_impl/pr{number}", f"tests/gdn_impl/test_pr{number}.py"):
        if os.path.lexists(checkout / name):
            raise UserError(f"{name} is there already, and nothing is overwritten")


def _title(text: str) -> str:
    title = text.strip().rstrip(".")
    if not title or len(title) > LONGEST_TITLE or not title.isprintable() or set(title) & set('"\\'):
        raise UserError(
            f"--title: one line of at most {LONGEST_TITLE} characters, without double quotes and backslashes"
        )
    return title[0].upper() + title[1:]


def _pair(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(re.fullmatch(r"\d{1,4}\.\d{1,4}\.\d{1,4}(\.post\d{1,3})?", name) for name in names):
        raise UserError(f"--releases {text}: two releases are needed, such as 0.31.0,0.32.0")
    if age(names[0]) >= age(names[1]):
        raise UserError(f"--releases {text}: the first must be older than the second")
    return names[0], names[1]


def _next_pair(newest: Change) -> tuple[str, str]:
    """The first release with the newest change, and the one after it that is known here."""
    last, known = newest.releases[1], known_releases()
    later = known[known.index(last) + 1 :] if last in known else ()
    if not later:
        raise UserError(f"no release after {last} is known here: name the pair by --releases")
    return last, later[0]


def _render(template: str, values: Mapping[str, Any]) -> str:
    source = (files("gdnbench.cli") / "templates" / template).read_text("utf-8")
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    return environment.from_string(source).render(values)


def _with_entry(catalogue: str, entry: str) -> tuple[str, int]:
    """The catalogue with an entry behind its last one, and the line where it stands."""
    ends = [_end_of_last_entry(node) for node in ast.parse(catalogue).body]
    end = next((line for line in ends if line is not None), None)
    if end is None:
        raise UserError(f"{CATALOGUE} has no CATALOG of Change(...) entries, to which one could be added")
    lines = catalogue.splitlines(keepends=True)
    text = "".join([*lines[:end], entry, *lines[end:]])
    ast.parse(text)
    return text, end + 1


def _end_of_last_entry(node: ast.stmt) -> int | None:
    """The line in which the last entry ends, of a statement `CATALOG = {... for change in (Change(...), ...)}`."""
    if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "CATALOG"):
        return None
    entries = node.value.generators[0].iter if isinstance(node.value, ast.DictComp) else None
    return entries.elts[-1].end_lineno if isinstance(entries, ast.Tuple) and entries.elts else None


def _write_new(path: Path, text: str) -> None:
    descriptor, made = tempfile.mkstemp(prefix=ASIDE, dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(made).chmod(0o644)
        os.link(made, path)  # unlike a rename, it fails where something stands
    except FileExistsError:
        raise UserError(f"{path} is there already, and nothing is overwritten") from None
    finally:
        Path(made).unlink(missing_ok=True)
