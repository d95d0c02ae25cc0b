"""gdnbench step: the time of one step, before against after."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdnbench.cli import exits
from gdnbench.cli.executor_options import AddressOption, ExecutorOption, executor_of, say
from gdnbench.cli.history_option import HistoryOption

EXAMPLE = "Example: gdnbench step pr51913.before pr51913.after --scenario 16q1s1k"


def step(
    before: Annotated[str | None, typer.Argument(metavar="A", help="The before side, e.g. pr51913.before.")] = None,
    after: Annotated[str | None, typer.Argument(metavar="B", help="The after side, e.g. vllm@0.29.0+2%.")] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(help="A step to measure, e.g. 16q1s1k; may be repeated. Default: all named ones."),
    ] = None,
    part: Annotated[str | None, typer.Option(help="Which part of the change. Default: its first.")] = None,
    launches: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Fresh processes. Default: 10, or what many rows need.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, max=100_000, help="Blocks of each side in a launch.")] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    limit: Annotated[
        bool, typer.Option("--limit", help="Run the fastest known builder beside: both sides as multiples of it.")
    ] = False,
    executor: ExecutorOption = "local",
    address: AddressOption = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the campaign in this directory.")] = None,
    history: HistoryOption = None,
    fail_on: Annotated[str, typer.Option(help="Verdicts that give exit code 1.")] = exits.FAIL_ON,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """Measure the time of one step: both sides in turns inside each launch, and the before side against itself."""
    from gdnbench.campaign import campaign
    from gdnbench.campaign.journal import Journal
    from gdnbench.campaign.judged import judge_campaign
    from gdnbench.campaign.planning import plan_step, same_sides
    from gdnbench.campaign.progress import progress
    from gdnbench.cli.step_table import print_json, print_tables
    from gdnbench.history.of_step import step_run
    from gdnbench.history.recorder import recorder

    failing = exits.verdict_names(fail_on)
    record = recorder(history)
    journal: Journal | None = None
    if resume is None:
        plan = plan_step(before, after, scenario, part, launches, rounds, device, limit)
    else:
        journal = Journal.open(resume)
        plan = journal.plan
        same_sides(plan, before, after, scenario, part, launches, rounds, limit or None)
    with executor_of(executor, address) as machines:
        machines.prepare(campaign.needs(plan, journal.hardware if journal else None), say)
        journal = journal or campaign.begin(plan)
        with progress("launches", plan.launches) as done:
            records = campaign.run(journal, done, executor=machines)
    judged = judge_campaign(journal.plan, records)
    (print_json if json else print_tables)(judged, journal.directory)
    record(lambda: step_run(judged))
    return exits.status_of([row.judgement.verdict for row in judged.result.rows if row.primary], failing)


step.__doc__ = f"{step.__doc__}\n\n{EXAMPLE}"
