"""The evidence report as Markdown: one golden per behaviour, and hostile text made inert."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gdn_impl.catalog import CATALOG, Claim, Level
from gdnbench.report.evidence import ClaimFinding, EqualityFinding, Evidence, headline, next_steps
from gdnbench.report.html import page
from gdnbench.report.markdown import cell, render
from gdnbench.report.paste import paste
from gdnbench.report.plots import serving_ratios, step_ratios
from gdnbench.report.write import write
from gdnbench.serving.judged import judge_serving
from gdnbench.values.accuracy import AccuracyResult, AccuracyRow, Flip, Paired, Score
from gdnbench.values.metrics import HOST_TIME
from gdnbench.values.serving import Coverage, Fault
from gdnbench.values.verdicts import Caveat, CostResult, CostRow, Judgement, StepResult, StepRow, Verdict
from served import MTP, campaign, plan, with_blocks

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
    golden("a-measured-improvement.md", render(evidence(), {"plot": "step-time.png"}))


def test_metadata_that_differs_makes_the_report_invalid():
    broken = EqualityFinding("build", 19, 200, 3, ("16q1s1k: seq_lens differ",), True)
    report = evidence(equality=(broken,))
    assert report.verdict is Verdict.INVALID
    assert headline(report).startswith("invalid: metadata of 51913 differs in 3 scenarios")
    golden("metadata-that-differs.md", render(report, {}))


def test_metadata_that_is_meant_to_differ_does_not():
    meant = EqualityFinding("build", 19, 200, 3, ("15q1s1k_q1s1p64: num_prefills 0 -> 1",), False)
    assert evidence(equality=(meant,)).verdict is Verdict.IMPROVED


def test_without_step_time_the_costs_decide():
    report = evidence(step=None)
    assert report.verdict is Verdict.IMPROVED
    assert headline(report) == "improved: build, 16q1s1k: device_ops 8 -> 6"


def test_what_must_be_read_with_a_step_stands_below_the_table():
    doubtful = row("16q1s1k", 0.99, Verdict.IMPROVED, primary=True)
    caveat = Caveat("overstated", "found though it is small", "take its size from more launches")
    doubtful = replace(doubtful, judgement=replace(doubtful.judgement, warnings=(caveat,)))
    less = replace(row("q1s1k", 0.5, Verdict.IMPROVED), of_limit=(1.6, 0.8))
    report = evidence(step=StepResult((less, doubtful), None))
    text = render(report, {})
    assert "| improved [1] |" in text and "\n1. found though it is small: take its size from more launches\n" in text
    assert "| improved [2] |" in text and "\n2. a side below 1 x does less than the limit" in text
    html = page(report, {})
    assert "improved [1]</td>" in html and "<li>found though it is small: take its size from more launches</li>" in html


def test_an_unsettled_row_asks_for_launches():
    unsettled = row("16q1s1k", 0.99, Verdict.UNKNOWN, primary=True)
    unsettled = replace(unsettled, judgement=replace(unsettled.judgement, more_launches=14))
    steps = next_steps(evidence(step=StepResult((unsettled,), None)))
    total = unsettled.judgement.launches + 14
    assert steps[0].startswith("14 more launches: `gdnbench step pr51913.before pr51913.after --scenario 16q1s1k ")
    assert steps[0].endswith(f" --launches {total}`")


def test_hostile_text_is_inert():
    hostile = "<script>alert(1)</script> | `x` \x1b[31m\nnext"
    report = evidence(
        environment={"torch": hostile, "machine": hostile},
        warnings=(Caveat("hostile", hostile, hostile),),
    )
    text = render(report, {})
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


def served(step=1.0, **changes):
    asked = plan(**changes)
    return judge_serving(asked, campaign(asked, step))


def failed():
    asked = plan()
    launches = with_blocks(campaign(asked), lambda b: replace(b, failed=1, completed=b.completed - 1))
    return judge_serving(asked, launches)


def stepped(verdict, ratio=1.0):
    return StepResult((row("16q1s1k", ratio, verdict, primary=True),), None)


def test_a_live_server_stands_beside_the_step():
    report = evidence(server=served(speculative=MTP), elsewhere={})
    assert report.verdict is Verdict.IMPROVED
    assert headline(report).endswith(
        "; in a live server tok/s is same within 1 % at concurrency 1 and same within 1 % at 16"
    )
    golden(
        "a-live-server-beside-the-step.md", render(report, {"plot": "step-time.png", "server_plot": "live-server.png"})
    )


def test_an_invalid_server_makes_the_report_invalid_and_says_why():
    report = evidence(server=failed(), elsewhere={})
    assert report.verdict is Verdict.INVALID
    text = headline(report)
    assert text.startswith("invalid: the campaign in a live server is invalid: launch 2, concurrency 1, ")
    assert "without a server: improved: the metadata of one step" in text
    golden(
        "a-live-server-that-is-invalid.md", render(report, {"plot": "step-time.png", "server_plot": "live-server.png"})
    )
    assert any("read the log of the launch" in step for step in next_steps(report))


@pytest.mark.parametrize(
    ("step", "server", "verdict", "says"),
    [
        (Verdict.IMPROVED, 1.0, Verdict.IMPROVED, "improved: the metadata"),
        (Verdict.IMPROVED, 0.9, Verdict.IMPROVED, "improved: the metadata"),
        (Verdict.IMPROVED, 1.1, Verdict.UNKNOWN, "unknown: the levels contradict each other: in a live server"),
        (Verdict.REGRESSED, 0.9, Verdict.UNKNOWN, "unknown: the levels contradict each other: in a live server"),
        (Verdict.REGRESSED, 1.0, Verdict.REGRESSED, "regressed: the metadata"),
        (Verdict.SAME, 1.1, Verdict.REGRESSED, "regressed: in a live server tok/s is regressed (-8.1 %)"),
        (Verdict.UNKNOWN, 1.1, Verdict.REGRESSED, "regressed: in a live server"),
        (Verdict.SAME, 0.9, Verdict.SAME, "same: the metadata"),
        (Verdict.SAME, 1.0, Verdict.SAME, "same: the metadata"),
    ],
)
def test_the_step_leads_and_a_server_may_contradict_it(step, server, verdict, says):
    report = evidence(step=stepped(step), costs={}, device="cuda", server=served(server))
    assert report.verdict is verdict
    assert headline(report).startswith(says)
    assert headline(report).count("in a live server") == 1
    assert report.to_json()["verdict"] == verdict.value


def test_a_step_that_is_invalid_is_not_mended_by_a_server():
    unjudged = replace(row("16q1s1k", 1.0, Verdict.INVALID, primary=True), judgement=Judgement(Verdict.INVALID))
    report = evidence(step=StepResult((unjudged,), None), server=served(1.1))
    assert report.verdict is Verdict.INVALID and headline(report).startswith("invalid: ")


def test_a_server_with_too_few_launches_asks_for_more():
    again = "gdnbench serve pr51913.before pr51913.after --speculative mtp"
    steps = next_steps(evidence(server=served(1.1, launches=3), server_command=f"{again} --launches {{launches}}"))
    assert steps[0] == f"the live server: settle it with more launches: {again} --launches 7"


def test_a_report_without_a_server_says_so():
    assert "| live server | not judged |  |  |  | not measured here |" in render(evidence(), {})
    assert evidence().to_json()["server"] is None
    data = evidence(server=served()).to_json()["server"]
    assert data["verdict"] == "same" and data["identity"]["runner"]["after"] == "V1"


def test_hostile_lines_of_a_servers_log_are_inert():
    asked, line = plan(), "<script>compile</script> | `x` **y**"
    launches = [replace(one, servers=(replace(one.servers[0], notes=(line,)),)) for one in campaign(asked)]
    text = render(evidence(server=judge_serving(asked, launches)), {})
    assert "<script>" not in text and "&lt;script&gt;compile" in text


def test_the_servers_plot_is_written_whole(tmp_path):
    path = tmp_path / "deep" / "live-server.png"
    serving_ratios(served(), "51913", path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in path.parent.iterdir()] == ["live-server.png"]


def test_a_report_is_written_with_its_plots(tmp_path):
    report = write(evidence(server=served()), tmp_path)
    assert sorted(path.name for path in report.parent.iterdir()) == [
        "README.md", "description.md", "evidence.json", "index.html", "live-server.png", "step-time.png",
    ]  # fmt: skip
    assert "](live-server.png)" in report.read_text("utf-8")


def answered(verdict=Verdict.SAME, lost=1, gained=2, **changes):
    before, after = 260 / 300, (260 - lost + gained) / 300
    pair = Paired(260 - lost, 40 - gained, lost, gained)
    rows = tuple(
        AccuracyRow(
            metric="exact_match",
            filter=name,
            primary=name == "strict-match",
            documents=300,
            before=Score(before, 0.0197),
            after=Score(after, 0.0195),
            paired=pair,
            interval=((gained - lost) / 300 - 0.011, (gained - lost) / 300 + 0.013),
            p_value=0.0312,
            unpaired_p=0.9,
            significant=0.02,
            with_power=0.031,
            control=Paired(259, 39, 1, 1),
            verdict=verdict,
        )
        for name in ("strict-match", "flexible-extract")
    )
    result = AccuracyResult(
        task="word-problems",
        sides={"before": "pr51913.before", "after": "pr51913.after"},
        rows=rows,
        flips=(Flip("strict-match", "lost", "abc", "How <many> | pens?", "5+7=12\n#### 12", "#### 12", "#### 13"),),
        floor=0.01,
        coverage=Coverage({"before": (), "after": ()}, "steps without a prefill", {"before": 5123, "after": 5124}),
        invalid=(),
        warnings=(Caveat("unlike", "batch_size: 1 before, 2 after", "make it the same"),),
        identity={"releases": {"before": "0.29.0", "after": "0.29.0"}},
    )
    return replace(result, **changes)


def test_answers_beside_the_step():
    report = evidence(accuracy=answered())
    assert report.verdict is Verdict.IMPROVED
    assert "accuracy is same (86.7 % -> 87.0 % of 300 answers right)" in headline(report)
    golden("answers-beside-the-step.md", render(report, {}))


def test_a_faster_step_with_worse_answers_is_headlined_as_regressed():
    report = evidence(accuracy=answered(Verdict.REGRESSED, lost=60))
    assert report.verdict is Verdict.REGRESSED
    assert headline(report).startswith("regressed: accuracy got worse (86.7 % -> 67.3 %")
    assert "whatever its speed (improved:" in headline(report)
    assert any("look at the lost answers" in step for step in next_steps(report))


def test_invalid_answers_make_the_report_invalid():
    fault = Fault("never_ran", "the changed code never ran")
    report = evidence(accuracy=answered(invalid=(fault,)))
    assert report.verdict is Verdict.INVALID
    assert "never_ran: the changed code never ran" in headline(report)


def test_the_description_has_the_layout_that_authors_paste():
    report = evidence(server=served(), accuracy=answered(), elsewhere={})
    golden("a-description-to-paste.md", paste(report))


def test_multiples_and_costs_of_the_limit_stand_beside():
    plain = evidence()
    rows = tuple(replace(one, of_limit=(4.0, 3.2)) for one in plain.step.rows)
    limit = {next(iter(plain.costs)): {"16q1s1k": counts(device_ops=2)}}
    text = render(replace(plain, step=replace(plain.step, rows=rows), limit_counts=limit), {})
    assert "| of the limit |" in text and text.count("| 4.0 x -> 3.2 x |") == 2
    assert "| the limit | " in text
    assert "of the limit" not in render(plain, {})
