from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gdnbench.campaign.journal import Journal
from gdnbench.campaign.plan import compare
from gdnbench.campaign.records import LaunchRecord, Measured
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.variants import parse

PLAN = compare(parse("pr51913.before"), parse("pr51913.after"), ["16q1s1k"], launches=3)


def launch(number: int) -> LaunchRecord:
    measured = Measured(
        "16q1s1k",
        "host_time",
        15,
        {"before": 15.0, "after": 12.0},
        {"after": -0.22},
        {"before": (15.0, 15.2), "after": (12.0, 12.1)},
    )
    unequal = {"16q1s1k": {"after": ("group0.state",)}}
    return LaunchRecord(number, "2026-01-01T00:00:00+00:00", 2.5, ("before", "after"), {}, {}, unequal, (measured,))


def test_finished_launches_come_back_as_they_were(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "campaign", PLAN)
    assert journal.missing() == (1, 2, 3)
    journal.record(launch(2))
    journal.record(launch(1))
    again = Journal.open(tmp_path / "campaign")
    assert again.plan == PLAN
    assert again.finished() == (launch(1), launch(2))
    assert again.missing() == (3,)


def test_busy_waits_are_kept_once(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, PLAN)
    assert journal.waits() is None
    journal.record_waits({"after": {"16q1s1k": 21}})
    assert Journal.open(tmp_path).waits() == {"after": {"16q1s1k": 21}}
    with pytest.raises(EnvironmentMissing):
        journal.record_waits({"after": {"16q1s1k": 22}})
    assert journal.waits() == {"after": {"16q1s1k": 21}}


def test_launches_of_other_hardware_never_meet_in_a_campaign(tmp_path: Path) -> None:
    def on(number: int, cores: int) -> LaunchRecord:
        return replace(launch(number), environment={"before": {"cpu": "a processor", "cores": cores}})

    journal = Journal.create(tmp_path, PLAN)
    assert journal.hardware is None
    journal.record(on(2, 16))
    with pytest.raises(UserError, match="ran on a processor, 16 cores, and this machine is a processor, 8 cores"):
        journal.record(on(1, 8))
    journal.record(on(1, 16))
    assert journal.missing() == (3,) and str(Journal.open(tmp_path).hardware) == "a processor, 16 cores"


def test_nothing_is_overwritten_and_nothing_half_written_is_left(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, PLAN)
    journal.record(launch(1))
    written = (tmp_path / "launches" / "001.json").read_bytes()
    with pytest.raises(EnvironmentMissing):
        journal.record(launch(1))
    with pytest.raises(UserError, match="--resume"):
        Journal.create(tmp_path, PLAN)
    assert (tmp_path / "launches" / "001.json").read_bytes() == written
    assert not list(tmp_path.rglob("*.aside"))


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"schema": 1}', '{"schema": 1, "measured": 3, "unequal": {}}'])
def test_a_damaged_launch_is_named(tmp_path: Path, damage: str) -> None:
    journal = Journal.create(tmp_path, PLAN)
    (tmp_path / "launches" / "001.json").write_text(damage)
    with pytest.raises(UserError, match=r"001\.json is damaged.*delete it"):
        journal.finished()


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"schema": 1}'])
def test_a_damaged_plan_is_named(tmp_path: Path, damage: str) -> None:
    (tmp_path / "plan.json").write_text(damage)
    with pytest.raises(UserError, match=r"plan\.json"):
        Journal.open(tmp_path)


def test_a_directory_without_a_campaign_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no campaign"):
        Journal.open(tmp_path / "nowhere")


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentMissing, match="cannot write"):
        Journal.create(tmp_path / "file" / "campaign", PLAN)


def test_two_processes_cannot_run_one_campaign(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, PLAN)
    with journal.locked(), pytest.raises(UserError, match="another process"), Journal.open(tmp_path).locked():
        pass
    with journal.locked():
        pass
