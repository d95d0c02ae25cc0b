"""The committed recording replayed: what the README says of the rule is checked on every machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdnbench.campaign.recordings import load
from gdnbench.report.calibration import CalibrationReport, calibration_report
from gdnbench.values.recordings import CONTROL

RECORDING = Path(__file__).parents[2] / "datasets" / "calibration" / "recording.json"

pytestmark = pytest.mark.skipif(
    not RECORDING.exists(),
    reason="no datasets/calibration/recording.json: gdnbench calibrate --whole 10 --save makes it",
)


@pytest.fixture(scope="module")
def report() -> CalibrationReport:
    return calibration_report(load(RECORDING), launches=10, campaigns=1000)


def test_identical_code_raises_an_alarm_in_one_of_a_hundred_campaigns_at_most(report: CalibrationReport) -> None:
    assert report.calibration.campaigns == 1000
    assert report.calibration.false_alarm_rate <= 0.01


def test_a_handicap_of_two_percent_is_found(report: CalibrationReport) -> None:
    assert report.calibration.power["+2%"] >= 0.95
    assert report.calibration.power["+5%"] >= report.calibration.power["+2%"]


def test_handicaps_are_what_their_names_say(report: CalibrationReport) -> None:
    """Else finding them would say nothing of effects of that size."""
    assert abs(report.effects[CONTROL]) < 0.002
    assert report.effects["+2%"] == pytest.approx(0.02, abs=0.003)
    assert report.effects["+5%"] == pytest.approx(0.05, abs=0.005)


def test_a_campaign_takes_forty_seconds_at_most(report: CalibrationReport) -> None:
    assert report.seconds_per_campaign is not None and report.seconds_per_campaign <= 40


def test_whole_campaigns_come_out_as_the_drawn_ones(report: CalibrationReport) -> None:
    assert {CONTROL, "+2%"} <= set(report.whole)
    for kind in report.whole.values():
        assert kind.campaigns >= 10 and kind.agrees


def test_it_is_small() -> None:
    assert RECORDING.stat().st_size < 300_000
