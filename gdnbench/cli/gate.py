"""`gdnbench gate`: what this checkout costs now, against a baseline; for CI."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from gdnbench.cli import exits
from gdnbench.cli.history_option import HistoryOption
from gdnbench.values.errors import UserError

EXAMPLES = """Examples:

gdnbench gate --baseline origin/main

gdnbench gate --save baseline.json

gdnbench gate --baseline baseline.json --junit gate.xml --fail-on regressed,invalid,unknown

gdnbench gate --baseline HEAD~1 --step pr51565.after"""


def gate(
    baseline: Annotated[
        str | None, typer.Option(metavar="REF|FILE", help="A commit of this repository, or a file from --save.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write what was measured to this new file, a baseline.")] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(help="What to count, e.g. pr51913.after; may be repeated. Default: every change's after side."),
    ] = None,
    part: Annotated[str | None, typer.Option(help="Which part of the changes. Default: all that are measured.")] = None,
    scenario: Annotated[
        list[str] | None, typer.Option(help="A step, e.g. 16q1s1k; may be repeated. Default: all named ones.")
    ] = None,
    step: Annotated[
        str | None, typer.Option(metavar="VARIANT", help="Measure this variant's step time as well (minutes).")
    ] = None,
    device: Annotated[str, typer.Option(help="Where step time is measured: cpu or cuda.")] = "cpu",
    launches: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Fresh processes for step time. Default: 10, or what rows need.")
    ] = None,
    allow_gone: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Rows that may be gone, e.g. 'pr40654.after*'; may be repeated."),
    ] = None,
    history: HistoryOption = None,
    fail_on: Annotated[str, typer.Option(help="Verdicts that give exit code 1.")] = exits.FAIL_ON,
    junit: Annotated[Path | None, typer.Option(help="Write the rows as JUnit XML to this file.")] = None,
    annotations: Annotated[
        bool | None,
        typer.Option("--annotations/--no-annotations", help="GitHub's. Default: where GITHUB_ACTIONS is true."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """Compare exact costs, and step time where asked, with a baseline; rows that only one side has are shown too."""
    from gdnbench.campaign.progress import stages
    from gdnbench.gate import runs
    from gdnbench.gate.commits import Commit
    from gdnbench.gate.gate import find_baseline, hold, measure_now, selection_for
    from gdnbench.gate.step_time import plan_steps
    from gdnbench.history.of_gate import gate_run
    from gdnbench.history.recorder import recorder
    from gdnbench.report import gate as report
    from gdnbench.report.annotations import commands
    from gdnbench.report.junit import write_junit

    failing = exits.verdict_names(fail_on)
    record = recorder(history)
    if baseline is None and save is None:
        raise UserError("a baseline is needed: --baseline REF or FILE compares, --save FILE writes one")
    if baseline is None and junit is not None:
        raise UserError("--junit writes the rows of a comparison: name a --baseline")
    if device not in ("cpu", "cuda"):
        raise UserError(f"--device {device}: there are cpu and cuda")
    if save is not None:
        runs.refuse_present(save)
    found = None if baseline is None else find_baseline(baseline)
    selection = selection_for(found, variant, part, scenario)
    held = None if found is None or isinstance(found, Commit) else found.steps
    plan = None if step is None else plan_steps(step, part, scenario, device, launches, held)
    if plan is not None and save is not None and isinstance(found, Commit):
        raise UserError("--step against a commit measures pairs, which are no baseline: save one by a run of its own")
    with stages() as tell:
        now, paired = measure_now(found, selection, plan, tell)
    result = None if found is None or baseline is None else hold(baseline, found, now, allow_gone or (), paired)
    if save is not None:
        runs.save(now, save)
    if result is None:
        (report.print_saved_json if json else report.print_saved)(now, save)
        record(lambda: gate_run(now))
        return exits.DONE
    (report.print_json if json else report.print_table)(result, save)
    record(lambda: gate_run(now, result))
    if junit is not None:
        write_junit(result, failing, junit)
    if annotations or (annotations is None and os.environ.get("GITHUB_ACTIONS") == "true"):
        print("\n".join(commands(result, failing)), file=sys.stderr if json else sys.stdout)
    return exits.status_of([row.verdict for row in result.rows if row.verdict is not None], failing)


gate.__doc__ = f"{gate.__doc__}\n\n{EXAMPLES}"
