"""ShareGPT's entries, read as vLLM's benchmark reads them: turns 0 and 1 by position, whoever speaks them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

HUMAN = ("human", "user")
"""What ShareGPT calls people; in a few entries it uses OpenAI's word."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The first exchange of one.

    Attributes:
        prompt: the text of turn 0.
        answer: the text of turn 1.
        from_human: whether turn 0 is a person's.
    """

    prompt: str
    answer: str
    from_human: bool


def conversations(entries: Iterable[Any], counts: Counter[str]) -> Iterator[Conversation | None]:
    """Those of at least two turns, in order; None for one whose turns are no text, which none can send.

    Args:
        entries: of a ShareGPT file.
        counts: is told of all `entries`, and of those left out: `no_conversations`, `under_two_turns`.
    """
    for entry in entries:
        counts["entries"] += 1
        turns = entry.get("conversations") if isinstance(entry, dict) else None
        if not isinstance(turns, list):
            counts["no_conversations"] += 1
        elif len(turns) < 2:
            counts["under_two_turns"] += 1
        else:
            yield _first_exchange(turns[0], turns[1])


def _first_exchange(first: Any, second: Any) -> Conversation | None:
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return None
    prompt, answer = first.get("value"), second.get("value")
    if not (_is_text(prompt) and _is_text(answer)):
        return None
    return Conversation(prompt, answer, first.get("from") in HUMAN)


def _is_text(value: Any) -> TypeGuard[str]:
    """JSON can write halves of surrogate pairs, which are no characters and go into no request."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
