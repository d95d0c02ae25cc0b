"""What a gate measured as a run: this checkout's figures, and what its comparison with a baseline says."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from gdnbench.campaign.machine import host
from gdnbench.history.of_cost import cost_comparison, counts
from gdnbench.history.pointing import comparison, once, own_figure
from gdnbench.values.gate import EXACT, GateResult, GateRow, GateRun
from gdnbench.values.metrics import METRICS
from gdnbench.values.runs import Machine, Run, RunIdentity, Source, moment
from gdnbench.values.series import Point, Series, setting
from gdnbench.values.verdicts import Caveat, Judgement, Verdict

_SOUND = Judgement(Verdict.SAME)


def gate_run(run: GateRun, result: GateResult | None = None) -> Run:
    """The run of a gate.

    Args:
        run: of this checkout.
        result: of its comparison; None where only a baseline was saved.
    """
    own, devices = run.identity, {step.device for step in run.steps.values()}
    machine = Machine(
        host=host(),
        device=next(iter(devices)) if len(devices) == 1 else "traced",
        processor=own.cpu,
        gpu=own.gpu or "",
        cores=own.cores,
        system=own.system,
        libraries={"torch": own.torch, "python": own.python},
    )
    places = [*run.costs, *run.steps]
    failed = [
        Caveat("failed", f"{place}: {cost.failure}", "see gdnbench cost")
        for place, cost in run.costs.items()
        if cost.counts is None
    ]
    return Run(
        identity=RunIdentity(
            kind="gate",
            started=moment(own.made).isoformat(),
            machine=machine,
            source=Source(own.commit or "", own.changed, own.source, own.harness),
            variants={place.variant: place.variant for place in places},
            loads=tuple(dict.fromkeys(place.scenario for place in places)),
            part=run.selection.part or "",
            settings={} if result is None else {"baseline": result.baseline, "against": result.before.version},
        ),
        points=once([*_figures(run, machine), *_comparisons(result, machine)]),
        token=f"gate {uuid.uuid4()}",
        verdict=None if result is None else result.verdict,
        warnings=(*failed, *(() if result is None else result.warnings)),
    )


def _figures(run: GateRun, machine: Machine) -> Iterator[Point]:
    for place, cost in run.costs.items():
        if cost.counts is not None:
            yield from counts(place.variant, place.part, place.scenario, cost.counts)
    for place, step in run.steps.items():
        how = setting("alone", [step.rounds])
        key = (place.variant, "", place.part, place.scenario, step.metric, "median", how)
        series = Series(*key, step.device, machine.hardware, machine.host)
        yield own_figure(series, METRICS[step.metric], step.microseconds, _SOUND, primary=True)


def _comparisons(result: GateResult | None, machine: Machine) -> Iterator[Point]:
    """Rows that both sides have; that one is gone or new is a matter of the gate."""
    for row in () if result is None else result.rows:
        if row.judgement is None or row.after is None or row.before is None:
            continue
        place, against = row.place, f"baseline {result.baseline}" if result is not None else ""
        if row.metric == EXACT:
            yield cost_comparison(place.variant, against, place.part, place.scenario, row.judgement)
        else:
            yield comparison(_series(row, against, machine), METRICS[row.metric], row.judgement, (), primary=True)


def _series(row: GateRow, against: str, machine: Machine) -> Series:
    place = row.place
    key = (place.variant, against, place.part, place.scenario, row.metric, "median", "gate")
    return Series(*key, machine.device, machine.hardware, machine.host)
