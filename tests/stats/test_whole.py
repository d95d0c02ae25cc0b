from __future__ import annotations

import pytest

from gdnbench.stats.campaigns import calibrate
from gdnbench.stats.whole import agreement
from gdnbench.values.recordings import WholeCampaign
from gdnbench.values.verdicts import Verdict
from recorded import recording

CALIBRATION = calibrate(recording(), launches=10, campaigns=50)


def campaigns(handicap: str, *verdicts: Verdict, launches: int = 10) -> list[WholeCampaign]:
    return [
        WholeCampaign(handicap, launches, verdict, 1 + number / 100, 20.0 + number)
        for number, verdict in enumerate(verdicts)
    ]


def test_campaigns_that_come_out_as_drawn_agree() -> None:
    whole = campaigns("control", *[Verdict.SAME] * 10) + campaigns("+2%", *[Verdict.REGRESSED] * 10)
    found = agreement(CALIBRATION, whole)
    assert set(found) == {"control", "+2%"}
    control, handicap = found["control"], found["+2%"]
    assert (control.hits, control.drawn_rate, control.agrees) == (0, 0.0, True)
    assert (handicap.hits, handicap.drawn_rate, handicap.agrees) == (10, 1.0, True)
    assert control.interval == (0.0, pytest.approx(0.3085, abs=1e-4)), "0 of 10, exactly"
    assert control.ratios == (1.0, pytest.approx(1.045), 1.09)
    assert control.seconds == 24.5


@pytest.mark.parametrize(
    ("handicap", "verdicts", "hits", "agrees"),
    [
        ("control", [Verdict.IMPROVED, *[Verdict.UNKNOWN] * 9], 1, False),
        ("control", [Verdict.REGRESSED, *[Verdict.SAME] * 9], 1, False),
        ("control", [Verdict.INVALID, *[Verdict.UNKNOWN] * 9], 0, True),
        ("+2%", [*[Verdict.REGRESSED] * 9, Verdict.IMPROVED], 9, False),
        ("+2%", [*[Verdict.REGRESSED] * 9, Verdict.UNKNOWN], 9, False),
    ],
)
def test_a_surprise_is_counted_and_said(handicap: str, verdicts: list[Verdict], hits: int, agrees: bool) -> None:
    (found,) = agreement(CALIBRATION, campaigns(handicap, *verdicts)).values()
    assert (found.hits, found.agrees) == (hits, agrees)


def test_campaigns_of_another_length_or_handicap_are_left_out() -> None:
    whole = campaigns("control", Verdict.SAME, launches=6) + campaigns("+9%", Verdict.SAME)
    assert agreement(CALIBRATION, whole) == {}
