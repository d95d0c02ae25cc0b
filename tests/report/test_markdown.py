"""The evidence report as Markdown: one golden per behaviour, and hostile text made inert."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gdn_impl.catalog import CATALOG, Claim, Level
from gdnbench.report.evidence import ClaimFinding, EqualityFinding, Evidence, headline, next_steps
from gdnbench.report.markdown import cell, render
from gdnbench.report.plots import step_ratios
from gdnbench.values.metrics import HOST_TIME
from gdnbench.values.verdicts import Caveat, CostResult, CostRow, Judgement, StepResult, StepRow, Verdict

GOLDENS = Path(__file__).parents[1] / "goldens" / "report"


def row(scenario, ratio, verdict, primary=False):
    judgement = Judgement(
        verdict, ratio, (ratio - 0.01, ratio + 0.01), 0.002, 0.002, launches=10, smallest_detectable=0.004
    )
    return StepRow(scenario, HOST_TIME, primary, 20.0, 20.0 * ratio, judgement)


def counts(**given):
    return {
        "device_ops": 6, "h2d_pinned": 0, "h2d_pageable": 0, "d2h": 0, "syncs": 0, "host_ops": 0, "alloc_bytes": 0,
    } | given  # fmt: skip


def evidence(**changes):
    cost = CostResult(
        (
            CostRow("16q1s1k", "pr51913.before", counts(device_ops=8)),
            CostRow("16q1s1k", "pr51913.after", counts()),
        ),
        {"16q1s1k": Judgement(Verdict.IMPROVED, 0.75, launches=1, reason="device_ops 8 -> 6")},
    )
    step = StepResult(
        (row("q1s1k", 0.80, Verdict.IMPROVED), row("16q1s1k", 0.75, Verdict.IMPROVED, primary=True)),
        row("16q1s1k", 1.001, Verdict.SAME),
    )
    claim = Claim("+7 % output throughput", "output_throughput", "tok/s", 184.07, 197.5, 1, "one H200")
    plain = Evidence(
        change=CATALOG[51913],
        device="cpu",
        equality=(EqualityFinding("build", 19, 200, 0, (), True),),
        costs={"build": cost},
        step=step,
        claims=(ClaimFinding(claim, "measured elsewhere", "no GPU here"),),
        environment={"torch": "2.13.0", "machine": "a machine"},
        elsewhere={Level.SERVER: "not measured here"},
    )
    return replace(plain, **changes)


def golden(name, text):
    path = GOLDENS / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        pytest.fail(f"{path.name} was written: read it, then commit it")
    assert text == path.read_text("utf-8")


def test_a_measured_improvement():
    golden("a-measured-improvement.md", render(evidence(), "step-time.png"))


def test_metadata_that_differs_makes_the_report_invalid():
    broken = EqualityFinding("build", 19, 200, 3, ("16q1s1k: seq_lens differ",), True)
    report = evidence(equality=(broken,))
    assert report.verdict is Verdict.INVALID
    assert headline(report).startswith("invalid: metadata of 51913 differs in 3 scenarios")
    golden("metadata-that-differs.md", render(report, None))


def test_metadata_that_is_meant_to_differ_does_not():
    meant = EqualityFinding("build", 19, 200, 3, ("15q1s1k_q1s1p64: num_prefills 0 -> 1",), False)
    assert evidence(equality=(meant,)).verdict is Verdict.IMPROVED


def test_without_step_time_the_costs_decide():
    report = evidence(step=None)
    assert report.verdict is Verdict.IMPROVED
    assert headline(report) == "improved: build, 16q1s1k: device_ops 8 -> 6"


def test_an_unsettled_row_asks_for_launches():
    unsettled = row("16q1s1k", 0.99, Verdict.UNKNOWN, primary=True)
    unsettled = replace(unsettled, judgement=replace(unsettled.judgement, more_launches=14))
    steps = next_steps(evidence(step=StepResult((unsettled,), None)))
    assert any("14 more launches" in step for step in steps)


def test_hostile_text_is_inert():
    hostile = "<script>alert(1)</script> | `x` \x1b[31m\nnext"
    report = evidence(
        environment={"torch": hostile, "machine": hostile},
        warnings=(Caveat("hostile", hostile, hostile),),
    )
    text = render(report, None)
    assert "<script>" not in text
    assert "\x1b" not in text
    assert all(line.count(" | ") <= 9 for line in text.splitlines())
    assert "|" not in cell(hostile).replace("\\|", "")


def test_json_has_what_the_report_says():
    data = evidence().to_json()
    assert data["verdict"] == "improved"
    assert data["headline"] == headline(evidence())
    assert data["step"]["rows"][1]["primary"] is True


def test_the_plot_is_written_whole(tmp_path):
    path = tmp_path / "deep" / "step-time.png"
    step_ratios(evidence().step, "51913", path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in path.parent.iterdir()] == ["step-time.png"]
