"""Results of every kind as runs: the figures are those that the result itself shows."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import gates
import served
from gdnbench.accuracy.judging import judge_accuracy
from gdnbench.accuracy.outputs import read_output
from gdnbench.campaign.costs import count_costs
from gdnbench.campaign.judged import judge_campaign
from gdnbench.campaign.plan import Plan, compare
from gdnbench.campaign.records import LaunchRecord, Measured
from gdnbench.campaign.turns import ROLES, creation
from gdnbench.gate.comparing import compare_costs
from gdnbench.history.of_accuracy import accuracy_run
from gdnbench.history.of_cost import cost_run
from gdnbench.history.of_gate import gate_run
from gdnbench.history.of_serve import serve_run
from gdnbench.history.of_step import step_run
from gdnbench.serving.judged import judge_serving
from gdnbench.serving.judging.figures import Figure, of_side
from gdnbench.values.gate import GateResult
from gdnbench.values.runs import Run
from gdnbench.values.series import ANYWHERE, Point
from gdnbench.values.variants import parse
from gdnbench.values.verdicts import Verdict
from kept import history
from lm_eval_folders import answers, write

STARTED = "2026-11-01T02:00:00+00:00"
ENVIRONMENT = {
    "cpu": "A Processor",
    "cores": 2,
    "load_average": [0.5],
    "torch": "2.13.0",
    "python": "3.11",
    "system": "L",
}


def find(run: Run, **key: str) -> Point:
    """The one point whose key has these fields."""
    (found,) = [one for one in run.points if all(getattr(one.series, name) == value for name, value in key.items())]
    return found


def campaign(before: str, after: str, effect: float = -0.2, **changes: Any):
    asked: Plan = compare(parse(before), parse(after), ["16q1s1k", "q1s1k"])
    launches = []
    for number in range(1, 13):
        level, noise = 15.0 + number / 10, 0.001 * math.sin(number)
        medians = {role: level * (math.exp(effect) if role == "after" else 1.0) for role in ROLES}
        blocks = {role: (us, us) for role, us in medians.items()}
        measured = tuple(
            Measured(name, "host_time", 8, medians, {"after": effect + noise, "control": noise}, blocks)
            for name in asked.scenarios
        )
        created = creation(ROLES, number)
        record = LaunchRecord(number, STARTED, 2.0 + number, created, {created[0]: ENVIRONMENT}, {}, {}, measured)
        launches.append(replace(record, **changes))
    return judge_campaign(asked, launches)


def test_a_campaign_of_step_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDNBENCH_MACHINE", "bench-1")
    judged = campaign("pr51913.before", "pr51913.after")
    run = step_run(judged)
    row = judged.result.rows[0]
    own = find(run, variant="pr51913.after", against="", load="16q1s1k")
    assert own.value == median(own.samples) == pytest.approx(row.after, rel=0.001)
    assert own.samples == tuple(one.measured[0].medians_us["after"] for one in judged.launches)
    assert own.interval is not None and own.interval[0] <= own.value <= own.interval[1]
    ratio = find(run, variant="pr51913.after", against="pr51913.before", load="16q1s1k")
    assert (ratio.value, ratio.interval, ratio.verdict) == (
        row.judgement.ratio,
        row.judgement.interval,
        Verdict.IMPROVED,
    )
    assert (ratio.unit, ratio.launches, len(ratio.samples)) == ("ratio", 12, 12)
    control = find(run, variant="pr51913.before", against="pr51913.before", load="q1s1k")
    assert control.verdict is None and control.value == pytest.approx(1.0, abs=0.01)
    assert len(run.points) == 8
    assert {one.series.machine for one in run.points} == {"bench-1"}
    assert {one.series.hardware for one in run.points} == {"A Processor"}
    assert run.identity.change == 51913
    assert (
        run.token == step_run(judged).token != step_run(campaign("pr51913.before", "pr51913.after", seconds=9.0)).token
    )
    assert history(tmp_path).record(run)[1]


def test_one_variant_on_both_sides_has_one_point_a_series(tmp_path: Path) -> None:
    run = step_run(campaign("pr51913.after", "pr51913.after", effect=0.0))
    assert {one.series.against for one in run.points} == {"", "pr51913.after"}
    assert len(run.points) == 4
    history(tmp_path).record(run)


def test_what_is_invalid_says_so_on_every_figure() -> None:
    run = step_run(campaign("pr51913.before", "pr51913.after", unequal={"16q1s1k": {"after": ("seq_lens",)}}))
    assert run.verdict is Verdict.INVALID
    for one in run.points:
        if one.series.load == "16q1s1k" and one.series.variant != one.series.against:
            assert "the metadata of before and after differ" in one.invalid
        else:
            assert not one.invalid


def test_exact_costs_are_of_no_machine(tmp_path: Path) -> None:
    sides = parse("pr51913.before"), parse("pr51913.after")
    counted = count_costs(*sides, ["16q1s1k"])
    run = cost_run(*sides, counted)
    (part,) = counted
    row = counted[part].result.rows[1]
    for tag in ("device_ops", "alloc_bytes", "syncs"):
        found = find(run, variant="pr51913.after", metric=tag)
        assert found.value == row.counts[tag]
        assert found.interval == (row.counts[tag],) * 2
        assert (found.series.machine, found.series.device, found.series.part) == (ANYWHERE, "traced", part)
    both = find(run, against="pr51913.before")
    assert both.verdict is Verdict.IMPROVED
    assert both.reason == counted[part].result.judgements["16q1s1k"].reason
    assert run.token != cost_run(*sides, counted).token
    history(tmp_path).record(run)


@pytest.mark.parametrize("method", ["switch", "apart"])
@pytest.mark.parametrize("speculative", [None, served.MTP])
def test_a_campaign_in_live_servers(method: str, speculative: Any, tmp_path: Path) -> None:
    releases = ("0.29.0", "0.29.0")
    asked = served.plan(method=method, speculative=speculative, releases=releases)
    launches = served.campaign(asked, 0.9)
    result = judge_serving(asked, launches)
    run = serve_run(asked, launches, result)
    assert run.verdict is result.verdict
    for row in result.rows:
        key = {"load": f"c{row.concurrency}", "metric": row.metric.tag, "statistic": row.statistic}
        if row.before is None or row.after is None:
            continue
        own = find(run, variant="pr51913.after", against="", **key)
        figure = Figure(row.metric, row.statistic)
        sides = [of_side([one], row.concurrency, figure, "after") for one in launches]
        assert own.value == pytest.approx(median(sides)), "the middle launch, since a series has an interval"
        assert of_side(launches, row.concurrency, figure, "after") == pytest.approx(row.after)
        assert own.primary is row.primary
        ratio = find(run, variant="pr51913.after", against="pr51913.before", **key)
        assert (ratio.value, ratio.verdict) == (row.judgement.ratio, row.judgement.verdict)
        assert len(ratio.samples) == ratio.launches
    decode = "speculative" if speculative else "decode"
    build = find(run, variant="pr51913.before", metric="build_time", load=decode)
    assert build.value == 55.0
    assert build.unit == "us"
    history(tmp_path).record(run)


def test_a_server_with_another_setting_is_another_series() -> None:
    asked = served.plan(launches=3)
    launches = served.campaign(asked)
    one = serve_run(asked, launches, judge_serving(asked, launches))
    for changed in (
        served.plan(launches=3, output_len=64),
        served.plan(launches=3, speculative=served.MTP),
        served.plan(launches=3, loads=((1, 8, 6), (16, 64, 6))),
        served.plan(launches=3, releases=("0.30.0", "0.30.0")),
    ):
        others = served.campaign(changed)
        other = serve_run(changed, others, judge_serving(changed, others))
        assert not {point.series for point in one.points} & {point.series for point in other.points}


def test_failed_requests_are_on_the_figures(tmp_path: Path) -> None:
    asked = served.plan()
    launches = served.with_blocks(
        served.campaign(asked), lambda block: replace(block, failed=2) if served.at(block) else block
    )
    result = judge_serving(asked, launches)
    run = serve_run(asked, launches, result)
    assert run.verdict is Verdict.INVALID
    assert find(run, variant="pr51913.after", against="", load="c16", metric="output_throughput").invalid
    history(tmp_path).record(run)


def asked_here(tmp_path: Path, invalid: bool = False):
    before, after = answers(400, 300, lost=30, gained=2)
    folders = {"before": before, "after": after, "control": before}
    outputs = [read_output(write(tmp_path / role, right)) for role, right in folders.items()]
    identity = {
        "releases": dict.fromkeys(folders, "0.29.0"),
        "preset": "tiny-cpu",
        "served_model": "/somewhere/tiny-gdn",
        "flags": [],
        "speculative": None,
        "device": "cpu",
        "concurrency": 16,
        "backend": "local-completions",
        "environment": ENVIRONMENT,
        "started": [STARTED] * 3,
        "seconds": [10.5, 11.5, 12.5],
    }
    sides = {"before": "pr51913.before", "after": "pr51913.after", "control": "pr51913.before"}
    return judge_accuracy(*outputs, sides=sides, identity=identity)


def test_a_comparison_of_answers(tmp_path: Path) -> None:
    result = asked_here(tmp_path)
    run = accuracy_run(result, 51913)
    row = result.primary
    own = find(run, variant="pr51913.before", against="", statistic=row.filter)
    assert own.value == row.before.value == 0.75
    assert own.interval == pytest.approx((0.75 - 1.96 * row.before.stderr, 0.75 + 1.96 * row.before.stderr), rel=1e-4)
    difference = find(run, variant="pr51913.after", against="pr51913.before", statistic=row.filter)
    assert (difference.value, difference.interval) == (row.difference, row.interval)
    assert difference.verdict is Verdict.REGRESSED
    control = find(run, variant="pr51913.before", against="pr51913.before", statistic=row.filter)
    assert control.value == 0.0 and control.verdict is None
    assert run.identity.model == "tiny-gdn"
    history(tmp_path / "runs").record(run)


def test_a_gate_and_a_baseline(tmp_path: Path) -> None:
    now = gates.run({"16q1s1k": {"device_ops": 9}, "q1s1k": "no such step"}, steps={"16q1s1k": [20.0, 21.0, 22.0]})
    before = gates.run({"16q1s1k": {}, "q1s1k": {}})
    result = GateResult("main", before.identity, now.identity, compare_costs(before, now), ())
    run = gate_run(now, result)
    assert find(run, metric="device_ops").value == 9
    assert find(run, metric="host_time").samples == (20.0, 21.0, 22.0)
    compared = find(run, against="baseline main", load="16q1s1k")
    assert compared.verdict is Verdict.REGRESSED
    assert compared.value == 9 / 8
    assert run.verdict is Verdict.REGRESSED
    assert "no such step" in run.warnings[0].message
    assert gate_run(now).verdict is None
    for one in (run, gate_run(now)):
        assert history(tmp_path).record(one)[1]


def test_a_machine_has_no_name_in_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    import platform

    from gdnbench.campaign.machine import host

    monkeypatch.delenv("GDNBENCH_MACHINE", raising=False)
    assert host() == host()
    assert len(host()) == 12
    assert platform.node() not in host()


def test_a_run_is_of_the_machine_that_measured_it_or_of_several() -> None:
    from gdnbench.history.surroundings import SEVERAL, machine_of

    here, there = ({"cpu": "a processor", "machine": name} for name in ("bench-1", "bench-2"))
    assert machine_of(here, "cpu").host == machine_of(here, "cpu", [here]).host == "bench-1"
    assert machine_of(here, "cpu", [here, there]).host == SEVERAL
