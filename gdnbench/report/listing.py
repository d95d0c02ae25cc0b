"""What there is: changes, scenarios, ways to write a variant."""

from __future__ import annotations

import json

from rich.console import Console
from rich.table import Table

from gdn_impl.catalog import CATALOG, Level
from gdn_impl.faults import FAULTS
from gdnbench.drivers.registry import PARTS
from gdnbench.values.scenarios import NAMED, parse

VARIANTS = {
    "prN.before, prN.after": "our builder without and with a catalogued change, e.g. pr51913.after",
    "vllm@V": "the real code of a release, e.g. vllm@0.29.0 (make vllm)",
    "path:DIR": "a vLLM checkout (make vllm)",
    "limit": "the fastest builder that we know, with the metadata of vLLM 0.32.0",
    "fault:NAME": f"a builder that is broken on purpose: {', '.join(FAULTS)}",
    "X+P%, X+Nus": "any of them, slowed down by a busy wait, e.g. pr51913.after+2%",
}


def listing_json() -> str:
    changes = [
        {
            "change": change.number,
            "title": change.title,
            "merged": change.merged.isoformat(),
            "releases": list(change.releases),
            "promises_equal": change.promises_equal,
            "levels": [level.value for level in Level if change.judged_at(level)],
            "not_judged_at": {level.value: reason for level, reason in change.not_judged_at.items()},
            "scenarios": list(change.scenarios),
            "parts": [part.name for part in PARTS[change.number]],
            "url": change.url,
        }
        for change in CATALOG.values()
    ]
    scenarios = [{"scenario": name, "kind": parse(name).kind, "what": what} for name, what in NAMED.items()]
    return json.dumps({"changes": changes, "scenarios": scenarios, "variants": VARIANTS})


def print_listing() -> None:
    console = Console()
    changes = _table("change", "merged", "releases", "title", "parts")
    for change in CATALOG.values():
        parts = ", ".join(part.name for part in PARTS[change.number])
        releases = " -> ".join(change.releases)
        changes.add_row(str(change.number), str(change.merged), releases, change.title, parts)
    scenarios = _table("scenario", "kind", "what")
    for name, what in NAMED.items():
        scenarios.add_row(name, parse(name).kind, what)
    variants = _table("variant", "what")
    for spelling, what in VARIANTS.items():
        variants.add_row(spelling, what)
    for table in (changes, scenarios, variants):
        console.print(table)
        console.print()


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in ("scenario", "merged", "change"))
    return table
