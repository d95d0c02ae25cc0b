"""What `gdnbench data` shows a person: the data sets, and what became of a file's conversations."""

from __future__ import annotations

from collections.abc import Iterable

from rich.markup import escape
from rich.table import Table

from gdnbench.report.console import wide_console
from gdnbench.workloads.inspection import Inspection
from gdnbench.workloads.manifests import Manifest
from gdnbench.workloads.selection import COUNTED


def print_manifests(manifests: Iterable[Manifest]) -> None:
    """A row for each data set."""
    console = wide_console(160)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("name", "here", "MB", "licence", "what", "source"):
        table.add_column(name, overflow="fold", justify="right" if name == "MB" else "left")
    for one in manifests:
        here = sum(file.path.is_file() for file in one.files)
        state = "yes" if here == len(one.files) else f"{here} of {len(one.files)}" if here else "no"
        source = "" if one.source == one.what else escape(one.source)
        table.add_row(one.name, state, f"{one.bytes / 1e6:.1f}", escape(one.licence), escape(one.what), source)
    console.print(table)


def print_counts(found: Inspection) -> None:
    """A line for each count, in the order of the selection; nothing for a file that is no ShareGPT."""
    for name, number in (found.counts or {}).items():
        print(f"  {COUNTED[name]:<26}{number:>9}")
    if found.not_from_human:
        print(f"{found.not_from_human} conversations do not start with human; vLLM sends them all the same")
