"""Puts a report where people find it: aside first, then under its name, so that none is ever half written."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from gdnbench.oracle.cache import write_aside
from gdnbench.report.evidence import Evidence, headline, next_steps
from gdnbench.report.html import page
from gdnbench.report.layout import PLOTS
from gdnbench.report.markdown import render
from gdnbench.report.paste import paste
from gdnbench.report.serving_words import headline as server_headline


def write(evidence: Evidence, root: Path) -> Path:
    """Write what `prN/` under `root` has: README.md, whose path it gives, index.html, description.md, evidence.json.

    A report that is there already is replaced, each file at once: a report tells of the last measurement.

    Raises:
        OSError: the disk does not take it.
    """
    directory = root / f"pr{evidence.change.number}"
    directory.mkdir(parents=True, exist_ok=True)
    plots = draw(evidence, directory)
    for name in set(PLOTS.values()) - set(plots.values()):
        (directory / name).unlink(missing_ok=True)  # of an earlier measurement, of which this report does not speak
    write_aside(directory / "evidence.json", json.dumps(evidence.to_json(), indent=1) + "\n")
    write_aside(directory / "index.html", page(evidence, {place: directory / name for place, name in plots.items()}))
    write_aside(directory / "description.md", paste(evidence))
    report = directory / "README.md"
    write_aside(report, render(evidence, plots))
    return report


def draw(evidence: Evidence, directory: Path) -> dict[str, str]:
    """The pictures that this evidence has, by their place in the report."""
    from gdnbench.report.plot_answers import answer_flips
    from gdnbench.report.plot_costs import cost_waterfall
    from gdnbench.report.plot_latencies import latency_distributions
    from gdnbench.report.plots import serving_ratios, step_ratios

    title = f"{evidence.change.number}: {evidence.change.title}"
    found: dict[str, str] = {}

    def place(name: str) -> Path:
        found[name] = PLOTS[name]
        return directory / PLOTS[name]

    if evidence.step is not None:
        step_ratios(evidence.step, title, place("plot"))
    if evidence.waterfall is not None and evidence.waterfall.falls:
        cost_waterfall(evidence.waterfall, f"{title}: exact costs", place("cost_plot"))
    if evidence.server is not None:
        serving_ratios(evidence.server, f"{title}, in a live server", place("server_plot"))
        if evidence.server.distributions:
            latencies = f"{title}: time between tokens"
            latency_distributions(evidence.server.distributions, latencies, place("latency_plot"))
    if evidence.accuracy is not None and evidence.accuracy.rows:
        answer_flips(evidence.accuracy, f"{title}: answers that changed", place("flips_plot"))
    return found


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
