"""Text from elsewhere, made fit to be shown."""

from __future__ import annotations


def printable(text: str) -> str:
    """Blanks in place of whatever cannot be printed, line breaks and escape sequences among it."""
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def flat(text: str) -> str:
    """One line of it, single blanks between words."""
    return " ".join(printable(text).split())
