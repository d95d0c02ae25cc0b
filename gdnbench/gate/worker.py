"""Counts one side of a gate: `python -m gdnbench.gate.worker`, in a process that imports the builders to count.

It reads `{"variants": [...] or null, "part", "scenarios"}` and answers `{"rows": [[variant, part, scenario, counts,
failure], ...]}`. A step that raises is a row with its failure, so that a broken builder shows which steps it breaks.
What a part does not do (a capture is no step) is no row.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

from gdn_impl.catalog import CATALOG
from gdnbench.campaign.costs import count_here
from gdnbench.campaign.pipes import failure, leave, private_stdout
from gdnbench.campaign.processes import die_with_parent
from gdnbench.drivers.choice import choose_part
from gdnbench.drivers.registry import PARTS
from gdnbench.values.errors import UserError
from gdnbench.values.text import flat
from gdnbench.values.variants import Variant, VariantError, parse

LONGEST_FAILURE = 300

Row = list[Any]


def count(variants: Sequence[str] | None, part: str | None, scenarios: Sequence[str]) -> Iterator[Row]:
    """The rows of a selection, as JSON; variants and parts that these builders do not have give none."""
    for text in [f"pr{number}.after" for number in CATALOG] if variants is None else variants:
        try:
            variant = parse(text)
        except VariantError:
            continue  # a change that this commit does not know yet
        for name in _parts(variant, part):
            for scenario in scenarios:
                yield from _row(variant, name, scenario)


def _parts(variant: Variant, part: str | None) -> list[str]:
    if variant.change is None:
        return [choose_part([variant], part)]
    return [one.name for one in PARTS[variant.change] if (one.measured if part is None else one.name == part)]


def _row(variant: Variant, part: str, scenario: str) -> Iterator[Row]:
    place = [str(variant), part, scenario]
    try:
        costs = count_here(variant, part, variant.change, [scenario])["costs"]
    except UserError:
        raise
    except Exception as error:
        traceback.print_exception(error)
        yield [*place, None, one_line(f"{type(error).__name__}: {error}")]
    else:
        if scenario in costs:
            yield [*place, costs[scenario]["counts"], ""]


def one_line(text: str) -> str:
    """The text without line breaks and control characters, cut to a length for tables."""
    line = flat(text)
    return line if len(line) <= LONGEST_FAILURE else line[: LONGEST_FAILURE - 1] + "…"


def main() -> None:
    die_with_parent()
    answers = private_stdout()
    request = json.load(sys.stdin)
    try:
        answer: dict[str, Any] = {"rows": list(count(request["variants"], request["part"], request["scenarios"]))}
    except Exception as error:
        answer = failure(error)
    json.dump(answer, answers)
    answers.flush()
    leave(0)


if __name__ == "__main__":
    main()
