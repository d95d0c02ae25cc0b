"""Puts a report where people find it: aside first, then under its name, so that none is ever half written."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from gdnbench.oracle.cache import write_aside
from gdnbench.report.evidence import Evidence, headline, next_steps
from gdnbench.report.markdown import render
from gdnbench.report.serving_words import headline as server_headline

PLOT, SERVER_PLOT = "step-time.png", "live-server.png"


def write(evidence: Evidence, root: Path) -> Path:
    """Write `prN/README.md`, `prN/evidence.json` and the plots under `root`; the path of the first.

    A report that is there already is replaced, each file at once: a report tells of the last measurement.

    Raises:
        OSError: the disk does not take it.
    """
    directory = root / f"pr{evidence.change.number}"
    directory.mkdir(parents=True, exist_ok=True)
    title = f"{evidence.change.number}: {evidence.change.title}"
    plot = server_plot = None
    if evidence.step is not None:
        from gdnbench.report.plots import step_ratios

        step_ratios(evidence.step, title, directory / PLOT)
        plot = PLOT
    if evidence.server is not None:
        from gdnbench.report.plots import serving_ratios

        serving_ratios(evidence.server, f"{title}, in a live server", directory / SERVER_PLOT)
        server_plot = SERVER_PLOT
    write_aside(directory / "evidence.json", json.dumps(evidence.to_json(), indent=1) + "\n")
    report = directory / "README.md"
    write_aside(report, render(evidence, plot, server_plot))
    return report


def say(evidence: Evidence, report: Path, as_json: bool) -> None:
    """Tell on standard output what was found and where the report lies."""
    if as_json:
        print(json.dumps({**evidence.to_json(), "report": str(report)}))
        return
    console = Console()
    console.print(headline(evidence), style="bold", highlight=False, markup=False, soft_wrap=True)
    for finding in evidence.equality:
        different = f"{finding.different} differ" if finding.different else "all equal"
        meant = "" if finding.promised else ", as the change means them to" if finding.different else ""
        scenarios = finding.named + finding.random
        console.print(f"metadata of {finding.part}: {different}{meant} ({scenarios} scenarios)", highlight=False)
    for part, result in evidence.costs.items():
        console.print(f"exact costs of {part}: {result.verdict.value}", highlight=False, soft_wrap=True)
    if evidence.server is not None:
        console.print(server_headline(evidence.server), highlight=False, markup=False, soft_wrap=True)
    console.print(f"report: {report}", highlight=False, soft_wrap=True)
    console.print(f"next: {next_steps(evidence)[0]}", highlight=False, soft_wrap=True)
