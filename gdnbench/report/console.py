"""Standard output for tables, and the colours of verdicts."""

from __future__ import annotations

from rich.console import Console

from gdnbench.values.verdicts import Verdict

STYLES = {
    Verdict.IMPROVED: "green",
    Verdict.REGRESSED: "red",
    Verdict.SAME: "cyan",
    Verdict.UNKNOWN: "yellow",
    Verdict.INVALID: "bold red",
}


def wide_console(width: int) -> Console:
    """Standard output; where it is no terminal, `width` columns."""
    console = Console()
    return console if console.is_terminal else Console(width=width)
