"""Whole campaigns that were measured: a handicap of 100 us per build is found in each, identical code in none."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdnbench.serving.judged import judge_serving
from gdnbench.serving.judging.observation import judge_observation
from gdnbench.serving.recording import load
from gdnbench.values.metrics import E2EL, OUTPUT_THROUGHPUT, TOTAL_THROUGHPUT, TPOT, TTFT
from gdnbench.values.verdicts import Verdict

KEPT = Path(__file__).parents[2] / "datasets" / "serving"


def judged(path: Path):
    return judge_serving(*load(path))


@pytest.mark.parametrize("path", sorted(KEPT.glob("handicap-*.json.gz")), ids=lambda path: path.name)
def test_a_handicap_is_found(path):
    found = judged(path)
    (row,) = found.primary
    assert found.verdict is row.judgement.verdict is Verdict.REGRESSED
    assert row.judgement.interval[1] < 1
    assert abs(found.control(row).judgement.ratio - 1) < 0.02
    median = {role: max(builds, key=lambda one: one.builds).median_us for role, builds in found.coverage.builds.items()}
    assert 90 < median["after"] - median["before"] < 140


@pytest.mark.parametrize("path", sorted(KEPT.glob("identical-*.json.gz")), ids=lambda path: path.name)
def test_identical_code_is_not(path):
    found = judged(path)
    assert not found.invalid
    assert found.verdict in (Verdict.SAME, Verdict.UNKNOWN)
    assert found.primary[0].judgement.smallest_detectable < 0.03


@pytest.mark.parametrize(
    "path", sorted([*KEPT.glob("handicap-*"), *KEPT.glob("identical-*")]), ids=lambda path: path.name
)
def test_the_shown_figures_of_a_side_agree_with_each_other(path):
    found = judged(path)
    concurrency = found.primary[0].concurrency
    tokens, total = (found.row(concurrency, metric) for metric in (OUTPUT_THROUGHPUT, TOTAL_THROUGHPUT))
    assert total.before / tokens.before == pytest.approx(total.after / tokens.after, rel=1e-9), "the same requests"
    ttft, tpot, whole = (found.row(concurrency, metric, "mean") for metric in (TTFT, TPOT, E2EL))
    length = 32
    for side in ("before", "after"):
        first, rest, all_of_it = (getattr(row, side) for row in (ttft, tpot, whole))
        # A request whose tokens came all at once has no time between them, and is left out of that mean alone.
        assert first + (length - 1) * rest == pytest.approx(all_of_it, rel=0.01)


def test_there_are_some_of_each():
    names = {path.name.partition("-")[0] for path in KEPT.glob("*.json.gz")}
    assert names == {"handicap", "identical", "observation"}
    for kind in ("handicap", "identical"):
        assert len(list(KEPT.glob(f"{kind}-*-c1.json.gz"))) == len(list(KEPT.glob(f"{kind}-*-c16.json.gz"))) == 3


def test_observing_costs_less_than_half_a_percent():
    found = judge_observation(*load(KEPT / "observation-1-c1.json.gz"))
    assert found.judgement.verdict is Verdict.SAME
    assert found.judgement.interval[1] < 1.005
    assert found.control.verdict is Verdict.SAME


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.json.gz")), ids=lambda path: path.name)
def test_they_name_no_place_of_the_machine_that_measured(path):
    plan, launches = load(path)
    assert plan.server.model == "datasets/tiny-gdn"
    assert all(not word.startswith("/") for one in launches for word in one.servers[0].command)
