"""A calibration for the reader: one JSON object, or a headline, other tools' rules beside ours, and what to do next."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from gdnbench.report.console import wide_console
from gdnbench.stats.campaigns import Calibration, calibrate
from gdnbench.stats.whole import WholeKind, agreement
from gdnbench.values.recordings import CONTROL, Recording

MOST_FALSE_ALARMS, LEAST_POWER, MOST_SECONDS = 0.01, 0.95, 40.0
"""What a machine must reach to be called fit: of identical code, of a 2 % handicap, and per campaign."""
JUDGED_BY = "+2%"


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """What a recording says of its machine.

    Attributes:
        recording: what was measured.
        calibration: campaigns drawn from it.
        whole: the whole campaigns beside them, by kind.
    """

    recording: Recording
    calibration: Calibration
    whole: Mapping[str, WholeKind]

    @property
    def seconds_per_campaign(self) -> float | None:
        """What a campaign takes, by the typical launch of the recording; None if it does not tell."""
        seconds = self.recording.seconds
        return round(self.calibration.launches * median(seconds), 2) if seconds else None

    @property
    def effects(self) -> dict[str, float]:
        """What each comparison came to over all launches, as a fraction: about 0 for identical code, 0.02 for +2%."""
        launches = self.recording.launches
        names = launches[0] if launches else ()
        return {name: round(math.expm1(median(one[name].log_ratio for one in launches)), 6) for name in names}

    @property
    def shortcomings(self) -> tuple[str, ...]:
        """What keeps the machine from being fit, a few words each."""
        own, found = self.calibration, []
        if own.false_alarm_rate > MOST_FALSE_ALARMS:
            found.append(f"false alarms above {_share(MOST_FALSE_ALARMS)}")
        if own.power.get(JUDGED_BY, 1.0) < LEAST_POWER:
            found.append(f"{JUDGED_BY} found in less than {_share(LEAST_POWER)}")
        if (self.seconds_per_campaign or 0.0) > MOST_SECONDS:
            found.append(f"campaigns of more than {MOST_SECONDS:g} s")
        found += [f"whole campaigns ({kind}) disagree" for kind, one in self.whole.items() if not one.agrees]
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.calibration.to_json(self.seconds_per_campaign),
            "whole": {kind: one.to_json() for kind, one in self.whole.items()},
            "effects": self.effects,
            "shortcomings": list(self.shortcomings),
            "variant": self.recording.variant,
            "scenario": self.recording.scenario,
            "metric": self.recording.metric,
            "recorded_launches": len(self.recording.launches),
            "environment": dict(self.recording.environment),
        }


def calibration_report(recording: Recording, launches: int, campaigns: int = 1000) -> CalibrationReport:
    """Draw campaigns from a recording, and hold its whole campaigns against them.

    Args:
        launches: of a drawn campaign.
        campaigns: how many to draw of each kind.

    Raises:
        RecordingError: the recording is too short.
    """
    calibration = calibrate(recording, launches, campaigns)
    return CalibrationReport(recording, calibration, agreement(calibration, recording.whole))


def show(report: CalibrationReport, journal: Path | None, as_json: bool) -> None:
    """Print it: one JSON object, or tables for a person.

    Args:
        journal: where the launches are kept, None for a replay.
    """
    if as_json:
        print(json.dumps({**report.to_json(), "journal": None if journal is None else str(journal)}))
        return
    console = wide_console(width=140)
    own, recording = report.calibration, report.recording
    _say(console, headline(report), style="bold")
    _say(
        console,
        f"{recording.variant} on {recording.scenario}: {own.campaigns} campaigns of {own.launches} launches, "
        f"drawn from {len(recording.launches)} launches (room for {own.windows} without overlap)",
    )
    console.print(_rules(own))
    if len(recording.launches) >= 2 * own.launches:
        note = (
            "same launches: both sides take turns in each; own launches: each side has its own, as those tools have it"
        )
        _say(console, note, style="dim")
    measured = ", ".join(f"{name} {effect:+.2%}" for name, effect in report.effects.items())
    _say(console, f"What the recording's sides differed by: {measured}")
    for kind, one in report.whole.items():
        _say(console, _whole_line(kind, one))
    about = [f"{name} {recording.environment[name]}" for name in ("cores", "torch") if name in recording.environment]
    load = recording.environment.get("load_average")
    machine = [recording.environment.get("cpu", "an unknown processor"), *about, *([f"load {load}"] if load else [])]
    _say(console, f"Recorded on: {', '.join(machine)}", style="dim")
    if journal is not None:
        _say(console, f"Launches are kept in {journal}")
    _say(console, f"Next: {advice(report)}")


def headline(report: CalibrationReport) -> str:
    """What this machine can tell apart, in one sentence."""
    own = report.calibration
    parts = [f"false alarms {_share(own.false_alarm_rate)} (at most {_share(own.false_alarm_upper)})"]
    parts += [f"{handicap} found in {_share(power)}" for handicap, power in own.power.items()]
    if own.smallest_detectable is not None:
        parts.append(f"smallest detectable effect {_share(own.smallest_detectable)}")
    if report.seconds_per_campaign is not None:
        parts.append(f"{report.seconds_per_campaign:.0f} s per campaign")
    return ", ".join(parts)


def advice(report: CalibrationReport) -> str:
    """What to do next, in one line."""
    if report.shortcomings:
        reasons = "; ".join(report.shortcomings)
        return f"{reasons}: free the machine of other work and calibrate again, or trust larger effects only"
    return "nothing: `gdnbench step` can be trusted on this machine, down to the smallest detectable effect"


def _rules(own: Calibration) -> Table:
    """Our rule, then the others'; each side in launches of its own only where the recording has enough of them."""
    apart = all(peer.false_alarm_rate_apart is not None for peer in own.peers.values())
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("share of campaigns, rule", no_wrap=True)
    kinds = ("false alarms", *(f"finds {handicap}" for handicap in own.power))
    for where in ("same launches", *(["own launches"] if apart else [])):
        for kind in kinds:
            table.add_column(f"{where}\n{kind}", justify="right", no_wrap=True)
    table.add_row("gdnbench", _share(own.false_alarm_rate), *map(_share, own.power.values()), style="bold")
    for name, peer in own.peers.items():
        rates = [peer.false_alarm_rate, *peer.power.values()]
        rates_apart = [peer.false_alarm_rate_apart, *peer.power_apart.values()] if apart else []
        table.add_row(name, *map(_share, (*rates, *rates_apart)))
    return table


def _whole_line(kind: str, one: WholeKind) -> str:
    what, hit = ("identical code", "raised an alarm") if kind == CONTROL else (kind, "found it")
    low, middle, high = (f"{ratio - 1:+.2%}" for ratio in one.ratios)
    return (
        f"Whole campaigns, {what}: {one.hits} of {one.campaigns} {hit} ({_share(one.drawn_rate)} of the drawn ones: "
        f"{'they agree' if one.agrees else 'THEY DISAGREE'}); change {middle}, from {low} to {high}; "
        f"{one.seconds:.0f} s each"
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _say(console: Console, text: str, style: str | None = None) -> None:
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)
