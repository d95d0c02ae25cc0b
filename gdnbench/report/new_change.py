"""What `gdnbench new-change` wrote, and what is left for a person to fill in."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console


def print_json(number: int, new: Sequence[str], line: int, previous: int, releases: tuple[str, str]) -> None:
    """One JSON object on standard output."""
    written = {"change": number, "written": list(new), "entry": f"gdn_impl/catalog.py:{line}"}
    print(json.dumps({**written, "previous": previous, "releases": list(releases), "next": _steps(number, new, line)}))


def print_steps(number: int, new: Sequence[str], line: int, previous: int, releases: tuple[str, str]) -> None:
    """The same for a person."""
    console = Console()
    between = f"{releases[0]} -> {releases[1]}"
    for name in new:
        console.print(f"written: {name}", markup=False, highlight=False, soft_wrap=True)
    entry = f"added: an entry in gdn_impl/catalog.py, line {line}; it goes on from {previous}, releases {between}"
    console.print(entry, markup=False, highlight=False, soft_wrap=True)
    for i, step in enumerate(_steps(number, new, line), start=1):
        console.print(f"{i}. {step}", markup=False, highlight=False, soft_wrap=True)


def _steps(number: int, new: Sequence[str], line: int) -> list[str]:
    return [
        f"{new[0]}: let After override what the change touched, and tell both sides in their docstrings",
        f"gdn_impl/catalog.py:{line}: tell `what`; name the scenarios that exercise it, the primary one first; set "
        "promises_equal, claims, foreign, and not_judged_at with a reason for each level that does not apply",
        f"see what it costs: gdnbench cost pr{number}.before pr{number}.after --scenario 16q1s1k",
        f"{new[1]}: expect the verdict that it is for, and add the test that fails without the change",
        f"hold it against the releases (make vllm): gdnbench conform --change {number} --write-goldens",
        f"measure it: gdnbench evidence {number}",
    ]
