"""The release history that runs tell: a chain, pairs apart, counts; the newest run of each counts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from gdnbench.campaign.chain import chain, judge_chain
from gdnbench.history.of_chain import chain_run
from gdnbench.history.releases import in_order, release_history
from gdnbench.values.series import ANYWHERE
from gdnbench.values.verdicts import Verdict
from kept import history, point, run, series
from made_chains import launches

RELEASES = ("0.9.2", "0.29.0", "0.30.0", "0.31.0")
SCENARIOS = ("q2k", "16q1s1k", "15q1s1k_q2k")
FACTORS = {"vllm@0.30.0": {"16q1s1k": 0.8}, "vllm@0.31.0": {"16q1s1k": 2.7, "q2k": 1.2}}


def chained(releases=RELEASES, factors=FACTORS):
    plan = chain([f"vllm@{release}" for release in releases], SCENARIOS, launches=12)
    return chain_run(judge_chain(plan, launches(plan, factors)))


def pair(before: str, after: str, value: float, token: str, **more):
    key = series(variant=f"vllm@{after}", against=f"vllm@{before}", setting="a process each 0")
    given = {"unit": "ratio", "verdict": Verdict.IMPROVED, "interval": (value - 0.01, value + 0.01), **more}
    return run(token, point(value, series=key, **given), change=None)


def counted(release: str, value: int, token: str, load: str = "16q1s1k", **more):
    where = {"device": "traced", "hardware": "", "machine": ANYWHERE, "setting": "", "statistic": "count"}
    key = series(variant=f"vllm@{release}", metric="device_ops", load=load, **where)
    return run(token, point(value, series=key, unit="count", assumption="exact", **more), change=None, kind="cost")


def test_a_chain_is_one_run_with_a_point_for_each_pair_and_each_release() -> None:
    found = chained()
    assert found.verdict is Verdict.REGRESSED
    ratios = {(one.series.against, one.series.variant) for one in found.points if one.series.against}
    links = {(f"vllm@{before}", f"vllm@{after}") for before, after in pairwise(RELEASES)}
    first = {("vllm@0.9.2", f"vllm@{after}") for after in ("0.9.2", "0.30.0", "0.31.0")}
    assert ratios == links | first
    own = [one for one in found.points if not one.series.against]
    assert len(own) == len(RELEASES) * len(SCENARIOS)
    assert all(len(one.samples) == 12 for one in found.points)
    (control,) = (one for one in found.points if one.series.against == one.series.variant and one.series.load == "q2k")
    assert control.verdict is None and control.value == pytest.approx(1, abs=0.01)


def test_releases_from_a_chain(tmp_path: Path) -> None:
    opened = history(tmp_path)
    name, _ = opened.record(chained())
    found = release_history(opened)
    assert found.releases == RELEASES, "0.9.2 is older than 0.29.0"
    assert [(load.scenario, load.kind) for load in found.loads] == [
        ("16q1s1k", "decode"),
        ("q2k", "prefill"),
        ("15q1s1k_q2k", "mixed"),
    ]
    decode, prefill, mixed = found.loads
    assert [step.is_shift for step in decode.steps] == [False, True, True]
    assert [step.is_shift for step in prefill.steps] == [False, False, True]
    assert [step.verdict for step in mixed.steps] == [Verdict.SAME] * 3
    assert {step.run for step in decode.steps} == {name}
    assert decode.levels(found.releases)["0.31.0"] == pytest.approx(0.8 * 2.7, rel=0.02)
    assert decode.whole is not None
    assert decode.whole.ratio == pytest.approx(0.8 * 2.7, rel=0.01), "measured directly, and the chain agrees"
    assert not found.missing
    assert found.machine == "2 cores of A Processor, Linux, python 3.12, torch 2.13.0"


def test_the_newest_run_of_a_pair_counts_and_missing_pairs_are_named(tmp_path: Path) -> None:
    opened = history(tmp_path)
    opened.record(pair("0.29.0", "0.30.0", 0.9, "a"))
    opened.record(pair("0.29.0", "0.30.0", 0.8, "b"))
    opened.record(counted("0.31.0", 2, "c"))
    found = release_history(opened)
    (load,) = found.loads
    assert [step.ratio for step in load.steps] == [0.8]
    assert found.missing == ("0.30.0 -> 0.31.0: no run compares their step time",)
    assert load.levels(found.releases) == {"0.29.0": 1.0, "0.30.0": 0.8}


def test_counts_at_each_release(tmp_path: Path) -> None:
    opened = history(tmp_path)
    for number, (release, value) in enumerate([("0.27.0", 4), ("0.28.0", 3), ("0.28.0", 2)]):
        opened.record(counted(release, value, f"{number}"))
    opened.record(counted("0.28.0", 9, "invalid", invalid="the metadata differ"))
    opened.record(counted("0.28.0", 9, "no scenario", load="c16"))
    (load,) = release_history(opened).loads
    assert load.counts == {"device_ops": {"0.27.0": 4, "0.28.0": 2}}


def test_what_is_no_release_as_it_was_published_is_left_out(tmp_path: Path) -> None:
    opened = history(tmp_path)
    opened.record(pair("0.29.0", "0.29.0+5us", 1.3, "handicap"))
    opened.record(run("ours"))
    found = release_history(opened)
    assert (found.releases, found.loads) == ((), ())


def test_an_invalid_pair_ends_the_chain_of_levels(tmp_path: Path) -> None:
    opened = history(tmp_path)
    opened.record(pair("0.29.0", "0.30.0", 0.9, "a", verdict=Verdict.INVALID, interval=None, invalid="why"))
    opened.record(pair("0.30.0", "0.31.0", 2.7, "b", verdict=Verdict.REGRESSED))
    (load,) = release_history(opened).loads
    assert load.levels(("0.29.0", "0.30.0", "0.31.0")) == {"0.29.0": 1.0}
    found = release_history(opened).to_json()["loads"][0]
    assert [step["shift"] for step in found["steps"]] == [False, True]


def test_order_of_releases() -> None:
    assert in_order(["0.10.0", "0.9.2.post2", "0.9.2", "0.10.0"]) == ("0.9.2", "0.9.2.post2", "0.10.0")
