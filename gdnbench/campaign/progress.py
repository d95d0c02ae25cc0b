"""Progress bars on standard error, and only where that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """Gives a function that is told a stage's name, how much of it is done, and how much there is."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    shown = console.is_terminal
    # Standard output belongs to answers, and what a library prints there meanwhile is not for the terminal either.
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, disable=not shown) as bar:
        tasks: dict[str, TaskID] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total)
            bar.update(tasks[stage], completed=done, total=total)

        yield tell


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """One stage of `total` things; call what it gives with the number done."""
    with stages() as tell:
        yield lambda done: tell(what, done, total)
