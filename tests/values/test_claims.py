"""The grammar of claims, and what it makes of them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdnbench.values.claims import parse_claim
from gdnbench.values.errors import UserError


@pytest.mark.parametrize(
    ("text", "metric", "ratio", "concurrency"),
    [
        ("output_tps +7% @ concurrency=1", "output_throughput", 1.07, 1),
        ("output_throughput +7 %", "output_throughput", 1.07, None),
        ("tok/s 184.07 -> 197.50 @ c=1", "output_throughput", 197.5 / 184.07, 1),
        ("tok/s 184.07 → 197.50 tok/s", "output_throughput", 197.5 / 184.07, None),
        ("itl x0.9 @ bs16", "mean_itl_ms", 0.9, 16),
        ("step_time -10.6% @ 16", None, None, None),
        ("mean_itl_ms -10.6% @ concurrency 16", "mean_itl_ms", 0.894, 16),
        ("p99_ttft -5%", "p99_ttft_ms", 0.95, None),
        ("tpot about -3%", "mean_tpot_ms", 0.97, None),
        ("output_tps up to +1%", "output_throughput", 1.01, None),
        ("gsm8k unchanged", "gsm8k", 1.0, None),
        ("output_tps 1.5x", "output_throughput", 1.5, None),
    ],
)
def test_claims_are_read(text, metric, ratio, concurrency):
    if metric is None:
        with pytest.raises(UserError, match="is no place"):
            parse_claim(text)
        return
    claim = parse_claim(text)
    assert (claim.metric, claim.concurrency) == (metric, concurrency)
    assert claim.ratio == pytest.approx(ratio) and claim.difference is None


@pytest.mark.parametrize(
    ("text", "difference", "unit", "before", "ratio"),
    [
        ("build -54us", -54, "us", None, None),
        ("itl -1.6ms @ c=1", -1.6, "ms", 16.0, 0.9),
        ("ttft -500us", -500, "us", 5.0, 0.9),
        ("output_tps +10 tok/s", 10, "tok/s", 100.0, 1.1),
        ("gsm8k +0.6 points", 0.6, "points", 0.35, None),
    ],
)
def test_differences_are_ratios_of_what_was_before(text, difference, unit, before, ratio):
    claim = parse_claim(text)
    assert (claim.ratio, claim.difference, claim.unit) == (None, difference, unit)
    found = claim.ratio_from(before)
    assert found is None if ratio is None else found == pytest.approx(ratio)


@pytest.mark.parametrize(
    "text",
    [
        "", "output_tps", "+7%", "output_tps faster", "output_tps +7", "output_tps -100%", "output_tps -200%",
        "output_tps x0", "output_tps 0 -> 5", "output_tps +7% @ moon", "build -5%", "output_tps 7%%", "a 5 -> 0",
    ],
)  # fmt: skip
def test_what_is_no_claim_is_one_line_with_an_example(text):
    with pytest.raises(UserError, match="for example") as refusal:
        parse_claim(text)
    assert "\n" not in str(refusal.value)


@given(st.text(max_size=60))
def test_no_text_makes_a_traceback(text):
    with suppress(UserError):
        parse_claim(text)
