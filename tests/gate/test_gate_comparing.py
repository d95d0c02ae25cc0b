"""Runs held against each other: what differs, what only one side has, and what cannot be compared."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates import VARIANT, place, run
from gdnbench.gate.comparing import compare_costs
from gdnbench.gate.gate import hold
from gdnbench.values.errors import UserError
from gdnbench.values.gate import Presence, Selection
from gdnbench.values.verdicts import Verdict


def rows(before, after, may_be_gone=()):
    found = compare_costs(run(before), run(after), may_be_gone)
    return {row.place.scenario: (row.presence.value, row.verdict and row.verdict.value) for row in found}


def test_each_row_says_which_sides_have_it_and_what_that_means():
    before = {"q1s1k": {}, "16q1s1k": {}, "q2k": {}, "q9s1kd8": "ValueError: no", "16q9s1kd8": "no", "4q512s2k": {}}
    after = {"q1s1k": {}, "16q1s1k": {"syncs": 1}, "q2k": "TypeError: x", "q9s1kd8": {}, "16q9s1kd8": "no", "q128": {}}
    assert rows(before, after) == {
        "q1s1k": ("compared", "same"),
        "16q1s1k": ("compared", "regressed"),
        "q2k": ("newly failing", "regressed"),
        "q9s1kd8": ("fixed", "improved"),
        "16q9s1kd8": ("failing on both sides", "unknown"),
        "4q512s2k": ("gone", "invalid"),
        "q128": ("new", None),
    }


def test_a_benchmark_that_is_gone_fails_unless_it_may_be():
    assert rows({"q1s1k": {}, "q2k": {}}, {"q1s1k": {}})["q2k"] == ("gone", "invalid")
    assert rows({"q1s1k": {}, "q2k": {}}, {"q1s1k": {}}, ["pr51913.after build q2*"])["q2k"] == ("gone", None)


def test_a_new_row_that_fails_does_not_pass():
    assert rows({"q1s1k": {}}, {"q1s1k": {}, "q2k": "TypeError: x"})["q2k"] == ("new", "invalid")


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ({"q1s1k": {}}, {"q2k": {}}, "the baseline has 1 rows and this checkout 1, and none in common"),
        ({"q1s1k": {}}, {}, "the baseline has 1 rows and this checkout 0, and none in common"),
        ({}, {}, "neither side has a row"),
        ({"q1s1k": "ImportError: x"}, {"q1s1k": {}}, "fail in the baseline, pr51913.after build q1s1k: ImportError: x"),
        ({"q1s1k": "ImportError: x"}, {"q1s1k": "ImportError: x"}, "fail in the baseline"),
    ],
)
def test_where_nothing_can_be_compared_there_is_no_verdict(before, after, says):
    with pytest.raises(UserError, match="nothing compared: .*" + says):
        compare_costs(run(before), run(after))


def test_all_rows_newly_failing_is_a_verdict():
    assert set(rows({"q1s1k": {}, "q2k": {}}, {"q1s1k": "x", "q2k": "x"}).values()) == {("newly failing", "regressed")}


def test_counts_of_another_torch_are_invalid_and_both_versions_are_named():
    before, after = run({"q1s1k": {}}, torch="2.11.0+cpu"), run({"q1s1k": {"syncs": 1}})
    (row,) = compare_costs(before, after)
    assert row.verdict is Verdict.INVALID
    assert row.judgement is not None
    assert "torch 2.11.0+cpu, now 2.13.0+cpu" in row.judgement.reason


def test_exact_costs_gate_on_any_machine():
    other = {"cpu": "Another Processor", "cores": 64, "python": "3.13.1"}
    found = hold("base.json", run({"q1s1k": {}}, **other), run({"q1s1k": {}}))
    assert found.verdict is Verdict.SAME
    assert found.warnings == ()


def test_what_was_not_asked_for_is_no_row():
    now = run({"q1s1k": {}})
    asked = replace(now, selection=Selection((VARIANT,), None, ("q1s1k",)))
    (row,) = compare_costs(run({"q1s1k": {}, "q2k": {}}), asked)
    assert row.place == place("q1s1k")


def test_a_difference_under_another_harness_carries_a_caveat():
    before = run({"q1s1k": {}}, harness="c" * 64)
    assert [one.code for one in hold("x", before, run({"q1s1k": {"syncs": 1}})).warnings] == ["harness"]
    assert hold("x", before, run({"q1s1k": {}})).warnings == ()


def test_a_baseline_of_changed_files_says_so():
    (caveat,) = hold("x", run({"q1s1k": {}}, changed=True), run({"q1s1k": {}})).warnings
    assert caveat.code == "changed files"
    assert "0123456789ab" in caveat.message


def test_rows_that_a_reader_must_see_come_first_the_worst_before_all():
    before = {"q1s1k": {}, "16q1s1k": {}, "q2k": {}, "4q512s2k": {}, "q9s1kd8": {}}
    after = {"q1s1k": {}, "16q1s1k": {"device_ops": 9}, "q2k": {"device_ops": 16}, "4q512s2k": {"host_ops": 1}}
    found = hold("x", run(before), run(after))
    assert [row.place.scenario for row in found.rows] == ["q2k", "16q1s1k", "q9s1kd8", "4q512s2k", "q1s1k"]
    assert found.tally[Presence.GONE] == 1


class TestStepTimesOfAFile:
    US = (20.0, 20.3, 19.9, 20.1, 20.2, 19.8, 20.4, 20.0, 20.1, 20.2)

    def verdict(self, factor, **changes):
        slower = [factor * us for us in self.US]
        before, after = (run({"q1s1k": {}}, steps={"q1s1k": us}) for us in (self.US, slower))
        found = hold("x", replace(before, identity=replace(before.identity, **changes)), after)
        return next(row for row in found.rows if row.metric == "host_time")

    def test_only_a_whole_interval_beyond_the_floor_is_a_verdict(self):
        assert self.verdict(1.2).verdict is Verdict.REGRESSED
        assert self.verdict(1 / 1.2).verdict is Verdict.IMPROVED
        assert self.verdict(1.02).verdict is Verdict.UNKNOWN

    def test_every_verdict_says_that_the_order_was_not_balanced(self):
        judgement = self.verdict(1.2).judgement
        assert judgement is not None
        assert [one.code for one in judgement.warnings] == ["unbalanced"]

    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"cpu": "Another"}, "processor Another -> A Processor"),
            ({"cores": 64}, "cores 64 -> 2"),
            ({"torch": "2.11.0"}, "torch 2.11.0 -> 2.13.0"),
        ],
    )
    def test_another_machine_is_invalid_and_named(self, changes, says):
        row = self.verdict(1.2, **changes)
        assert row.verdict is Verdict.INVALID
        assert row.judgement is not None
        assert says in row.judgement.reason

    def test_what_only_one_side_has_is_shown(self):
        before = run({"q1s1k": {}}, steps={"q1s1k": list(self.US)})
        after = run({"q1s1k": {}}, steps={"q2k": list(self.US)})
        found = hold("x", before, after)
        assert {row.place.scenario: row.presence for row in found.rows if row.metric == "host_time"} == {
            "q2k": Presence.NEW
        }
        assert "pr51913.after build q1s1k" in found.warnings[0].message


NAMES = ("q1s1k", "16q1s1k", "q2k", "q9s1kd8")
COUNTED = st.fixed_dictionaries({"syncs": st.integers(0, 2), "device_ops": st.integers(0, 3)})
RUNS = st.dictionaries(st.sampled_from(NAMES), COUNTED | st.just("failed"))


@given(RUNS, RUNS)
def test_no_row_is_lost_and_swapped_sides_give_the_inverse(before, after):
    try:
        forward = {row.place: row for row in compare_costs(run(before), run(after))}
        back = {row.place: row for row in compare_costs(run(after), run(before))}
    except UserError as error:
        assert "nothing compared" in str(error)
        return
    assert set(forward) == set(back) == {place(name) for name in before.keys() | after.keys()}
    for where, row in forward.items():
        if row.presence is Presence.COMPARED:
            assert row.verdict is not None
            assert back[where].verdict is row.verdict.inverse
