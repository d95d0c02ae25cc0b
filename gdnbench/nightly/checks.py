"""What values of a plan file must be: each check gives the value, or raises `ValueError` that says what is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from gdnbench.values import scenarios
from gdnbench.values.errors import UserError
from gdnbench.values.variants import parse as parse_variant
from gdnbench.values.verdicts import Verdict

Check = Callable[[Any], Any]

_DURATION = re.compile(r"(?:(\d{1,4})d)?(?:(\d{1,4})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s)?")
MOST_ITEMS = 200
LONGEST = 500


def duration(value: Any) -> float:
    """Seconds, of a text such as `25m`, `1h30m` or `20h`."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None or not any(match.groups()):
        raise ValueError("a time such as 25m, 1h30m or 20h is needed")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def whole(least: int, most: int) -> Check:
    """A whole number within bounds."""

    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ValueError(f"a whole number from {least:,} to {most:,} is needed")
        return value

    return check


def positive(value: Any) -> float:
    """A number above 0."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1e6:
        raise ValueError("a number above 0 is needed")
    return float(value)


def yes_or_no(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false is needed")
    return value


def text(value: Any) -> str:
    """One line."""
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST or not value.isprintable():
        raise ValueError(f"a text of 1 to {LONGEST} printable characters is needed")
    return value


def one_of(*names: str) -> Check:
    """One of several words."""

    def check(value: Any) -> str:
        if value not in names:
            raise ValueError(f"there are {', '.join(names)}")
        return str(value)

    return check


def listed(check: Check, what: str) -> Check:
    """A list with an item at least, each of which passes a check."""

    def check_all(value: Any) -> list[Any]:
        if not isinstance(value, list) or not 0 < len(value) <= MOST_ITEMS:
            raise ValueError(f"a list of {what} is needed")
        return [check(one) for one in value]

    return check_all


def scenario(value: Any) -> str:
    """The name of a scenario."""
    return _read(lambda: scenarios.parse(text(value)).name)


def variant(value: Any) -> str:
    """A variant as it is spelled."""
    return _read(lambda: str(parse_variant(text(value))))


def pair(value: Any) -> tuple[str, str]:
    """Two variants, before and after."""
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError('pairs such as ["pr51913.before", "pr51913.after"] are needed')
    return variant(value[0]), variant(value[1])


def verdicts(value: Any) -> frozenset[Verdict]:
    """A verdict, or a list of them."""
    known = {verdict.value for verdict in Verdict}
    found: Sequence[Any] = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) and one in known for one in found):
        raise ValueError(f"verdicts are {', '.join(sorted(known))}")
    return frozenset(Verdict(one) for one in found)


def _read(read: Callable[[], str]) -> str:
    try:
        return read()
    except UserError as error:
        raise ValueError(str(error)) from None
