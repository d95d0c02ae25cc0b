"""The grammar of scenarios: what is spelled is what is built, and what cannot happen is refused in one line."""

from __future__ import annotations

import pytest
from hypothesis import given

from gdnbench.values.scenarios import NAMED, Row, ScenarioError, named, parse
from strategies import captures, steps


@given(steps)
def test_a_scenario_is_its_name(scenario):
    assert parse(scenario.name) == scenario


@given(captures)
def test_a_capture_is_its_name(scenario):
    assert parse(scenario.name) == scenario


def test_the_named_scenarios_are_spelled_canonically():
    assert [scenario.name for scenario in named()] == list(NAMED)


def test_the_named_scenarios_meet_every_kind_of_step():
    kinds = {scenario.kind for scenario in named()}
    assert kinds == {"decode", "prefill", "mixed", "speculative", "speculative mixed"}
    for trait in (
        lambda s: s.padded_rows,
        lambda s: not s.staged,
        lambda s: s.runner == "V2",
        lambda s: s.kv_groups == 30,
        lambda s: s.capture,
        lambda s: s.asynchronous,
        lambda s: any(row.drafts == 0 for row in s.rows),
        lambda s: any(row.query_len == 1 and row.computed == 0 for row in s.rows),
    ):
        assert any(map(trait, named()))


def test_rows_are_put_into_the_runners_order():
    assert parse("q2k_15q1s1k").name == "15q1s1k_q2k"
    assert parse("q200_q1s50p60_q1s1k_2q300s1k/v2").name == "q1s50p60_q1s1k_q200_2q300s1k/v2"


def test_defaults_of_the_prompt_length():
    decode, extend, first, drafted = (parse(text).rows[0] for text in ("q1s1k", "q8s1k", "q1s1", "q9s1kd8"))
    assert (decode.is_prefilling, extend.is_prefilling, first.is_prefilling) == (False, True, True)
    assert drafted == Row(9, 1015, 1015, 8)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "cannot read ''"),
        ("16z", "cannot read '16z'"),
        ("0q1s1k", "asks for 0 rows"),
        ("4000q1s1k", "asks for 4000 rows"),
        ("q5s2", "sequence shorter than its query"),
        ("q1s1kd8", "a query of 9, not 1"),
        ("q1s1kd0", "add /spec<n>"),
        ("q1s1kd0/spec8/v2", "never 0"),
        ("q2k_3pad", "padding occurs in graph batches only"),
        ("q1s1k_q9s1k/capture", "rows of one length"),
        ("q1s1k/async", "there is none"),
        ("q1s1k/foo", "unknown option /foo"),
        ("q9999999", "tokens"),
        ("q1s1k" * 1000, "4,096 characters"),
    ],
)
def test_what_cannot_happen_is_refused_in_one_line(text, why):
    with pytest.raises(ScenarioError) as caught:
        parse(text)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
