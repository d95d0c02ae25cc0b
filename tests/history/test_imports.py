"""Finished results of other tools as runs."""

from __future__ import annotations

import json
import math
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from gdnbench.history.importing import importable
from gdnbench.values.errors import UserError
from gdnbench.values.runs import Run
from kept import history
from lm_eval_folders import answers, write

COLUMNS = ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b"]
COLUMNS += ["stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples", "profile"]
ASV = {
    "version": 2,
    "commit_hash": "0123456789abcdef0123456789abcdef01234567",
    "env_name": "virtualenv-py3.11-torch2.13.0",
    "date": 1_764_547_200_000,
    "params": {"machine": "secret-host", "cpu": "A Processor", "num_cpu": "8", "os": "Linux 6.1", "ram": "1"},
    "python": "3.11",
    "requirements": {},
    "env_vars": {},
    "result_columns": COLUMNS,
    "results": {
        "suite.time_build": [
            [2e-05, None, math.nan],
            [["1", "16", "64"]],
            "v1" * 20,
            1_764_547_300_000,
            3.0,
            [1.9e-05],
            [2.1e-05],
            [1.9e-05],
            [2.1e-05],
            [1],
            [10],
            [[2e-05, 2.1e-05, 1.9e-05]],
        ],
        "suite.track_step": [[12.5], [], "1"],
        "suite.time_gone": None,
    },
    "durations": {},
}
BENCH = {
    "date": "20261101-020000",
    "endpoint_type": "openai",
    "backend": "openai",
    "model_id": "/models/tiny-gdn",
    "tokenizer_id": "tiny",
    "num_prompts": 60,
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": 1,
    "duration": 91.14,
    "completed": 60,
    "failed": 0,
    "total_input_tokens": 16410,
    "total_output_tokens": 18000,
    "request_throughput": 0.66,
    "output_throughput": 197.5,
    "total_token_throughput": 377.56,
    "mean_ttft_ms": 137.76,
    "median_ttft_ms": 134.03,
    "p99_ttft_ms": 739.05,
    "std_ttft_ms": 3.0,
    "mean_tpot_ms": 4.62,
    "mean_itl_ms": 15.8,
    "p90_itl_ms": 16.2,
    "spec_decode_acceptance_length": 3.7,
}


def written(place: Path, data: Any) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(data))
    return place


def only(path: Path, variant: str | None = None) -> Run:
    (one,) = importable(path, variant)
    assert one.run is not None
    return one.run


def values(run: Run) -> dict[tuple[str, str, str], float]:
    return {(one.series.metric, one.series.statistic, one.series.load): one.value for one in run.points}


def test_a_result_file_of_asv(tmp_path: Path) -> None:
    results = tmp_path / "results"
    written(results / "benchmarks.json", {"suite.track_step": {"unit": "us"}, "version": 2})
    path = written(results / "secret-host" / "01234567-env.json", ASV)
    run = only(path)
    assert run.identity.imported == "asv"
    assert run.identity.started == "2025-12-01T00:00:00+00:00"
    assert run.identity.source.commit == ASV["commit_hash"]
    assert values(run) == {("suite.time_build", "median", "1"): 2e-05, ("suite.track_step", "median", ""): 12.5}
    build, step = run.points
    assert (build.unit, step.unit) == ("s", "us")
    assert build.interval is None  # asv's own has 99 %, and three samples give none of 95
    assert build.samples == (2e-05, 2.1e-05, 1.9e-05)
    assert build.series.setting == "version v1v1v1v1v1v1"
    assert "2 of 4 benchmarks failed" in run.warnings[0].message
    assert "secret" not in json.dumps(run.identity.to_json()) + json.dumps([one.to_json() for one in run.points])
    history(tmp_path / "runs").record(run)
    assert not history(tmp_path / "runs").verify()[1]


@pytest.mark.parametrize("commit", [None, "None", ""])
def test_asv_without_a_commit_is_unidentified(commit: str | None, tmp_path: Path) -> None:
    run = only(written(tmp_path / "x.json", {**ASV, "commit_hash": commit}))
    assert "unidentified" in [one.code for one in run.warnings]
    assert run.identity.source.commit == ""


def test_a_result_of_vllm_bench_serve(tmp_path: Path) -> None:
    run = only(written(tmp_path / "bench.json", BENCH), "vllm@0.29.0")
    assert run.identity.imported == "vllm bench serve"
    assert run.identity.started == "2026-11-01T02:00:00+00:00"
    assert run.identity.variants == {"measured": "vllm@0.29.0"}
    assert run.identity.model == "tiny-gdn"
    assert values(run) == {
        ("output_throughput", "rate", "c1"): 197.5,
        ("total_token_throughput", "rate", "c1"): 377.56,
        ("request_throughput", "rate", "c1"): 0.66,
        ("ttft", "mean", "c1"): 137.76,
        ("ttft", "median", "c1"): 134.03,
        ("ttft", "p99", "c1"): 739.05,
        ("tpot", "mean", "c1"): 4.62,
        ("itl", "mean", "c1"): 15.8,
        ("itl", "p90", "c1"): 16.2,
        ("acceptance_length", "mean", "c1"): 3.7,
    }
    assert not any(one.invalid for one in run.points)
    assert not run.warnings


def test_figures_that_contradict_each_other_are_invalid(tmp_path: Path) -> None:
    run = only(written(tmp_path / "bench.json", {**BENCH, "output_throughput": 250.0}))
    told = "output_throughput x duration is 22,785.0, and total_output_tokens is 18,000"
    assert {one.invalid for one in run.points} == {told}


def test_an_interval_of_95_percent_stands_where_samples_are_enough(tmp_path: Path) -> None:
    samples = [2e-05 + number * 1e-07 for number in range(10)]
    cells = ASV["results"]["suite.time_build"]
    data = {**ASV, "results": {"suite.time_build": [*cells[:-1], [samples]]}}
    (build,) = only(written(tmp_path / "results" / "host" / "01234567-env.json", data)).points
    assert build.interval == (samples[1], samples[8])


@pytest.mark.parametrize(
    ("changes", "invalid"),
    [
        ({"failed": 3}, "3 requests failed"),
        ({"completed": 57}, "57 of 60 requests were completed"),
        ({"failed": None}, ""),
    ],
)
def test_requests_that_failed_spoil_every_figure(changes: dict[str, Any], invalid: str, tmp_path: Path) -> None:
    run = only(written(tmp_path / "bench.json", {**BENCH, **changes}))
    assert {one.invalid for one in run.points} == {invalid}


@pytest.mark.parametrize("nothing", [0.0, -1.2, math.nan, math.inf, None])
def test_a_latency_of_nothing_is_no_figure(nothing: float | None, tmp_path: Path) -> None:
    run = only(written(tmp_path / "bench.json", {**BENCH, "mean_tpot_ms": nothing}))
    assert ("tpot", "mean", "c1") not in values(run)
    assert "mean_tpot_ms" in run.warnings[0].message


def test_other_requests_are_another_series(tmp_path: Path) -> None:
    one = only(written(tmp_path / "a.json", BENCH))
    for changes in ({"num_prompts": 61}, {"request_rate": "4"}, {"total_input_tokens": 1}, {"model_id": "other"}):
        other = only(written(tmp_path / "b.json", {**BENCH, **changes}))
        assert not {point.series for point in one.points} & {point.series for point in other.points}
    later = only(written(tmp_path / "c.json", {**BENCH, "date": "20261102-020000", "output_throughput": 190.0}))
    assert {point.series for point in one.points} == {point.series for point in later.points}


def test_a_folder_of_lm_eval(tmp_path: Path) -> None:
    folder = write(tmp_path / "answers", answers(400, 300)[0])
    run = only(folder)
    assert run.identity.imported == "lm-eval"
    assert run.identity.started == "2026-11-30T02:00:00+00:00"
    assert [(one.series.statistic, one.value, one.primary) for one in run.points] == [
        ("strict-match", 0.75, True),
        ("flexible-extract", 0.75, False),
    ]
    assert run.points[0].series.load == "word-problems"
    assert only(folder / "served" / "results_2026-11-30T02-00-00.000000.json").token == run.token
    history(tmp_path / "runs").record(run)


def test_a_folder_of_all_sorts(tmp_path: Path) -> None:
    written(tmp_path / "in" / "a.json", BENCH)
    written(tmp_path / "in" / "machine" / "b.json", ASV)
    written(tmp_path / "in" / "machine" / "machine.json", {"machine": "x"})
    written(tmp_path / "in" / "c.json", {"hello": 1})
    (tmp_path / "in" / "d.json").write_text('{"cut')
    found = {one.path.name: one for one in importable(tmp_path / "in")}
    assert {name for name, one in found.items() if one.run} == {"a.json", "b.json"}
    assert "is not a result file of asv" in found["c.json"].reason
    assert "is it cut off?" in found["d.json"].reason


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({**ASV, "version": 1}, "of version 2 are read, not 1"),
        ({**ASV, "results": {"x": [[1], 7]}}, "a damaged result file of asv"),
        ({**ASV, "results": {"x": 7}}, "a damaged result file of asv"),
        ({**ASV, "date": "never"}, "a damaged result file of asv"),
        ({**BENCH, "date": "yesterday"}, "a damaged result of vllm bench serve"),
        ({**BENCH, "max_concurrency": [1]}, "a damaged result of vllm bench serve"),
        ({"completed": 0, "duration": 1, "request_throughput": 0, "date": "20261101-020000"}, "without a figure"),
        ([1, 2], "is not a result file of asv"),
    ],
)
def test_what_cannot_be_read_is_one_line(data: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=says) as raised:
        list(importable(written(tmp_path / "x.json", data)))
    assert "\n" not in str(raised.value)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds nothing that is"):
        list(importable(tmp_path))
    with pytest.raises(UserError, match="no such file"):
        list(importable(tmp_path / "x"))


def test_hostile_names_are_made_inert(tmp_path: Path) -> None:
    run = only(written(tmp_path / "x.json", {**BENCH, "model_id": "a\x1b[31m\nb\ud800", "backend": "\x07"}))
    for one in run.points:
        assert all(text.isprintable() for text in astuple(one.series))
    history(tmp_path / "runs").record(run)
    assert len(history(tmp_path / "runs").listing().runs) == 1
