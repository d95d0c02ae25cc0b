"""What a server campaign keeps and says when a launch ends badly: launches are stand-ins, slow tests have real ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import served
from gdnbench.serving import campaign
from gdnbench.serving.failures import ServerFailed
from gdnbench.serving.planning import plan_serve
from gdnbench.values.errors import EnvironmentMissing, Interrupted, UserError


class Launches:
    """Instead of real launches: sound ones, until one ends badly."""

    def __init__(self, failing: int | None = None, error: BaseException | None = None) -> None:
        self.failing, self.error = failing, error
        self.ran: list[int] = []
        self.waits: list[dict[str, int]] = []

    def __call__(self, plan, number, workload, waits, logs, tick=lambda: None):
        self.ran.append(number)
        self.waits.append(dict(waits))
        if number == self.failing:
            assert self.error is not None
            raise self.error
        for _ in range(campaign.blocks_of(plan)):
            tick()
        return replace(served.launch(plan, max(number, 1)), number=number, workload=workload.identity)


@pytest.fixture
def begun(tmp_path: Path):
    def begin(after: str = "pr51913.after", before: str = "pr51913.before"):
        return campaign.begin(plan_serve(before, after, launches=3), tmp_path / "campaign")

    return begin


def run(journal, launches: Launches, monkeypatch, told=lambda done, total: None):
    monkeypatch.setattr(campaign, "run_launch", launches)
    return campaign.run(journal, told)


@pytest.mark.parametrize(
    ("error", "kind", "exit_code", "says"),
    [
        (
            ServerFailed("the server died (SIGKILL); its log: /log"),
            ServerFailed,
            4,
            "its log: /log (1 of 3 launches are",
        ),
        (EnvironmentMissing("cannot write (No space left)"), EnvironmentMissing, 4, "No space left) (1 of 3 launches"),
        (KeyboardInterrupt(), Interrupted, 3, "interrupted after 1 of 3 launches"),
    ],
)
def test_what_was_finished_is_kept_and_resume_runs_the_rest(begun, monkeypatch, error, kind, exit_code, says):
    journal = begun()
    with pytest.raises(kind) as caught:
        run(journal, Launches(2, error), monkeypatch)
    assert says in str(caught.value) and f"--resume {journal.directory}" in str(caught.value)
    assert "\n" not in str(caught.value) and caught.value.exit_code == exit_code
    rest = Launches()
    found = run(journal, rest, monkeypatch)
    assert rest.ran == [2, 3]
    assert [launch.number for launch in found] == [1, 2, 3]


def test_progress_counts_blocks_and_starts_where_it_was(begun, monkeypatch):
    journal, told = begun(), []
    with pytest.raises(Interrupted):
        run(journal, Launches(2, KeyboardInterrupt()), monkeypatch)
    run(journal, Launches(), monkeypatch, lambda done, total: told.append((done, total)))
    each = campaign.blocks_of(journal.plan)
    assert told[0] == (each, 3 * each)
    assert told[-1] == (3 * each, 3 * each)


def test_a_handicap_in_microseconds_is_the_same_in_every_launch(begun, monkeypatch):
    launches = Launches()
    run(begun("pr51913.after+100us", "pr51913.after"), launches, monkeypatch)
    assert launches.ran == [1, 2, 3]
    assert launches.waits == [{"after": 100_000}] * 3


def test_a_handicap_in_percent_is_sized_once_by_a_launch_without_it(begun, monkeypatch):
    journal, launches = begun("pr51913.after+10%", "pr51913.after"), Launches(2, KeyboardInterrupt())
    with pytest.raises(Interrupted):
        run(journal, launches, monkeypatch)
    assert launches.ran == [0, 1, 2]
    wait = launches.waits[1]["after"]
    assert 0 < wait == json.loads((journal.directory / "waits.json").read_text())["after"]["build"]
    rest = Launches()
    run(journal, rest, monkeypatch)
    assert rest.ran == [2, 3] and rest.waits == [{"after": wait}] * 2


def test_a_campaign_whose_requests_have_changed_does_not_go_on(begun, monkeypatch):
    journal = begun()
    with pytest.raises(Interrupted):
        run(journal, Launches(2, KeyboardInterrupt()), monkeypatch)
    other = campaign.requests(journal.plan)
    monkeypatch.setattr(campaign, "requests", lambda plan: replace(other, identity={**other.identity, "sha256": "0"}))
    with pytest.raises(UserError, match="the requests differ from those of launch 1"):
        run(journal, Launches(), monkeypatch)
