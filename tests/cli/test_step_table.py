from __future__ import annotations

import re
from pathlib import Path

import pytest

from gdnbench.campaign.judged import JudgedCampaign, judge_campaign
from gdnbench.campaign.plan import compare
from gdnbench.campaign.records import LaunchRecord, Measured
from gdnbench.campaign.turns import creation
from gdnbench.cli.step_table import advice, headline, print_tables, warnings
from gdnbench.values.variants import parse

ENVIRONMENT = {"cores": 2, "load_average": [0.5], "cpu": "a", "torch": "2", "python": "3", "system": "L"}
WIGGLE = (0.001, -0.002, 0.0015, -0.0005, 0.0008, -0.0012, 0.0003, -0.0009, 0.0011, -0.0004)


def judged(*effects: float, launches: int = 10, unequal: bool = False) -> JudgedCampaign:
    """A campaign with one scenario for each effect."""
    names = [f"{rows}q1s1k" for rows in range(2, 2 + len(effects))]
    plan = compare(parse("pr51913.before"), parse("pr51913.after"), names, launches=launches)
    records = []
    for number in range(1, launches + 1):
        noise, created = WIGGLE[number - 1], creation(tuple(plan.sides), number)
        measured = tuple(
            Measured(
                name,
                "host_time",
                8,
                {"before": 20.0, "after": 20.0 * (1 + effect), "control": 20.0},
                {"after": effect + noise, "control": noise},
                {"before": (20.0, 20.0), "after": (20.0 * (1 + effect),) * 2, "control": (20.0, 20.0)},
            )
            for name, effect in zip(names, effects, strict=True)
        )
        differs = {names[0]: {"after": ("state",)}} if unequal else {}
        records.append(LaunchRecord(number, "", 2.0, created, {"before": ENVIRONMENT}, {}, differs, measured))
    return judge_campaign(plan, records)


def test_one_row_is_told_with_its_figures() -> None:
    assert headline(judged(-0.25)) == (
        "improved: pr51913.before -> pr51913.after on 2q1s1k: "
        "20.0 -> 15.0 us, -22.1% (95 % interval -22.2%, -22.0%; 10 launches)"
    )


def test_several_rows_are_counted() -> None:
    assert headline(judged(-0.25, 0.0, 0.1)) == (
        "regressed: pr51913.before -> pr51913.after on 3 scenarios: 1 improved, 1 regressed, 1 same"
    )


@pytest.mark.parametrize(
    ("campaign", "says"),
    [
        (judged(-0.25), "gdnbench cost pr51913.before pr51913.after"),
        (judged(-0.25, launches=4), "gdnbench step pr51913.before pr51913.after --scenario 2q1s1k --launches "),
        (judged(-0.25, 0.1, launches=4), "--scenario 2q1s1k --scenario 3q1s1k --launches "),
        (judged(-0.25, unequal=True), "make the sides comparable: 2q1s1k: the metadata of before and after differ"),
    ],
)
def test_the_last_line_says_what_to_do(campaign: JudgedCampaign, says: str) -> None:
    assert says in advice(campaign)


def test_a_warning_of_many_rows_is_said_once() -> None:
    campaign = judged(0.02, 0.02, 0.02, 0.02, 0.02, 0.02, launches=6)
    said = warnings(campaign)
    assert len(said) == len(set(said))
    assert any(text.startswith("2q1s1k, 3q1s1k, 4q1s1k and 3 more: ") for text in said)


def test_the_table_shows_every_row_and_its_control(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables(judged(-0.25, 0.0), Path("/somewhere"))
    lines = capsys.readouterr().out.splitlines()
    first = next(line for line in lines if line.startswith("2q1s1k"))
    assert re.fullmatch(r"2q1s1k +20\.0 +15\.0 +-22\.1% \(-22\.2%, -22\.0%\) +-0\.0% +1\.\d% +improved *", first)
    assert lines[0].startswith("improved: ") and lines[-1].startswith("Next: ")
    assert any("/somewhere" in line for line in lines)
