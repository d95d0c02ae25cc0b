"""What a calibration tells a reader."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gdnbench.report.calibration import CalibrationReport, advice, calibration_report, headline, show
from recorded import recording

QUIET = calibration_report(recording(whole=3), launches=10, campaigns=60)
LOUD = calibration_report(recording(spread=0.05), launches=10, campaigns=60)


def told(report: CalibrationReport, capsys: pytest.CaptureFixture[str], journal: Path | None = None) -> str:
    show(report, journal, as_json=False)
    return capsys.readouterr().out


def test_json_has_what_is_promised(capsys: pytest.CaptureFixture[str]) -> None:
    show(QUIET, None, as_json=True)
    found = json.loads(capsys.readouterr().out)
    promised = "false_alarm_rate false_alarm_upper power smallest_detectable campaigns seconds_per_campaign peers whole"
    assert set(promised.split()) <= set(found)
    assert found["seconds_per_campaign"] == 25.0 and found["campaigns"] == 60
    assert set(found["power"]) == {"+2%", "+5%"}
    assert set(found["peers"]) == {"asv 1.1", "asv 1.02", "pyperf", "benchstat"}
    assert set(found["whole"]) == {"control", "+2%"} and found["whole"]["+2%"]["hits"] == 3
    assert found["whole"]["control"]["agrees"] is True
    assert set(found["effects"]) == {"control", "+2%", "+5%"}
    assert abs(found["effects"]["control"]) < 0.003 and 0.017 < found["effects"]["+2%"] < 0.023
    assert found["shortcomings"] == [] and found["journal"] is None


def test_a_reader_sees_the_peers_beside_ours(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(QUIET, capsys, Path("/somewhere"))
    first, *_ = text.splitlines()
    assert first == headline(QUIET)
    assert first.startswith("false alarms 0.0 % (at most 4.9 %), +2% found in 100.0 %, +5% found in 100.0 %, ")
    assert first.endswith("25 s per campaign")
    rows = {line.split("  ")[0]: line for line in text.splitlines()}
    assert {"gdnbench", "asv 1.1", "asv 1.02", "pyperf", "benchstat"} <= set(rows)
    peer = QUIET.calibration.peers["pyperf"]
    assert peer.false_alarm_rate_apart is not None and f"{100 * peer.false_alarm_rate_apart:.1f} %" in rows["pyperf"]
    assert "own launches" in text and "room for 3 without overlap" in text
    assert f"+5% {QUIET.effects['+5%']:+.2%}" in text
    assert "Whole campaigns, identical code: 0 of 3 raised an alarm (0.0 % of the drawn ones: they agree)" in text
    assert "Whole campaigns, +2%: 3 of 3 found it" in text and "change +0.10%, from +0.00% to +0.20%; 25 s each" in text
    assert "a processor, cores 2, load 0.1 to 0.4" in text
    assert "kept in /somewhere" in text
    assert text.splitlines()[-1] == f"Next: {advice(QUIET)}" and "can be trusted" in text


def test_a_loud_machine_is_told_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert "+2% found in less than 95.0 %" in LOUD.shortcomings
    *_, last = told(LOUD, capsys).splitlines()
    assert last.startswith("Next: ") and "+2% found in less than 95.0 %" in last and "free the machine" in last


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"false_alarm_rate": 0.02}, "false alarms above 1.0 %"),
        ({"power": {"+2%": 0.94, "+5%": 1.0}}, "+2% found in less than 95.0 %"),
    ],
)
def test_each_shortcoming_is_named(changed: dict[str, object], says: str) -> None:
    report = replace(QUIET, calibration=replace(QUIET.calibration, **changed))  # type: ignore[arg-type]
    assert report.shortcomings == (says,)


def test_slow_campaigns_and_disagreement_are_shortcomings() -> None:
    slow = replace(QUIET, recording=replace(QUIET.recording, seconds=(4.1,) * 30))
    assert slow.shortcomings == ("campaigns of more than 40 s",)
    whole = {**QUIET.whole, "control": replace(QUIET.whole["control"], interval=(0.1, 0.9))}
    assert replace(QUIET, whole=whole).shortcomings == ("whole campaigns (control) disagree",)


def test_what_a_recording_does_not_tell_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    short = replace(recording(launches=10), seconds=(), environment={})
    report = calibration_report(short, launches=10, campaigns=20)
    assert report.seconds_per_campaign is None
    text = told(report, capsys)
    assert "per campaign" not in text.splitlines()[0] and "an unknown processor" in text
    assert "kept in" not in text
    assert "own launches" not in text, "ten launches hold no campaigns of sides apart"


def test_markup_from_a_file_is_inert(capsys: pytest.CaptureFixture[str]) -> None:
    made = replace(recording(launches=10), variant="[red]x[/nonsense]")
    assert "[red]x[/nonsense] on 16q1s1k" in told(calibration_report(made, launches=10, campaigns=5), capsys)
