import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdnbench.stats.exact import judge_counts
from gdnbench.values.metrics import COST_METRICS, Metric
from gdnbench.values.verdicts import Verdict

BEFORE = {
    "syncs": 2,
    "d2h": 2,
    "h2d_pageable": 0,
    "h2d_pinned": 3,
    "device_ops": 20,
    "alloc_bytes": 4096,
    "host_ops": 40,
}


def judged(**after):
    return judge_counts(BEFORE, {**BEFORE, **after})


def test_equal_counts_are_the_same():
    assert judged().verdict is Verdict.SAME


@pytest.mark.parametrize("tag", ["syncs", "d2h", "h2d_pageable", "h2d_pinned", "device_ops", "alloc_bytes"])
def test_any_difference_is_a_verdict(tag):
    assert judged(**{tag: BEFORE[tag] + 1}).verdict is Verdict.REGRESSED
    if BEFORE[tag]:
        assert judged(**{tag: BEFORE[tag] - 1}).verdict is Verdict.IMPROVED


def test_a_verdict_says_what_decided():
    found = judged(syncs=1, d2h=1, device_ops=18)
    assert (found.verdict, found.reason, found.ratio) == (Verdict.IMPROVED, "syncs 2 -> 1, d2h 2 -> 1", 0.5)
    assert found.warnings == () and found.p_value is None


def test_host_operations_alone_decide_nothing():
    for count in (39, 90):
        found = judged(host_ops=count)
        assert found.verdict is Verdict.UNKNOWN
        assert f"only host_ops 40 -> {count}" in found.reason


def test_host_operations_that_go_the_other_way_are_a_caveat():
    found = judged(device_ops=18, host_ops=90)
    assert found.verdict is Verdict.IMPROVED
    assert found.warnings[0].message == "device_ops 20 -> 18 at the price of host_ops 40 -> 90"


def test_a_sync_bought_with_fewer_operations_is_a_regression():
    found = judged(syncs=3, device_ops=10)
    assert found.verdict is Verdict.REGRESSED
    assert found.warnings[0].code == "trade-off"
    assert found.warnings[0].message == "syncs 2 -> 3 in exchange for device_ops 20 -> 10"


def test_a_trade_within_one_kind_is_unknown_and_named():
    assert judged(h2d_pinned=2, device_ops=22).verdict is Verdict.UNKNOWN
    assert judged(syncs=1, h2d_pageable=1).reason.startswith("a trade-off: syncs 2 -> 1, h2d_pageable 0 -> 1")


def test_a_count_that_was_zero_has_no_ratio():
    found = judged(h2d_pageable=1)
    assert (found.verdict, found.ratio, found.interval) == (Verdict.REGRESSED, None, None)


@pytest.mark.parametrize("count", [-1, 1.5, None, True])
def test_what_is_no_count_is_invalid(count):
    found = judged(device_ops=count)
    assert found.verdict is Verdict.INVALID
    assert "device_ops of the after side" in found.reason


def test_a_metric_of_which_more_is_better():
    hits = Metric("hits", "hits", "count", "exact", direction="higher", burden="work")
    assert judge_counts({"hits": 1}, {"hits": 2}, [hits]).verdict is Verdict.IMPROVED


counts = st.fixed_dictionaries({metric.tag: st.integers(0, 3) for metric in COST_METRICS})


@settings(deadline=None)
@given(counts, counts)
def test_swapping_the_sides_inverts_the_verdict(before, after):
    assert judge_counts(after, before).verdict is judge_counts(before, after).verdict.inverse


@settings(deadline=None)
@given(counts, counts)
def test_what_got_worse_is_always_said(before, after):
    found = judge_counts(before, after)
    if found.verdict is Verdict.IMPROVED:
        said = found.reason + "".join(caveat.message for caveat in found.warnings)
        assert all(f"{tag} {before[tag]} -> {after[tag]}" in said for tag in before if after[tag] > before[tag])
