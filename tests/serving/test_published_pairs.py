"""Pairs of blocks that people published, told as campaigns of one launch: a sound pair passes, the others do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gdnbench.serving.judged import judge_serving
from gdnbench.serving.plan import Load
from gdnbench.serving.records import Acceptance, Pooled
from gdnbench.values.metrics import ITL, OUTPUT_THROUGHPUT, TTFT
from gdnbench.values.verdicts import Verdict
from served import launch, plan

DFLASH = {"method": "dflash", "num_speculative_tokens": 8}
# Concurrency, requests, tokens in; seconds, tok/s out and in all, then mean, median and p99 of TTFT, TPOT and ITL.
ALONE, CROWDED = (1, 60, 16_410), (16, 960, 227_546)
FIRST = (91.14, 197.50, 377.56, (137.76, 134.03, 739.05), (4.62, 4.36, 15.52), (15.80, 15.82, 16.41))
SECOND = (84.28, 213.58, 408.29, (112.45, 130.62, 138.45), (4.32, 4.42, 5.97), (16.06, 16.05, 16.51))
BEFORE = (206.67, 1393.52, 2494.53, (209.36, 193.29, 414.69), (10.76, 10.80, 17.09), (38.40, 22.08, 156.83))
AFTER = (184.12, 1564.18, 2800.03, (179.13, 168.03, 363.03), (9.62, 9.61, 15.26), (34.32, 21.51, 139.09))


def published(load, before, after, tokens_per_step):
    """One launch of the published setting: before, after, and no control."""
    concurrency, requests, tokens = load
    asked = plan(
        "pr52078.before", "pr52078.after", method="apart", speculative=DFLASH, loads=((concurrency, requests, 1),),
        launches=1, output_len=300,
    )  # fmt: skip
    one = launch(asked, 1)
    blocks = tuple(
        block(one_block, tokens, figures, length)
        for one_block, figures, length in zip(one.blocks, (before, after), tokens_per_step, strict=True)
    )
    pooled = tuple(
        Pooled(b.role, concurrency, tag, b.samples[tag], b.figures[f"p99_{tag}_ms"], b.figures[f"p99_{tag}_ms"])
        for b in blocks
        for tag in ("ttft", "tpot", "itl", "e2el")
    )
    assert asked.loads == (Load(concurrency, requests, 1),)
    return judge_serving(asked, [replace(one, blocks=blocks, pooled=pooled)])


def block(sound, tokens, figures, length):
    seconds, rate, total, *latencies = figures
    found = {"output_throughput": rate, "total_token_throughput": total, "request_throughput": sound.sent / seconds}
    latencies.append(tuple(ttft + 299 * tpot for ttft, tpot in zip(*latencies[:2], strict=True)))
    for tag, (mean, median, p99) in zip(("ttft", "tpot", "itl", "e2el"), latencies, strict=True):
        found |= {f"mean_{tag}_ms": mean, f"median_{tag}_ms": median, f"p99_{tag}_ms": p99}
    found |= {
        "max_output_tokens_per_s": 64.0,
        "max_concurrent_requests": 25.0,
    }  # peaks count chunks: no cause for alarm
    steps = round(sound.sent * 299 / length)
    return replace(
        sound,
        duration_s=seconds,
        input_tokens=tokens,
        output_tokens=300 * sound.sent,
        figures=found,
        samples={**sound.samples, "itl": steps},
        acceptance=Acceptance(steps, 8 * steps, round(steps * (length - 1))),
    )


def test_a_sound_pair_passes():
    """Case 58: ITL above TPOT, peaks below the mean and a high p99 are as they should be."""
    result = published(CROWDED, BEFORE, AFTER, (38.40 / 10.76, 34.32 / 9.62))
    assert result.invalid == () and result.warnings == ()
    row = result.row(16)
    assert row.judgement.ratio == pytest.approx(1.1225, abs=1e-3)
    assert row.judgement.verdict is Verdict.UNKNOWN and row.judgement.interval is None, "one run a side"
    assert row.judgement.more_launches == 5
    (split,) = result.decomposition
    assert split.step_time.ratio == pytest.approx(1 - 0.106, abs=1e-3)
    assert split.acceptance.ratio == pytest.approx(1.0, abs=2e-3)
    assert split.leads == "throughput"
    assert result.row(16, TTFT, "mean").judgement.ratio == pytest.approx(1 - 0.144, abs=1e-3)


def test_a_gain_of_acceptance_is_not_one_of_the_builder():
    """Case 57: +8.1 % throughput, of which the step time has none."""
    result = published(ALONE, FIRST, SECOND, (15.80 / 4.62, 1 + 8 * 0.3434))
    assert [fault.code for fault in result.invalid] == ["acceptance"]
    (split,) = result.decomposition
    assert split.throughput.ratio == pytest.approx(1.081, abs=1e-3)
    assert split.step_time.ratio == pytest.approx(1.016, abs=1e-3)
    assert split.acceptance.ratio == pytest.approx(1.095, abs=2e-3)
    assert split.leads == "step_time"
    assert result.row(1).judgement.verdict is Verdict.INVALID
    assert result.row(1, ITL, "mean").judgement.verdict is not Verdict.INVALID


def test_the_p99_of_sixty_requests_is_one_of_them():
    """Case 56: one slow request moves mean and p99."""
    result = published(ALONE, SECOND, FIRST, (1 + 8 * 0.3434, 1 + 8 * 0.3434))
    slowest = result.row(1, TTFT, "p99")
    assert slowest.after == 739.05 and slowest.judgement.verdict is Verdict.UNKNOWN
    assert slowest.judgement.reason.startswith("p99 = max of 60 samples, no verdict")
    assert any(caveat.code == "skewed" for caveat in result.row(1, TTFT, "mean").judgement.warnings)
    assert result.row(1, OUTPUT_THROUGHPUT).judgement.verdict is Verdict.UNKNOWN
