"""A baseline in a file: it comes back as it was, is never overwritten, and what is something else is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gates import run
from gdnbench.gate.runs import MOST_BYTES, load, save
from gdnbench.values.errors import UserError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "base.json"
    save(run({"q1s1k": {}, "q2k": "TypeError: no"}, steps={"q1s1k": [20.0, 20.5]}), place)
    return place


def test_a_run_comes_back_as_it_was(path: Path):
    assert load(path) == run({"q1s1k": {}, "q2k": "TypeError: no"}, steps={"q1s1k": [20.0, 20.5]})


def test_a_baseline_is_never_overwritten(path: Path):
    with pytest.raises(UserError, match="never overwritten"):
        save(run({"q1s1k": {}}), path)
    (path.parent / "link").symlink_to("nowhere")
    with pytest.raises(UserError, match="never overwritten"):
        save(run({"q1s1k": {}}), path.parent / "link")


def test_it_is_one_json_object_with_a_line_for_each_row(path: Path):
    text = path.read_text()
    assert json.loads(text)["costs"][1]["failure"] == "TypeError: no"
    assert sum('"scenario"' in line for line in text.splitlines()) == 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.update(schema=2), "its schema is not 1"),
        (lambda data: data.update(counting=0), "another version of gdnbench counted it"),
        (lambda data: data.pop("identity"), "no identity"),
        (lambda data: data.pop("costs"), "costs are no list"),
        (lambda data: data["identity"].pop("torch"), "identity lacks a key"),
        (lambda data: data["identity"].update(torch="\x1b[31m"), "identity.torch is no plain text"),
        (lambda data: data["identity"].update(cores="2"), "identity.cores is no number"),
        (lambda data: data["selection"].update(scenarios=[]), "selection.scenarios"),
        (lambda data: data["costs"].append(data["costs"][0]), r"costs\[2\] has the place of a row before it"),
        (lambda data: data["costs"][0]["counts"].update(syncs=-1), r"costs\[0\]: syncs is no count"),
        (lambda data: data["costs"][0]["counts"].update(syncs=True), r"costs\[0\]: syncs is no count"),
        (lambda data: data["costs"][0]["counts"].pop("syncs"), r"costs\[0\]: counts lack"),
        (lambda data: data["costs"][0].update(variant="x" * 6000), r"costs\[0\].variant is no plain text"),
        (lambda data: data["costs"][1].update(failure="a\nb"), r"costs\[1\]: failure is no plain text"),
        (lambda data: data["steps"][0].update(us=[]), r"steps\[0\]: us is no list"),
        (lambda data: data["steps"][0].update(us=[0.0]), r"steps\[0\]: us holds what is no time"),
        (lambda data: data["steps"][0].update(us=[float("nan")]), "NaN is no number of JSON"),
        (lambda data: data["steps"][0].update(metric="syncs"), r"steps\[0\]: metric is unknown"),
    ],
)
def test_what_is_something_else_is_one_line_that_names_the_place(path: Path, change, says):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(UserError, match=says) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "<html>", '{"schema": 1', "[" * 100_000, "\ufeff{}"])
def test_no_baseline_at_all(path: Path, text: str):
    path.write_text(text, "utf-8")
    with pytest.raises(UserError, match="is no baseline"):
        load(path)


def test_a_file_that_is_too_large_is_not_read(path: Path):
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(UserError, match="more than 32 MiB"):
        load(path)
