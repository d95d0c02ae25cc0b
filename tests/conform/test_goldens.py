"""Ours gives what the releases gave: held to the committed goldens, without any release."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import sample_drivers
from sample_drivers import Ours, Theirs

from gdn_impl.catalog import CATALOG
from gdnbench.conform import goldens
from gdnbench.conform.goldens import deviations, path_of, record, text_of, write
from gdnbench.conform.jobs import Job, jobs
from gdnbench.drivers.registry import Part, load
from gdnbench.values.errors import UserError
from gdnbench.values.scenarios import NAMED

DIRECTORY = Path(__file__).parent.parent / "goldens" / "conform"
JOBS = [job for job in jobs(CATALOG) if job.part.oracle is not None]
MAKE_ANEW = "make them anew: gdnbench conform --write-goldens"


@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job.change}-{job.part.name}-{job.side}")
def test_ours_gives_what_the_release_gave(job: Job) -> None:
    path = path_of(DIRECTORY, job.change, job.part.name, job.side)
    assert path.exists(), MAKE_ANEW
    kept = json.loads(path.read_text())
    assert kept["release"] == job.release, MAKE_ANEW
    assert kept["scenarios"]
    assert {*kept["scenarios"], *kept["refused"]} == set(NAMED), MAKE_ANEW
    assert deviations(kept, job, load(job.part.ours)) == [], (
        f"change {job.change} no longer gives what its release gave"
    )


def test_no_golden_is_left_over() -> None:
    wanted = {path_of(DIRECTORY, job.change, job.part.name, job.side) for job in JOBS}
    assert set(DIRECTORY.glob("*")) <= wanted


def test_goldens_stay_small() -> None:
    assert sum(path.stat().st_size for path in DIRECTORY.glob("*")) < 1_000_000


@pytest.fixture(scope="module")
def sample() -> Job:
    return Job(1, "before", Part("sample", "sample_drivers:Ours", "sample_drivers:Theirs"), "0.29.0")


@pytest.mark.parametrize(
    ("ours", "key"),
    [
        (sample_drivers.OtherValue, "fields"),
        (sample_drivers.OtherTensor, "fields"),
        (sample_drivers.LacksField, "fields"),
        (sample_drivers.OtherOperation, "operations"),
        (sample_drivers.HostOperation, "operations"),
    ],
)
def test_every_kind_of_deviation_is_found(sample: Job, ours: type[Ours], key: str) -> None:
    kept = json.loads(text_of(record(sample, Ours, Theirs)))
    assert deviations(kept, sample, Ours) == []
    found = deviations(kept, sample, ours)
    assert any(f": {key}: golden" in line for line in found)
    assert found[0].startswith("q1s1k: ")


def test_operations_are_held_to_one_torch_only(sample: Job) -> None:
    kept = record(sample, Ours, Theirs) | {"torch": "2.11.0"}
    assert deviations(kept, sample, sample_drivers.HostOperation) == []
    assert deviations(kept, sample, sample_drivers.OtherValue)


def test_a_side_whose_operations_are_not_compared_records_none(sample: Job) -> None:
    job = replace(sample, part=replace(sample.part, compares_operations=("after",)))
    kept = record(job, Ours, Theirs)
    assert all(answer.keys() == {"fields"} for answer in kept["scenarios"].values())


def test_what_is_foreign_is_not_recorded(sample: Job) -> None:
    kept = record(sample, Ours, sample_drivers.ForeignField)
    assert deviations(json.loads(text_of(kept)), sample, Ours) == []
    kept = record(sample, Ours, sample_drivers.ForeignOperation)
    assert deviations(json.loads(text_of(kept)), sample, Ours) == []


def test_refused_scenarios_are_named(sample: Job) -> None:
    kept = record(sample, Ours, sample_drivers.OnlyCaptures)
    assert set(kept["scenarios"]) == {name for name in NAMED if name.endswith("/capture")}
    assert set(kept["refused"]) == set(NAMED) - set(kept["scenarios"])


def test_many_fields_share_a_digest_that_still_tells_them_apart(sample: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goldens, "FEW_FIELDS", 1)
    kept = record(sample, Ours, Theirs)
    assert list(kept["scenarios"]["q1s1k"]["fields"]) == ["all 2"]
    assert deviations(kept, sample, Ours) == []
    assert deviations(kept, sample, sample_drivers.OtherValue)


def test_goldens_are_written_where_they_are_looked_for(sample: Job, tmp_path: Path) -> None:
    kept = record(sample, Ours, Theirs)
    write(tmp_path / "conform", [kept])
    [path] = (tmp_path / "conform").iterdir()
    assert path == path_of(tmp_path / "conform", 1, "sample", "before")
    assert json.loads(path.read_text()) == json.loads(json.dumps(kept))
    assert len(path.read_text().splitlines()) == len(kept["scenarios"]) + 2


def test_a_directory_that_cannot_be_written_is_one_line(sample: Job, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write goldens"):
        write(tmp_path / "file" / "conform", [])
