"""What people published, through the reader: what it shows, and that one run a side shows no more."""

from __future__ import annotations

import json

import pytest

from gdnbench.report.check_words import headline
from gdnbench.values.claims import Support
from gdnbench.values.verdicts import Verdict
from pasted import AFTER, BEFORE, FAST_ALONE, SLOW_ALONE, asked, block, codes

PUBLISHED_51913 = """
## Benchmark

| Concurrency | Before (tok/s) | After (tok/s) | Change |
|---:|---:|---:|---:|
| 1 | 184.07 | 197.50 | +7.3% |
| 16 | 1381.58 | 1386.45 | +0.35% |

## lm-eval

| Task | Before | After |
|---|---|---|
| gsm8k | 0.3472 | 0.3533 |
"""


def test_the_published_figures_of_51913_are_unknown_and_nothing_more():
    found = asked(PUBLISHED_51913)
    alone, crowded, answers = found.pairs
    for pair, concurrency, change in ((alone, 1, 0.0730), (crowded, 16, 0.0035)):
        row = pair.row("output_throughput")
        assert pair.concurrency == concurrency and pair.validity == "valid"
        assert row.after / row.before - 1 == pytest.approx(change, abs=5e-5)
        assert row.judgement.verdict is Verdict.UNKNOWN and row.judgement.interval is None
        assert row.judgement.more_launches == 6, "seven runs are the fewest for one of two rows"
        assert pair.verdict is Verdict.UNKNOWN
        shown = "+7.3 %" if concurrency == 1 else "+0.35 %"
        assert headline(pair).startswith(
            f"unknown at concurrency {concurrency}: output throughput {shown}; too few runs"
        )
        assert pair.decomposition.step_time is None and pair.decomposition.acceptance is None
    row = answers.row("exact_match") if answers.group == "exact_match" else answers.rows[0]
    assert (row.before, row.after) == (0.3472, 0.3533)
    assert answers.verdict is Verdict.UNKNOWN
    assert (
        "no difference that this size could show: judged without pairing, which is weaker: "
        "3.6 points would be significant here" in row.judgement.reason
    )
    assert answers.answers.primary.documents == 1319
    assert any("1,319 documents are taken for granted" in one.message for one in answers.warnings)
    assert found.verdict is Verdict.UNKNOWN


def test_the_claims_of_51913_are_told_where_they_hold():
    seven, small, same, saving = asked(
        PUBLISHED_51913, "output_tps +7% @ concurrency=1", "output_tps +0.4% @ c=16", "gsm8k unchanged", "build -54us"
    ).claims
    assert seven.finding is Support.NOT_SUPPORTED
    assert "+7.30%" in seven.note and "1 run a side cannot tell that from chance" in seven.note
    assert "within noise at concurrency 16 (+0.35%)" in seven.boundary
    assert small.finding is Support.BEYOND and "within the floor of 1 %" in small.note
    assert same.finding is Support.BEYOND and "3.6 points" in same.note
    assert saving.finding is Support.ELSEWHERE


def test_a_sound_pair_passes():
    """ITL above TPOT, peaks below the mean and a high p99 are as they should be."""
    found = asked(f"Main:\n```\n{block(BEFORE)}```\nThis PR:\n```\n{block(AFTER)}```\n")
    (pair,) = found.pairs
    assert [record.side for record in found.records] == ["before", "after"]
    assert [record.why for record in found.records] == ["label 'Main'", "label 'This PR'"]
    assert all(record.faults == () and record.warnings == () for record in found.records)
    assert pair.validity == "valid" and pair.reasons == () and pair.concurrency == 16
    assert pair.decomposition.throughput.ratio == pytest.approx(1.122, abs=5e-4)
    assert pair.decomposition.step_time.ratio == pytest.approx(1 - 0.106, abs=5e-4)
    assert pair.decomposition.acceptance.ratio == pytest.approx(1.0, abs=1e-3)
    assert pair.decomposition.leads == "throughput"
    assert pair.acceptance.startswith("acceptance is not printed") and pair.acceptance.endswith("unchanged")
    assert pair.verdict is Verdict.UNKNOWN and pair.row("output_throughput").judgement.more_launches == 5
    assert codes(pair.warnings) == ["one-run", "mean-and-median"]
    (remark,) = (one.message for one in pair.warnings if one.code == "mean-and-median")
    assert remark == "mean ITL changed by -10.6%, its median by -2.6% only"
    assert headline(pair).startswith(
        "unknown at concurrency 16: output throughput +12.2 % (step time -10.6 %, TTFT -14.4 %, acceptance unchanged); "
        "too few runs: 1"
    )


def test_a_gain_of_acceptance_is_not_one_of_the_builder():
    (pair,) = asked(f"before\n{block(SLOW_ALONE)}\nafter\n{block(FAST_ALONE)}").pairs
    assert pair.validity == "invalid" and codes(pair.reasons) == ["acceptance"]
    split = pair.decomposition
    assert split.throughput.ratio == pytest.approx(1.081, abs=5e-4)
    assert split.step_time.ratio == pytest.approx(1.016, abs=5e-4)
    assert split.acceptance.ratio == pytest.approx(1.087, abs=5e-4)
    assert split.leads == "step_time" and split.verdict is Verdict.UNKNOWN
    assert pair.row("output_throughput").judgement.verdict is Verdict.INVALID
    assert pair.row("mean_itl_ms").judgement.verdict is Verdict.UNKNOWN
    assert "the change is acceptance's, and each step is 1.6 % slower" in headline(pair)


def test_the_p99_of_sixty_requests_is_one_of_them():
    (pair,) = asked(f"before\n{block(FAST_ALONE)}\nafter\n{block(SLOW_ALONE)}").pairs
    slowest = pair.row("p99_ttft_ms")
    assert slowest.after == 739.05
    assert slowest.judgement.verdict is Verdict.UNKNOWN and slowest.judgement.more_launches is None
    assert slowest.judgement.reason == "p99 = max of 60 samples, no verdict: 100 are the fewest"
    assert codes(pair.row("mean_tpot_ms").judgement.warnings) == ["skewed"]
    assert pair.row("p99_itl_ms").judgement.reason.startswith("too few runs"), "ITL has a sample for each step"


def test_a_saving_explains_a_claim_or_not_by_the_number_of_groups():
    text = f"before\n{block(SLOW_ALONE)}\nafter\n{block({**SLOW_ALONE, 'output_throughput': 211.33})}"
    claim, saving = ("output_tps +7% @ c=1", "build -54us")
    both, _ = asked(text, claim, saving).claims
    assert "54 us x 1 KV group is 0.3% of a step of 15.8 ms, which does not explain it" in both.note
    assert "54 us x 30 KV groups is 10.3% of a step of 15.8 ms, which explains it" in both.note
    known, _ = asked(text, claim, saving, groups=30).claims
    assert "1 KV group" not in known.note and "which explains it" in known.note


def test_several_runs_a_side_are_judged():
    before = [{**BEFORE, "output_throughput": 1393.52 + n, "duration": 288_000 / (1393.52 + n)} for n in range(6)]
    after = [{**AFTER, "output_throughput": 1564.18 + n, "duration": 288_000 / (1564.18 + n)} for n in range(6)]
    for runs in (before, after):
        for found in runs:
            found["total_token_throughput"] = 515_546 / found["duration"]
            found["request_throughput"] = 960 / found["duration"]
    text = "".join(f"before\n{block(one)}\nafter\n{block(two)}\n" for one, two in zip(before, after, strict=True))
    (pair,) = asked(text).pairs
    assert pair.runs == 6 and pair.verdict is Verdict.IMPROVED
    (claim,) = asked(text, "output_tps +12% @ c=16").claims
    assert claim.finding is Support.SUPPORTED
    (too_large,) = asked(text, "output_tps +20% @ c=16").claims
    assert too_large.finding is Support.NOT_SUPPORTED and "the direction holds, the size does not" in too_large.note
    (wrong,) = asked(text, "output_tps -5%").claims
    assert wrong.finding is Support.CONTRADICTED
    (absent,) = asked(text, "output_tps +12% @ c=1").claims
    assert absent.finding is Support.ELSEWHERE


def test_the_json_has_its_names_and_no_infinity():
    found = asked(f"Main:\n{block(BEFORE)}\nThis PR:\n{block(AFTER)}").to_json()
    text = json.dumps(found, allow_nan=False)
    record, pair = json.loads(text)["records"][1], json.loads(text)["pairs"][0]
    assert {"source", "side", "kind", "concurrency", "metrics", "warnings"} <= record.keys()
    assert record["metrics"]["output_throughput"] == 1564.18 and record["metrics"]["mean_itl_ms"] == 34.32
    assert {"concurrency", "validity", "reasons", "decomposition", "rows", "verdict"} <= pair.keys()
    assert pair["decomposition"]["step_time_ratio"] == pytest.approx(0.894, abs=5e-4)
    assert pair["rows"][0]["metric"] == "output_throughput"
