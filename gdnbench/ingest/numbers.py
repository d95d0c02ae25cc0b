"""Numbers as people of several languages write them: 1393.52, 1,393.52, 1.393,52, 1 393,52, 1'393.52.

One number alone may be read in two ways (1,393 is a thousand or one and a bit), and a wrong guess is a factor of a
thousand. So the numbers of a piece of text are read together: those that can be read in one way only say which sign
stands before decimals, and all others must be readable with it. What is not remains unread.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal

Convention = Literal[".", ","]
"""The sign before decimals."""

_SPACES = "\u00a0\u202f\u2009'\u2019"
"""Between groups of three digits in any language; a plain space may as well lie between two numbers."""

NUMBER = rf"[-+\u2212]?[0-9](?:[0-9.,{_SPACES}]*[0-9])?(?:[eE][-+]?[0-9]{{1,3}})?"
"""A pattern for what may be a number; whether it is one, `readings` says."""


GROUP = 3
"""Digits between two signs of thousands."""


def _form(sign: Convention, group: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<whole>[-+\u2212]?(?:[1-9][0-9]{{0,2}}(?:[{re.escape(group)}{_SPACES}][0-9]{{{GROUP}}})+|[0-9]+))"
        rf"(?:{re.escape(sign)}(?P<decimals>[0-9]+))?(?P<exponent>[eE][-+]?[0-9]{{1,3}})?"
    )


_FORMS: dict[Convention, re.Pattern[str]] = {".": _form(".", ","), ",": _form(",", ".")}
_NO_DIGIT = re.compile(r"[^-+0-9]")


def readings(text: str, whole: bool = False) -> dict[Convention, float]:
    """What a number means under each convention that it can be read in.

    Args:
        whole: it is a count; a fraction is no reading of it, and three zeros behind a sign are a group of thousands.
    """
    found: dict[Convention, float] = {}
    for sign, form in _FORMS.items():
        if match := form.fullmatch(text.strip()):
            digits = _NO_DIGIT.sub("", match["whole"].replace("\u2212", "-"))
            value = float(f"{digits}.{match['decimals'] or '0'}{match['exponent'] or ''}")
            if not whole or (value.is_integer() and len(match["decimals"] or "") != GROUP):
                found[sign] = value
    return found


def convention(texts: Iterable[tuple[str, bool]], by_all: bool = False) -> Convention | None:
    """The sign before decimals in a piece of text, by the majority of numbers that allow one reading only.

    Args:
        texts: numbers, each with whether it is a count.
        by_all: one number that says otherwise is enough to leave it open: where some may have lost digits, `1,393.52`
            may have become `1,39`.

    Returns:
        None where nothing says so, or as much speaks for either.
    """
    votes: Counter[Convention] = Counter()
    for text, whole in texts:
        found = readings(text, whole)
        if len(found) == 1:
            votes.update(found.keys())
    (first, count), (_, other) = [*votes.most_common(2), (".", 0), (".", 0)][:2]
    return first if count > other and not (by_all and other) else None


def number(text: str, whole: bool, sign: Convention | None) -> float | None:
    """A number of a piece of text whose convention is known; None where it cannot be read without guessing."""
    found = readings(text, whole)
    if sign is not None:
        return found.get(sign)
    return next(iter(found.values())) if len(found) == 2 and len(set(found.values())) == 1 else None


def decimals(text: str, sign: Convention | None) -> int:
    """How many decimals a number is written with; 0 where it cannot be read."""
    match = _FORMS[sign or "."].fullmatch(text.strip())
    return len(match["decimals"] or "") if match else 0
