"""A result file of asv as a run. It stands at the date of its commit, as in asv's own graphs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from gdnbench.campaign.machine import keyed
from gdnbench.history.asv_files import AsvFigure, AsvFile
from gdnbench.history.pointing import one_line
from gdnbench.stats.median import interval
from gdnbench.values.runs import Machine, Run, RunIdentity, Source
from gdnbench.values.series import Point, Series
from gdnbench.values.verdicts import Caveat

IMPORTED = "asv"
UNIDENTIFIED = "unidentified"
"""The code of the caveat of a run without a commit that says what was measured."""


def asv_run(file: AsvFile, token: str, variant: str | None = None) -> Run:
    """The run of a result file.

    asv's names of machines are names in a network: a digest stands for them.

    Args:
        token: of the file.
        variant: what was measured; default, asv's name of the environment that it was built in.
    """
    machine = Machine(
        host=keyed(file.machine.get("machine", "")),
        device="cpu" if file.machine.get("cpu") else "",
        processor=one_line(file.machine.get("cpu", "")),
        cores=int(file.machine["num_cpu"]) if file.machine.get("num_cpu", "").isdecimal() else 0,
        system=one_line(file.machine.get("os", "")),
        libraries={"python": one_line(file.python)} if file.python else {},
    )
    name = one_line(variant or file.environment or IMPORTED)
    failed = [figure for figure in file.figures if figure.value is None]
    warnings = (
        [
            Caveat(
                "failed",
                one_line(
                    f"{len(failed)} of {len(file.figures)} benchmarks failed, such as "
                    f"{failed[0].benchmark}({', '.join(failed[0].parameters)})"
                ),
                "see asv's own log",
            )
        ]
        if failed
        else []
    )
    if not file.commit or "dirty" in file.commit:
        what = "the file names no commit" if not file.commit else "the commit is marked as dirty"
        warnings.append(Caveat(UNIDENTIFIED, what, "set it: asv run -E existing --set-commit-hash HEAD"))
    return Run(
        identity=RunIdentity(
            kind="bench",
            started=datetime.fromtimestamp(file.date / 1000, UTC).isoformat(),
            machine=machine,
            source=Source(commit=one_line(file.commit), changed="dirty" in file.commit),
            imported=IMPORTED,
            variants={"measured": name},
            settings={"environment": one_line(file.environment)},
        ),
        points=tuple(_points(file, name, machine)),
        token=token,
        warnings=tuple(warnings),
    )


def _points(file: AsvFile, variant: str, machine: Machine) -> Iterator[Point]:
    for figure in file.figures:
        if figure.value is None:
            continue
        yield Point(
            series=Series(
                variant=variant,
                against="",
                part="",
                load=one_line(", ".join(figure.parameters)),
                metric=one_line(figure.benchmark),
                statistic="median",
                setting=_version(figure),
                device=machine.device,
                hardware=machine.hardware,
                machine=machine.host,
            ),
            value=figure.value,
            unit=one_line(figure.unit),
            direction="lower",
            assumption="sampled",
            interval=interval(figure.samples),
            launches=len(figure.samples) or figure.repeat or 1,
            samples=figure.samples,
        )


def _version(figure: AsvFigure) -> str:
    """Another version of a benchmark is another benchmark."""
    return f"version {one_line(figure.version)[:12]}" if figure.version else ""
