"""Server campaigns judged: sound ones pass, and what is slower or faster is found."""

from __future__ import annotations

import pytest

from gdnbench.serving.judged import judge_serving
from gdnbench.values.verdicts import Verdict
from served import MTP, campaign, plan

RELEASES = {"method": "apart", "releases": ("0.30.0", "0.31.0")}


@pytest.mark.parametrize(
    ("asked", "step", "verdict"),
    [
        (plan(), 1.0, Verdict.SAME),
        (plan(), 1.03, Verdict.REGRESSED),
        (plan(speculative=MTP), 0.97, Verdict.IMPROVED),
        (plan("pr51913.after", "pr51913.after+100us"), 1.06, Verdict.REGRESSED),
        (plan(method="apart"), 1.0, Verdict.SAME),
        (plan("vllm@0.30.0", "vllm@0.31.0", **RELEASES), 1.05, Verdict.REGRESSED),
    ],
)
def test_a_sound_campaign_comes_to_its_verdict(asked, step, verdict):
    result = judge_serving(asked, campaign(asked, step))
    assert result.verdict is verdict
    assert result.invalid == () and result.warnings == ()
    assert [(row.concurrency, row.metric.tag) for row in result.primary] == [
        (1, "output_throughput"),
        (16, "output_throughput"),
    ]
