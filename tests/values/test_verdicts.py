import json
from dataclasses import replace

import pytest

from gdnbench.values.metrics import COST_METRICS, HOST_TIME
from gdnbench.values.verdicts import Caveat, CostResult, CostRow, Judgement, StepResult, StepRow, Verdict, overall


def judgement(verdict: str) -> Judgement:
    return Judgement(Verdict(verdict))


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ("improved regressed", "regressed"),
        ("improved invalid regressed", "invalid"),
        ("same improved unknown", "improved"),
        ("same unknown", "unknown"),
        ("same same", "same"),
        ("", "invalid"),
    ],
)
def test_the_verdict_of_several_rows_is_the_worst_then_improved(rows, verdict):
    assert overall(judgement(row) for row in rows.split()) == verdict


def step_row(**changes) -> StepRow:
    shown = Judgement(Verdict.IMPROVED, 0.5, (0.4, 0.6), 0.03, 0.03, 6, 0.02, warnings=(Caveat("trend", "it", "do"),))
    return replace(StepRow("q1s1k", HOST_TIME, True, 20.0, 10.0, shown), **changes)


def test_a_step_result_prints_the_promised_keys():
    result = StepResult((step_row(),), control=step_row(scenario="control"))
    printed = json.loads(json.dumps(result.to_json(), allow_nan=False))
    promised = {"scenario", "metric", "unit", "primary", "before", "after", "ratio", "ci", "launches", "verdict"}
    promised |= {"smallest_detectable"}
    for row in (*printed["rows"], printed["control"]):
        assert promised <= set(row)
    assert printed["rows"][0]["ci"] == [0.4, 0.6]
    assert printed["rows"][0]["verdict"] == printed["verdict"] == "improved"
    assert printed["rows"][0]["warnings"] == [{"code": "trend", "message": "it", "advice": "do"}]


def test_secondary_rows_do_not_make_the_verdict():
    regressed = step_row(primary=False, judgement=judgement("regressed"))
    assert StepResult((step_row(), regressed), None).verdict is Verdict.IMPROVED


def test_what_is_not_a_number_is_null_in_json():
    row = step_row(before=float("nan"), judgement=Judgement(Verdict.INVALID, ratio=float("inf"))).to_json()
    assert row["before"] is None and row["ratio"] is None


def test_a_cost_result_prints_the_promised_keys():
    counts = {metric.tag: 3 for metric in COST_METRICS}
    rows = (CostRow("q1s1k", "pr51913.before", counts), CostRow("q1s1k", "pr51913.after", counts, ("aten::add",)))
    printed = CostResult(rows, {"q1s1k": judgement("same")}).to_json()
    promised = ["scenario", "variant", "device_ops", "h2d_pinned", "h2d_pageable", "d2h", "syncs", "host_ops"]
    promised += ["alloc_bytes"]
    assert list(printed["rows"][0]) == promised
    assert list(printed["rows"][1]) == [*promised, "operations"]
    assert printed["verdict"] == "same"
