"""The evidence: a page for each run, and all nights and runs with what is missing or damaged."""

from __future__ import annotations

import json

from gdnbench.dashboard import words
from gdnbench.dashboard.data import SiteData
from gdnbench.dashboard.drawing import calendar
from gdnbench.dashboard.overview import nights_of
from gdnbench.dashboard.pages import Pages
from gdnbench.history.reading import KeptRun


def write_runs(pages: Pages, site: SiteData) -> None:
    """The page of all runs, and one for each."""
    dates = [words.night(night) for night in site.nights.of_run]
    pages.write(
        "runs.html",
        "runs",
        runs=list(zip(site.runs, dates, strict=True))[::-1],
        calendar=calendar(nights_of(site)),
        missing=[words.stretch(*one) for one in site.nights.missing[::-1]],
    )
    for run, date in zip(site.runs, dates, strict=True):
        pages.write(f"runs/{run.name}.html", "run", run=run, night=date, facts=_facts(run))


def _facts(run: KeptRun) -> dict[str, str]:
    """What tells a run from others, in the order in which a reader asks."""
    one = run.identity
    machine, source = one.machine, one.source
    facts = {
        "what": one.kind + (f", imported from {one.imported}" if one.imported else ""),
        "began": one.started,
        "kept": run.recorded.isoformat(),
        "verdict": "" if run.verdict is None else run.verdict.value,
        "change": "" if one.change is None else str(one.change),
        "variants": ", ".join(f"{role}: {name}" for role, name in one.variants.items()),
        "loads": ", ".join(one.loads),
        "part": one.part,
        "model": one.model,
        "flags": " ".join(one.flags),
        "settings": json.dumps(one.settings, sort_keys=True) if one.settings else "",
        "seeds": json.dumps(one.seeds, sort_keys=True) if one.seeds else "",
        "machine": " ".join(part for part in (machine.device, machine.hardware, machine.host) if part),
        "cores": str(machine.cores or ""),
        "system": machine.system,
        "libraries": ", ".join(f"{name} {version}" for name, version in machine.libraries.items()),
        "commit": source.commit + (" with changed files" if source.changed else ""),
        "builders": source.builders,
        "harness": source.harness,
    }
    return {name: value for name, value in facts.items() if value}
