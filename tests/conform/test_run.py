"""Jobs run in processes of their own; what goes wrong there is one line here, and no process is left behind."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from gdn_impl.catalog import CATALOG
from gdnbench.conform.jobs import Job, jobs
from gdnbench.conform.processes import Workers
from gdnbench.conform.run import WORKER, run
from gdnbench.drivers.registry import Part
from gdnbench.oracle.environment import ReleaseProcess, release_process
from gdnbench.values.errors import EnvironmentMissing


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A stand-in for a vLLM checkout, with the sample drivers beside it, run by this very interpreter."""
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").write_text("__version__ = '0.0.0'\n")
    shutil.copy(Path(__file__).with_name("sample_drivers.py"), tmp_path)
    monkeypatch.setenv("GDNBENCH_VLLM_PYTHON", sys.executable)
    return f"path:{tmp_path}"


def job(release: str, theirs: str = "Theirs", golden: bool = False) -> Job:
    part = Part(theirs, "sample_drivers:Ours", f"sample_drivers:{theirs}")
    return Job(1, "before", part, release, random=3, golden=golden)


def test_each_job_is_answered_by_its_row_whatever_a_library_prints(checkout: str) -> None:
    answers = {
        row.part: (row, golden) for row, golden in run([job(checkout, "Prints"), job(checkout, "OtherValue", True)])
    }
    same, recorded = answers["Prints"]
    assert same.conforms and recorded is None
    other, recorded = answers["OtherValue"]
    assert other.field_mismatches == 4 * other.scenarios
    assert recorded is not None and recorded["scenarios"]["q1s1k"]["fields"]["rows"] == "int 2"


def test_a_part_without_an_oracle_is_a_row_with_its_reason() -> None:
    part = Part("sample", "sample_drivers:Ours", None, "it needs a GPU")
    [(row, golden)] = run([Job(1, "after", part, "0.29.0")])
    assert (row.drivable, row.reason, row.scenarios, golden) == (False, "it needs a GPU", 0, None)
    assert row.conforms


def test_a_process_that_ends_early_is_one_line(checkout: str) -> None:
    with pytest.raises(EnvironmentMissing, match="ended with status 7: the last words"):
        list(run([job(checkout, "EndsProcess")]))


def test_a_fault_of_ours_is_no_silent_row(checkout: str) -> None:
    with pytest.raises(RuntimeError, match="NoSuchDriver"):
        list(run([job(checkout, "NoSuchDriver")]))


def test_another_vllm_than_the_asked_one_is_refused(checkout: str) -> None:
    process = release_process(checkout)
    posing = ReleaseProcess("0.29.0", process.python, process.env)
    with Workers(WORKER) as workers:
        workers.queue(posing, [json.dumps(job("0.29.0").as_dict())])
        [line] = workers.answers()
    assert "was to run vLLM 0.29.0, and it is 0.0.0" in json.loads(line)["error"]


def test_no_process_is_left_when_the_reader_stops(checkout: str) -> None:
    answers = run([job(checkout), job(checkout), job(checkout)])
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if children.exists():
        commands = [Path(f"/proc/{pid}/cmdline").read_text() for pid in children.read_text().split()]
        assert not [command for command in commands if WORKER in command]


def test_missing_environment_names_the_command_that_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDNBENCH_VLLM_PYTHON", "/nowhere/python")
    with pytest.raises(EnvironmentMissing, match="GDNBENCH_VLLM_PYTHON names /nowhere/python"):
        list(run([job("0.29.0")]))


def test_jobs_cover_both_sides_and_list_the_foreign() -> None:
    made = jobs([51565], random=5, seed=3)
    assert [(job.side, job.release) for job in made] == [("before", "0.30.0"), ("after", "0.31.0")]
    assert made[0].foreign == made[1].foreign == CATALOG[51565].foreign
    assert {(job.random, job.seed) for job in made} == {(5, 3)}


def test_a_job_survives_its_journey_as_json() -> None:
    sent = jobs([51565])[1]
    assert Job.from_dict(json.loads(json.dumps(sent.as_dict()))) == sent
