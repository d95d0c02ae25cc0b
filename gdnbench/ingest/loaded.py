"""JSON from outside, loaded with care: its size is known, its keys are not doubled, its depth ends."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from gdnbench.ingest.lines import short
from gdnbench.values.errors import UserError

_SCRIPT = "window.BENCHMARK_DATA ="
"""How github-action-benchmark begins the file that its page loads."""

_BEGINS = re.compile(r"\{\s*[\"}]|\[\s*[\[{]")
"""Text that can hardly be anything but JSON; a log may begin with a bracket as well."""


def documents(text: str, source: str) -> list[Any] | None:
    """The JSON documents in a text: one, or one a line; None where it is no JSON.

    Raises:
        UserError: a key stands twice in an object, with different values; or it begins as JSON and ends early.
    """
    body = text.strip().removeprefix(_SCRIPT).strip().removesuffix(";").strip()
    if body[:1] not in ("{", "["):
        return None

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found and found[key] != value:
                raise UserError(f"{source}: {short(key)} stands there twice, with different values; keep one of them")
            found[key] = value
        return found

    try:
        return [json.loads(body, object_pairs_hook=once)]
    except (ValueError, RecursionError) as error:
        lines = [line for line in body.splitlines() if line.strip()]
        try:
            return [json.loads(line, object_pairs_hook=once) for line in lines]
        except (ValueError, RecursionError):
            if _BEGINS.match(body):
                why = short(f"{type(error).__name__}: {error}", 100)
                raise UserError(f"{source} begins as JSON and cannot be read ({why}): is it cut off?") from None
            return None


def is_number(value: Any) -> bool:
    """A number that is no truth value; it may be infinite or no number at all, as JSON files hold them."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_float(value: Any) -> float:
    """A number of a JSON file; integers beyond all bounds become infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
