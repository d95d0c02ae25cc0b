"""Between which runs a shift happened, and what differs between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from gdnbench.gate.commits import between
from gdnbench.gate.identity import HARNESS
from gdnbench.history.reading import KeptRun
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.runs import RunIdentity
from gdnbench.values.shifts import Blame, Changed


def blame(runs: Sequence[KeptRun]) -> Blame:
    """What differs between the first and the last of some runs in order of time, at least one."""
    before, after = runs[0].identity, runs[-1].identity
    return Blame(
        runs=tuple(str(run.name) for run in runs),
        commits=_commits(before.source.commit, after.source.commit),
        libraries=tuple(_changed(before.machine.libraries, after.machine.libraries)),
        machine=tuple(_changed(_facts(before), _facts(after))),
    )


@cache
def _commits(before: str, after: str) -> tuple[str, ...]:
    """Both commits and those between them, where this checkout knows them."""
    ends = tuple(dict.fromkeys(commit for commit in (before, after) if commit))
    if len(ends) < 2:
        return ends
    try:
        return tuple(dict.fromkeys((before, *between(HARNESS.parent, before, after), after)))
    except (UserError, EnvironmentMissing):
        return ends


def _facts(identity: RunIdentity) -> dict[str, str]:
    machine, source = identity.machine, identity.source
    return {
        "host": machine.host,
        "processor": machine.processor,
        "gpu": machine.gpu,
        "cores": str(machine.cores or ""),
        "system": machine.system,
        "builders": source.builders[:12],
        "harness": source.harness[:12],
        "changed files": {True: "yes", False: "no"}[source.changed],
        "model": identity.model,
        "flags": " ".join(identity.flags),
    }


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> Iterable[Changed]:
    for name in sorted({*before, *after}):
        old, new = before.get(name, ""), after.get(name, "")
        if old != new:
            yield Changed(name, old, new)
