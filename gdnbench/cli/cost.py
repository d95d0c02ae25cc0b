"""`gdnbench cost`: what a step asks of the device, counted exactly, before against after."""

from __future__ import annotations

from typing import Annotated

import typer

from gdnbench.cli import exits
from gdnbench.cli.history_option import HistoryOption

EXAMPLE = "Example: gdnbench cost pr51913.before pr51913.after --scenario 16q1s1k --operations"


def cost(
    before: Annotated[str, typer.Argument(metavar="A", help="The before side, e.g. pr51913.before.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The after side, e.g. vllm@0.29.0.")],
    scenario: Annotated[
        list[str] | None,
        typer.Option(help="A step to count, e.g. 16q1s1k; may be repeated. Default: all named ones."),
    ] = None,
    part: Annotated[str | None, typer.Option(help="Which part of the change. Default: all that are measured.")] = None,
    operations: Annotated[bool, typer.Option("--operations", help="List every operation, in order.")] = False,
    history: HistoryOption = None,
    fail_on: Annotated[str, typer.Option(help="Verdicts that give exit code 1.")] = exits.FAIL_ON,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """Count what one step asks of the device, on the traced accelerator: the same numbers on every machine."""
    from gdnbench.campaign.costs import count_costs
    from gdnbench.history.of_cost import cost_run
    from gdnbench.history.recorder import recorder
    from gdnbench.report.costs import costs_json, print_costs
    from gdnbench.values import scenarios
    from gdnbench.values.variants import parse

    failing = exits.verdict_names(fail_on)
    record = recorder(history)
    names = list(dict.fromkeys(scenarios.parse(text).name for text in scenario or scenarios.NAMED))
    sides = parse(before), parse(after)
    counted = count_costs(*sides, names, part)
    if as_json:
        print(costs_json(counted, operations))
    else:
        print_costs(counted, operations)
    record(lambda: cost_run(*sides, counted))
    return exits.status_of([one.result.verdict for one in counted.values()], failing)


cost.__doc__ = f"{cost.__doc__}\n\n{EXAMPLE}"
