"""Calibrations in real processes, with few launches and rounds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gdnbench.campaign import calibration
from gdnbench.campaign.campaign import begin
from gdnbench.campaign.plan import compare
from gdnbench.values.errors import Interrupted, UserError
from gdnbench.values.recordings import Recording
from gdnbench.values.variants import parse

QUICK = {"rounds": 12, "steps": 5, "per_campaign": 1}


def test_a_calibration_records_every_comparison_and_runs_whole_campaigns(tmp_path: Path) -> None:
    seen: list[int] = []
    journals = calibration.begin(2, 1, tmp_path, **QUICK)
    recording = calibration.run(journals, seen.append)
    assert journals.launches == 4 and seen[0] == 0 and seen[-1] == 4 and seen == sorted(seen)
    assert journals.finished == 4
    assert len(recording.launches) == 2
    for launch in recording.launches:
        assert tuple(launch) == ("control", "+2%", "+5%")
        assert {len(pair.after) for pair in launch.values()} == {12}
        assert all(abs(pair.log_ratio) < math.log(1.5) for pair in launch.values())
    assert all(seconds > 0 for seconds in recording.seconds)
    assert recording.environment["device"] == "cpu" and recording.environment["rounds"] == "12"
    assert [(one.handicap, one.launches) for one in recording.whole] == [("control", 1), ("+2%", 1)]
    waits = journals.recording.waits()
    assert waits is not None
    assert waits["+5%"]["16q1s1k"] > waits["+2%"]["16q1s1k"] > 0


def test_an_interrupted_calibration_goes_on_where_it_stopped(tmp_path: Path) -> None:
    journals = calibration.begin(2, 1, tmp_path, **QUICK)

    def interrupt(finished: int) -> None:
        if finished == 3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=rf"after 3 of 4 launches.*calibrate --resume {tmp_path}"):
        calibration.run(journals, interrupt)
    finished = {path: path.read_bytes() for path in tmp_path.rglob("launches/*.json")}
    assert len(finished) == 3

    again = calibration.resume(tmp_path)
    assert (again.launches, again.finished) == (4, 3)
    seen: list[int] = []
    recording = calibration.run(again, seen.append)
    assert isinstance(recording, Recording) and len(recording.whole) == 2
    assert seen[-1] == 4
    assert all(path.read_bytes() == content for path, content in finished.items())


def test_what_cannot_be_drawn_from_is_not_begun(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="9 launches: at least 10"):
        calibration.begin(9, 0, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_another_campaign_is_no_calibration(tmp_path: Path) -> None:
    begin(compare(parse("pr51913.before"), parse("pr51913.after"), ["16q1s1k"]), tmp_path)
    with pytest.raises(UserError, match="no calibration"):
        calibration.resume(tmp_path)
    with pytest.raises(UserError, match="holds no campaign"):
        calibration.resume(tmp_path / "nowhere")


def test_a_damaged_whole_campaign_is_named(tmp_path: Path) -> None:
    calibration.begin(2, 1, tmp_path, **QUICK)
    (tmp_path / "whole" / "01-handicap" / "plan.json").write_text("{")
    with pytest.raises(UserError, match=r"01-handicap/plan\.json"):
        calibration.resume(tmp_path)
