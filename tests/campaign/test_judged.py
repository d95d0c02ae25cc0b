"""Campaigns judged from launches that are written down here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest

from gdnbench.campaign.judged import JudgedCampaign, default_launches, judge_campaign
from gdnbench.campaign.plan import Plan, compare, with_limit
from gdnbench.campaign.records import LaunchRecord, Measured
from gdnbench.campaign.turns import ROLES, creation
from gdnbench.values.variants import parse
from gdnbench.values.verdicts import Verdict

NOISE = (0.001, -0.002, 0.0015, -0.0005, 0.0008, -0.0012, 0.0003, -0.0009, 0.0011, -0.0004)
ENVIRONMENT = {"cores": 2, "load_average": [0.5, 0.5, 0.5], "cpu": "a", "torch": "2", "python": "3", "system": "L"}


def plan(before: str, after: str, *scenarios: str, device: str = "cpu") -> Plan:
    return compare(parse(before), parse(after), scenarios or ("16q1s1k",), device=device)


def launch(asked: Plan, number: int, effect: float, metrics: tuple[str, ...] = ("host_time",)) -> LaunchRecord:
    noise = NOISE[number - 1]
    measured = tuple(
        Measured(
            name,
            metric,
            15,
            dict.fromkeys(ROLES, 15.0),
            {"after": effect + noise, "control": noise},
            {role: (15.0, 15.0 * math.exp(2 * effect * (role == "after"))) for role in ROLES},
        )
        for name in asked.scenarios
        for metric in metrics
    )
    created = creation(ROLES, number)
    return LaunchRecord(number, "", 2.0, created, {created[0]: ENVIRONMENT}, {}, {}, measured)


def judged(asked: Plan, effect: float, metrics: tuple[str, ...] = ("host_time",), **changes: object) -> JudgedCampaign:
    launches = [launch(asked, number, effect, metrics) for number in range(1, 11)]
    return judge_campaign(asked, [replace(launches[0], **changes), *launches[1:]])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("effect", "verdict"), [(-0.2, Verdict.IMPROVED), (0.03, Verdict.REGRESSED), (0.0, Verdict.SAME)]
)
def test_the_verdict_and_the_control(effect: float, verdict: Verdict) -> None:
    result = judged(plan("pr51913.before", "pr51913.after"), effect).result
    (row,) = result.rows
    assert result.verdict is verdict
    assert row.judgement.ratio == pytest.approx(1 + effect, rel=0.03)
    assert result.control is not None and result.control.judgement.verdict is Verdict.SAME


def test_with_the_limit_beside_both_sides_are_multiples_of_it() -> None:
    asked = with_limit(plan("pr51913.before", "pr51913.after"))
    launches = []
    for number in range(1, 11):
        one = launch(asked, number, math.log(0.8))
        (case,) = one.measured
        case = replace(case, log_ratios={**case.log_ratios, "limit": math.log(0.25) + NOISE[number - 1]})
        launches.append(replace(one, measured=(case,)))
    (row,) = judge_campaign(asked, launches).result.rows
    assert row.of_limit == pytest.approx((4.0, 3.2), rel=0.01)
    assert row.to_json()["of_limit"] == list(row.of_limit or ())
    assert judged(plan("pr51913.before", "pr51913.after"), 0.0).result.rows[0].of_limit is None


def test_the_json_has_the_promised_keys() -> None:
    found = judged(plan("pr51913.before", "pr51913.after"), -0.2).to_json()
    promised = {
        "scenario",
        "part",
        "metric",
        "unit",
        "primary",
        "before",
        "after",
        "ratio",
        "ci",
        "launches",
        "verdict",
    }
    for row in (*found["rows"], found["control"]):
        assert promised | {"smallest_detectable"} <= row.keys()
    assert found["rows"][0]["part"] == "build"
    assert found["rows"][0]["ci"][0] < found["rows"][0]["ratio"] < found["rows"][0]["ci"][1]


@pytest.mark.parametrize(
    ("before", "after", "role", "invalid"),
    [
        ("pr51913.before", "pr51913.after", "after", True),
        ("pr51913.before", "pr51913.after", "control", True),
        ("pr51565.before", "pr51565.after", "after", False),
        ("pr51913.before", "pr52078.after", "after", False),
        ("vllm@0.30.0", "vllm@0.31.0", "after", False),
        ("vllm@0.30.0", "vllm@0.30.0+2%", "after", True),
    ],
)
def test_unequal_metadata_makes_a_row_invalid_where_equality_is_promised(
    before: str, after: str, role: str, invalid: bool
) -> None:
    unequal: Mapping[str, object] = {"16q1s1k": {role: ("state",)}}
    found = judged(plan(before, after), -0.2, unequal=unequal)
    (row,) = found.result.rows
    assert (row.judgement.verdict is Verdict.INVALID) is invalid
    assert ("state" in row.judgement.reason) is invalid
    assert ("unequal" in {caveat.code for caveat in found.warnings}) is not invalid


@pytest.mark.parametrize(("change", "primary"), [(51913, "host_time"), (40654, "host_time_busy")])
def test_on_a_gpu_the_clock_that_decides_depends_on_the_change(change: int, primary: str) -> None:
    metrics = ("host_time", "host_time_busy", "device_time")
    found = judged(plan(f"pr{change}.before", f"pr{change}.after", device="cuda"), -0.2, metrics)
    assert [row.metric.tag for row in found.result.rows if row.primary] == [primary]
    assert found.result.control is not None and found.result.control.metric.tag == primary


def test_what_a_reader_must_know_is_said() -> None:
    busy = {"before": {**ENVIRONMENT, "load_average": [7.0, 1.0, 1.0], "torch": "3", "nice": 15}}
    found = judged(plan("pr41873.before", "pr41873.after"), 0.0, environment=busy, refused={"q2k": "it cannot"})
    said = {caveat.code: caveat.message for caveat in found.warnings}
    assert said.keys() == {"refused", "level", "busy", "environment", "priority"}
    assert "q2k" in said["refused"] and "7" in said["busy"] and "torch" in said["environment"]
    assert "nice 15" in said["priority"]


def test_many_rows_get_the_launches_they_need() -> None:
    assert default_launches(1) == 10
    assert default_launches(16) == 10
    assert default_launches(100) > 10


def test_what_a_side_takes_fits_its_change_though_the_core_changed_its_pace_within_launches():
    asked = plan("pr51913.before", "pr51913.after")
    launches = [launch(asked, number, math.log(1.05)) for number in range(1, 11)]

    def uneven(one: LaunchRecord) -> LaunchRecord:
        pace = (10.0, 10.0, 20.0) if one.number % 2 else (10.0, 20.0, 20.0)
        blocks = {"before": pace, "after": tuple(1.05 * us for us in pace), "control": pace}
        return replace(one, measured=tuple(replace(case, blocks_us=blocks) for case in one.measured))

    found = judge_campaign(asked, [uneven(one) for one in launches]).result
    row, control = found.rows[0], found.control
    assert control is not None and row.before is not None and row.after is not None
    assert control.after == pytest.approx(control.before)
    assert row.before == pytest.approx(10 * 2**0.5)
    assert row.after / row.before == pytest.approx(1.05)
