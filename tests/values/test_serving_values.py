"""The values of a judged server campaign, made by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from gdnbench.values.coverage import Builds, Kind
from gdnbench.values.metrics import OUTPUT_THROUGHPUT, TTFT
from gdnbench.values.serving import Coverage, Decomposition, Fault, Part, ServeIdentity, ServeResult, ServeRow
from gdnbench.values.verdicts import Judgement, Verdict

SAME = Judgement(Verdict.SAME, 1.0, (0.995, 1.005), launches=7, smallest_detectable=0.011)
ROWS = tuple(
    ServeRow(at, metric, statistic, metric is OUTPUT_THROUGHPUT, 100.0, 100.0, SAME)
    for at in (1, 16)
    for metric, statistic in ((OUTPUT_THROUGHPUT, "rate"), (TTFT, "mean"))
)
IDENTITY = ServeIdentity(
    {"before": "pr51913.before", "after": "pr51913.after"}, {}, "switch", "0.29.0", "tiny-cpu", "tiny", (), {}, None,
    "cpu", {}, {}, 3, ((1, 1, 24),), {}, 64, {}, 7, {},
)  # fmt: skip
COVERAGE = Coverage({"after": (Builds(Kind.DECODE, False, 5, 57.0, None),)}, "any step", {"after": 5})
RESULT = ServeResult(IDENTITY, ROWS, ROWS[:1], (), COVERAGE, ())


@pytest.mark.parametrize(
    ("fault", "spoiled"),
    [
        (Fault("failed", "all"), [True, True, True, True]),
        (Fault("failed", "one load", 16), [False, False, True, True]),
        (Fault("impossible", "one metric", None, ("ttft",)), [False, True, False, True]),
        (Fault("impossible", "one row", 1, ("ttft",)), [False, True, False, False]),
    ],
)
def test_a_fault_spoils_the_rows_that_it_concerns(fault, spoiled):
    assert [fault.spoils(row) for row in ROWS] == spoiled


def test_any_fault_makes_the_campaign_invalid():
    assert RESULT.verdict is Verdict.SAME
    assert replace(RESULT, invalid=(Fault("no_samples", "of a latency", 1, ("ttft",)),)).verdict is Verdict.INVALID
    assert replace(RESULT, rows=()).verdict is Verdict.INVALID, "nothing was compared"


def test_a_secondary_row_never_decides():
    worse = replace(ROWS[1], judgement=replace(SAME, verdict=Verdict.REGRESSED))
    assert replace(RESULT, rows=(ROWS[0], worse, *ROWS[2:])).verdict is Verdict.SAME
    primary = replace(ROWS[2], judgement=replace(SAME, verdict=Verdict.REGRESSED))
    assert replace(RESULT, rows=(*ROWS[:2], primary, ROWS[3])).verdict is Verdict.REGRESSED


def test_rows_and_controls_are_found_by_what_they_are():
    assert RESULT.row(16) is ROWS[2]
    assert RESULT.row(1, TTFT, "mean") is ROWS[1]
    assert RESULT.control(ROWS[0]) is ROWS[0] and RESULT.control(ROWS[2]) is None
    with pytest.raises(KeyError, match="no p99 of ttft at concurrency 1"):
        RESULT.row(1, TTFT, "p99")


def test_the_rest_is_what_neither_factor_explains():
    split = Decomposition(1, Part(1.08), Part(1.02), Part(1.10))
    assert split.rest == pytest.approx(1.08 * 1.02 / 1.10)
    assert Decomposition(1, Part(1.08), Part(0.9), None).rest == pytest.approx(1.08 * 0.9)
    assert Decomposition(1, Part(1.08), None, Part(1.0)).rest is None
    assert replace(split, builds_alone=1.005).to_json()["builds_alone_ratio"] == 1.005


def test_json_has_no_number_that_json_cannot_write():
    broken = replace(ROWS[0], before=math.nan, after=math.inf)
    found = replace(RESULT, rows=(broken,), decomposition=(Decomposition(1, Part(math.inf), None, None),)).to_json()
    assert found["rows"][0]["before"] is None and found["rows"][0]["after"] is None
    assert found["decomposition"][0]["throughput_ratio"] is None
    assert found["smallest_detectable"] == {"1": 0.011}
    assert found["coverage"]["roles"]["after"][0]["kind"] == "decode"
    assert found["control"]["concurrency"] == 1
