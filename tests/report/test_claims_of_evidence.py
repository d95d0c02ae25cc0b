"""What was published of a change, and what a user claims of this measurement."""

from __future__ import annotations

import pytest
from test_markdown import answered

from gdn_impl.catalog import CATALOG
from gdnbench.report.claims import of_this_run, published
from gdnbench.serving.judged import judge_serving
from gdnbench.values.claims import parse_claim
from served import campaign, plan


def served(step=1.0):
    return judge_serving(plan(), campaign(plan(), step))


def found(text, step=1.0, accuracy=None):
    (one,) = of_this_run([parse_claim(text)], served(step), accuracy)
    return one


def test_published_claims_are_measured_elsewhere_and_set_beside_what_was_found_here():
    claims = {one.claim.text: one for one in published(CATALOG[51913], served())}
    assert {one.finding for one in claims.values()} == {"measured elsewhere"}
    at_one = claims["+7 % output throughput"].note
    assert "neither supports nor refutes" in at_one
    assert "here, in another setting, +0.1 % (same) at concurrency 1" in at_one
    assert "54 us x 30 KV groups, is 10 % of a step of 17 ms, which explains it" in at_one
    assert "explains" not in claims["+0.4 % output throughput"].note


def test_without_a_server_nothing_is_set_beside():
    assert all("here, in" not in one.note for one in published(CATALOG[51913], None))


@pytest.mark.parametrize(
    ("claim", "step", "finding"),
    [
        ("output_tps +7% @ concurrency=1", 1.0, "contradicted"),
        ("output_tps unchanged @ concurrency=1", 1.0, "supported"),
        ("output_tps -7.3% @ concurrency=16", 1.1, "supported"),
        ("output_tps -3% @ concurrency=16", 1.1, "not supported"),
        ("output_tps +9% @ concurrency=16", 1.1, "contradicted"),
        ("itl +10% @ concurrency=1", 1.1, "supported"),
        ("output_tps +7% @ concurrency=4", 1.0, "measured elsewhere"),
    ],
)
def test_a_claim_of_this_very_measurement_is_judged_by_it(claim, step, finding):
    assert found(claim, step).finding == finding


def test_a_claim_says_where_it_holds():
    note = found("output_tps unchanged @ concurrency=1").note
    assert "holds at concurrency 1" in note
    assert "16" in note


def test_claims_about_answers_are_held_against_the_answers():
    assert found("word-problems unchanged", accuracy=answered()).finding == "supported"
