"""`gdnbench cost`, `list` and `evidence` as a person calls them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from gdn_impl.catalog import CATALOG
from gdnbench.values.scenarios import NAMED


def gdnbench(*arguments, cwd=None):
    command = [sys.executable, "-m", "gdnbench", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=240, check=False)


def cost(*arguments):
    run = gdnbench("cost", *arguments, "--json")
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout)


def test_the_same_counts_give_the_same_bytes():
    runs = [gdnbench("cost", "pr51913.before", "pr51913.after", "--scenario", "16q1s1k", "--json") for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
    before, after = json.loads(runs[0].stdout)["rows"]
    assert set(before) >= {
        "scenario", "variant", "device_ops", "h2d_pinned", "h2d_pageable", "d2h", "syncs", "host_ops", "alloc_bytes",
    }  # fmt: skip
    assert after["device_ops"] < before["device_ops"]


def test_operations_are_listed_on_request():
    plain = cost("pr52078.before", "pr52078.after", "--scenario", "16q9s1kd8")
    assert "operations" not in plain["rows"][0]
    listed = cost("pr52078.before", "pr52078.after", "--scenario", "16q9s1kd8", "--operations")
    compared = [sum("aten.ge.Scalar" in line for line in row["operations"]) for row in listed["rows"]]
    assert compared == [2, 1]


def test_every_measured_part_of_a_change_is_counted():
    found = cost("pr40654.before", "pr40654.after", "--scenario", "12q9s1kd8_2q200s1k_2q128/async")
    counts = {(row["part"], row["variant"].split(".")[1]): row for row in found["rows"]}
    for part in ("slices", "split", "cross attention", "indexer", "mla"):
        assert counts[part, "before"]["d2h"] == 1
        assert counts[part, "after"]["d2h"] == 0
        # What still waits in MLA are copies of its chunk bounds from pageable memory, which both releases make.
        assert counts[part, "after"]["syncs"] == counts[part, "after"]["h2d_pageable"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("cost", "pr51913.befor", "pr51913.after"), "pr51913.before"),
        (("cost", "pr51914.before", "pr51913.after"), "51913"),
        (("cost", "pr51913.before", "pr51913.after", "--scenario", "16z"), "cannot read '16z'"),
        (("cost", "pr51913.before", "pr51913.after+2%", "--scenario", "q1s1k"), "a handicap costs time"),
        (("cost", "pr51913.before", "pr51913.after", "--scenario", "16q1s1k/capture"), "meets none of the scenarios"),
        (("cost", "pr51913.before", "pr51913.after", "--part", "bild"), "build"),
        (("evidence", "51914"), "no change 51914"),
        (("evidence", "51913", "--device", "tpu"), "--device tpu"),
        (("evidence", "51913", "--fail-on", "slower"), "slower"),
    ],
)
def test_a_mistake_is_one_line(arguments, line, tmp_path):
    run = gdnbench(*arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert run.stdout == ""
    assert line in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_listing_names_all_there_is():
    found = json.loads(gdnbench("list", "--json").stdout)
    assert [change["change"] for change in found["changes"]] == list(CATALOG)
    assert [scenario["scenario"] for scenario in found["scenarios"]] == list(NAMED)
    assert "51913" in gdnbench("list").stdout


def test_evidence_writes_a_whole_report(tmp_path):
    run = gdnbench("evidence", "55404", "--launches", "6", "--out", str(tmp_path), "--json")
    assert run.returncode in (0, 1), run.stderr
    found = json.loads(run.stdout)
    assert found["verdict"] in ("improved", "unknown", "same")
    assert found["equality"][0]["different"] == 0
    directory = tmp_path / "pr55404"
    written = {path.name for path in directory.iterdir()}
    assert {"README.md", "index.html", "description.md", "evidence.json", "step-time.png"} <= written
    text = (directory / "README.md").read_text("utf-8")
    for heading in ("Equality", "Exact costs of one step", "Step time", "Where it was measured"):
        assert f"<summary>{heading}</summary>" in text
    assert "| live server | not judged |" in text


def test_evidence_of_a_change_without_step_time_rests_on_costs(tmp_path):
    run = gdnbench("evidence", "41873", "--out", str(tmp_path), "--json")
    found = json.loads(run.stdout)
    assert found["step"] is None
    assert "step time" in found["elsewhere"]
    assert not (tmp_path / "pr41873" / "step-time.png").exists()


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    run = gdnbench("evidence", "41873", "--out", str(tmp_path / "file"))
    assert run.returncode == 4
    assert "cannot write" in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
