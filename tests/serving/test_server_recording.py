"""A campaign in one file: the same again after reading, never overwritten, and nothing foreign is believed."""

from __future__ import annotations

import gzip
import json

import pytest

import served
from gdnbench.serving import recording
from gdnbench.values.errors import UserError


@pytest.fixture
def kept(tmp_path):
    plan = served.plan(launches=2)
    launches = tuple(served.campaign(plan))
    path = tmp_path / "kept" / "campaign.json.gz"
    recording.save(plan, launches, path)
    return plan, launches, path


def test_what_is_kept_is_what_was_measured(kept):
    plan, launches, path = kept
    assert recording.load(path) == (plan, launches)


def test_the_same_campaign_gives_the_same_bytes(kept, tmp_path):
    plan, launches, path = kept
    recording.save(plan, launches, tmp_path / "again.json.gz")
    assert (tmp_path / "again.json.gz").read_bytes() == path.read_bytes()


def test_a_recording_is_never_overwritten(kept):
    plan, launches, path = kept
    before = path.read_bytes()
    with pytest.raises(UserError, match="never overwritten"):
        recording.save(plan, launches[:1], path)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is no recording"),
        (b"no gzip", "is no recording"),
        (gzip.compress(b"[1, 2", mtime=0), "is no recording"),
        (gzip.compress(b"[1, 2]", mtime=0), "no recording of schema"),
        (gzip.compress(json.dumps({"schema": 2}).encode(), mtime=0), "no recording of schema"),
        (gzip.compress(json.dumps({"schema": 1, "plan": {}, "launches": []}).encode(), mtime=0), "plan's schema"),
        (gzip.compress(json.dumps({"schema": 1}).encode(), mtime=0), "is no recording"),
    ],
)
def test_what_is_no_recording_is_refused_in_one_line(tmp_path, content, told):
    path = tmp_path / "damaged.json.gz"
    path.write_bytes(content)
    with pytest.raises(UserError, match=told) as caught:
        recording.load(path)
    assert "\n" not in str(caught.value)


def test_a_recording_cut_short_is_refused(kept):
    _, _, path = kept
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UserError, match="is no recording"):
        recording.load(path)


def test_a_recording_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "MOST_BYTES", 1 << 20)
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * (2 << 20)))
    with pytest.raises(UserError, match="unpacks to more than 1 MiB"):
        recording.load(path)
