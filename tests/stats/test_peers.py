import math

import numpy as np
import pytest

from gdnbench.stats.peers import RULES, asv, benchstat, mann_whitney, pyperf
from gdnbench.values.verdicts import Verdict


def pairs(sizes, seed=0, decimals=12):
    rng = np.random.default_rng(seed)
    for size in sizes:
        n, n_after = size if isinstance(size, tuple) else (size, size)
        for shift in (0, 0.02, 0.06, 0.15, -0.15):
            before = np.round(20 * np.exp(rng.normal(0, 0.05, n)), decimals)
            yield before, np.round(20 * np.exp(rng.normal(shift, 0.05, n_after)), decimals)


@pytest.mark.parametrize("factor", [1.1, 1.02])
@pytest.mark.parametrize("decimals", [12, 1])  # 1: ties
def test_asv_is_asv(factor, decimals):
    compare = pytest.importorskip("asv.commands.compare")
    compute_stats = pytest.importorskip("asv_runner.statistics").compute_stats
    seen = set()
    for before, after in pairs([2, 3, 5, 6, 7, 12, 20, 21, 60, (3, 40), *[(4, 8), (8, 4)] * 60], decimals=decimals):
        (value, stats), (value_after, stats_after) = (compute_stats(list(side), 1) for side in (before, after))
        old, new = (stats, list(before)), (stats_after, list(after))
        theirs = None
        if compare._is_result_better(value_after, value, new, old, factor):
            theirs = Verdict.IMPROVED
        elif compare._is_result_better(value, value_after, old, new, factor):
            theirs = Verdict.REGRESSED
        assert asv(before, after, factor) is theirs
        seen.add(theirs)
    assert seen == {None, Verdict.IMPROVED, Verdict.REGRESSED}


def test_asv_judges_one_value_by_the_factor():
    assert asv(np.array([1.0]), np.array([1.2])) is Verdict.REGRESSED
    assert asv(np.array([1.0]), np.array([1.05])) is None


def test_asv_never_flags_six_against_six_that_touch():
    six = np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.5])
    assert asv(six, six + 1.0) is None  # the 99 % interval of six values is infinite
    assert asv(np.append(six, 1.6), np.append(six, 1.6) + 1.0) is Verdict.REGRESSED


def test_pyperf_is_the_pooled_t_test():
    scipy = pytest.importorskip("scipy.stats")
    seen = set()
    for before, after in pairs([2, 5, 16, 40, 150]):
        p = scipy.ttest_ind(before, after).pvalue
        if 0.045 < p < 0.055:
            continue  # pyperf reads a rounded table
        significant = pyperf(before, after) is not None
        assert significant is bool(p < 0.05)
        seen.add(significant)
    assert seen == {True, False}


def test_pyperf_takes_what_it_cannot_test_for_significant():
    assert pyperf(np.array([1.0]), np.array([1.001])) is Verdict.REGRESSED
    assert pyperf(np.array([1.0, 1.0]), np.array([0.9, 0.9, 0.9])) is Verdict.IMPROVED
    assert pyperf(np.array([1.0, 1.0]), np.array([1.0, 1.0])) is None


@pytest.mark.parametrize("decimals", [12, 0])
def test_benchstat_is_mann_whitney(decimals):
    scipy = pytest.importorskip("scipy.stats")
    seen = set()
    for before, after in pairs([3, 4, 8, 30, 80], decimals=decimals):
        tied = decimals == 0
        method = "exact" if not tied and len(before) <= 50 else "asymptotic"
        p = scipy.mannwhitneyu(before, after, method=method).pvalue
        assert mann_whitney(before, after, exact=method == "exact", corrected=True) == pytest.approx(p)
        if np.median(before) != np.median(after):
            assert (benchstat(before, after) is not None) is bool(p <= 0.05)
            seen.add(benchstat(before, after) is not None)
    assert seen == {True, False}


def test_values_that_are_all_equal_are_no_change_to_anybody():
    same = np.full(10, 3.0)
    assert {rule(same, same) for rule in RULES.values()} == {None}


def test_separate_heaps_are_a_change_to_everybody():
    before, after = np.linspace(10, 11, 30), np.linspace(20, 21, 30)
    assert {rule(before, after) for rule in RULES.values()} == {Verdict.REGRESSED}
    assert {rule(after, before) for rule in RULES.values()} == {Verdict.IMPROVED}


def test_the_exact_distribution_at_its_smallest():
    p = mann_whitney(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), exact=True, corrected=True)
    assert p == pytest.approx(2 / math.comb(6, 3))
