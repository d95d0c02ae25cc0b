"""Recordings made from launches, and their files."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from gdnbench.campaign.calibration import HANDICAPS
from gdnbench.campaign.plan import Plan
from gdnbench.campaign.recordings import MOST_BYTES, VALUES, load, recording_of, save
from gdnbench.campaign.records import LaunchRecord, Measured
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.recordings import RecordingError
from recorded import recording

PLAN = Plan(dict.fromkeys(("before", "control", "+2%"), "pr51913.after"), ("16q1s1k",), "build", launches=2)


def launch(number: int, rounds: int, unequal: tuple[str, ...] = ()) -> LaunchRecord:
    blocks = {
        role: tuple(level + 0.001 * n for n in range(rounds)) for role, level in (("before", 10), ("control", 11))
    }
    measured = Measured("16q1s1k", "host_time", 8, {}, {"control": 1 / 3 + number}, blocks)
    environment = {"before": {"cpu": "a processor", "cores": 2, "governor": None, "load_average": [number / 10, 0, 0]}}
    return LaunchRecord(
        number=number,
        started=f"2026-01-01T00:00:0{number}+00:00",
        seconds=2.0 + number,
        created=("before", "control"),
        environment=environment,
        refused={},
        unequal={"16q1s1k": {"control": unequal}} if unequal else {},
        measured=(measured,),
    )


def test_a_recording_tells_of_every_launch() -> None:
    made = recording_of(PLAN, [launch(1, 4), launch(2, 4)])
    assert (made.variant, made.scenario, made.metric) == ("pr51913.after", "16q1s1k", "host_time")
    first, second = (one["control"] for one in made.launches)
    assert first.log_ratio == 1.333333 and second.log_ratio == 2.333333
    assert first.before == (10.0, 10.001, 10.002, 10.003) and first.after == (11.0, 11.001, 11.002, 11.003)
    assert made.seconds == (3.0, 4.0)
    about = made.environment
    assert about["cpu"] == "a processor" and about["cores"] == "2" and "governor" not in about
    assert about["load_average"] == "0.1 to 0.2" and about["steps"] == "8"
    assert about["recorded"] == "2026-01-01T00:00:01+00:00 to 2026-01-01T00:00:02+00:00"


@pytest.mark.parametrize("rounds", [1, VALUES, VALUES + 1, 8 * VALUES])
def test_many_blocks_become_few_values(rounds: int) -> None:
    (one,) = recording_of(PLAN, [launch(1, rounds)]).launches
    values = one["control"].before
    assert len(values) == math.ceil(rounds / math.ceil(rounds / VALUES)) <= VALUES
    assert list(values) == sorted(values), "in the order measured"
    if rounds == 8 * VALUES:
        assert values[0] == pytest.approx(10.0035, abs=0.0006), "the median of the first eight"


def test_identical_code_with_different_metadata_is_no_recording() -> None:
    with pytest.raises(UserError, match=r"launch 2, 16q1s1k: the metadata of control differs.*group0\.state"):
        recording_of(PLAN, [launch(1, 4), launch(2, 4, ("group0.state",))])


def test_a_file_gives_back_what_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "new" / "recording.json"
    made = recording(whole=2)
    save(made, path)
    assert load(path) == made
    assert [file.name for file in path.parent.iterdir()] == ["recording.json"], "nothing half written beside it"
    before = path.read_text()
    save(made, path)
    assert path.read_text() == before, "the same bytes for the same launches"
    assert len(before.splitlines()) == len(made.launches) + 2, "a line for each launch"


def test_a_hundred_launches_fit_a_file_that_can_be_committed(tmp_path: Path) -> None:
    save(recording(launches=100, blocks=VALUES, whole=10), tmp_path / "recording.json")
    assert (tmp_path / "recording.json").stat().st_size < 300_000


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentMissing, match="cannot write"):
        save(recording(), tmp_path / "file" / "recording.json")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff\xfe\x00", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "not a recording of schema 1"),
        (b'{"schema": 1}', "damaged recording: KeyError"),
        (b" " * (MOST_BYTES + 1), "no recording"),
    ],
)
def test_a_damaged_file_is_one_line_that_names_it(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "recording.json"
    path.write_bytes(content)
    with pytest.raises(RecordingError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and says in message and "\n" not in message


def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "recording.json"
    save(recording(launches=3), path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 3, 97):
        path.write_bytes(whole[:length])
        with pytest.raises(RecordingError):
            load(path)


def test_no_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot read the recording"):
        load(tmp_path / "nowhere.json")
    with pytest.raises(RecordingError, match="cannot read the recording"):
        load(tmp_path)


def test_handicaps_are_the_comparisons_of_a_recording(tmp_path: Path) -> None:
    made = recording(launches=2)
    assert made.handicaps == HANDICAPS
    assert replace(made, launches=()).handicaps == ()
    assert "before" not in json.loads(json.dumps(made.to_json()))["launches"][0]["+2%"], "said once, by the control"
