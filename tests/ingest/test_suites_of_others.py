"""asv's result files and those of github-action-benchmark: failures, gaps, changed benchmarks, directions."""

from __future__ import annotations

import json
import math

import pytest

from gdnbench.ingest.check import Question, check
from gdnbench.values.errors import UserError
from gdnbench.values.verdicts import Verdict
from pasted import asked, codes

COLUMNS = ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25",
           "stats_q_75", "stats_number", "stats_repeat", "samples", "profile"]  # fmt: skip
CONCURRENCY = [["1", "16"]]


def row(result, params=(), version="1", **more):
    """A row as asv writes it: cut off behind the last column that is not null."""
    cells = [result, [list(one) for one in params], version, 0, 1.0, *[more.get(name) for name in COLUMNS[5:]]]
    while cells[-1] is None:
        cells.pop()
    return cells


def asv(results, **more):
    start = {
        "commit_hash": "7e5365f04650d596688263dba9c0b013a9111dff", "env_name": "virtualenv-py3.11", "date": 1,
        "params": {"machine": "m", "cpu": "c"}, "python": "3.11", "result_columns": COLUMNS, "results": results,
        "durations": {}, "version": 2,
    }  # fmt: skip
    return start | more


def pair_of(before, after, **options):
    (pair,) = asked([before, after], **options).pairs
    return pair


def test_null_is_a_failure_and_nan_is_skipped():
    record = asked([asv({
        "s.time_build": row([None, 1.97e-7], CONCURRENCY),
        "s.time_step": row([math.nan, 1e-3], CONCURRENCY),
        "s.time_gone": row(None, CONCURRENCY),
        "s.time_one": [[2e-3]],
        "s.time_null": None,
    })]).records[0]  # fmt: skip
    assert dict(record.metrics) == {"s.time_build(16)": 1.97e-7, "s.time_step(16)": 1e-3, "s.time_one": 2e-3}
    assert dict(record.absent) == {
        "s.time_build(1)": "failed", "s.time_step(1)": "skipped", "s.time_gone(1)": "failed",
        "s.time_gone(16)": "failed", "s.time_null": "failed",
    }  # fmt: skip
    text = json.dumps(asked([asv({"s.time_step": row([math.nan], [["1"]])})]).to_json(), allow_nan=False)
    assert "NaN" not in text


def test_values_lie_along_the_product_of_the_parameters():
    record = asked([asv({"s.track_x": row([1, 2, 3, 4], [["'a'", "'b'"], ["1", "2"]])})]).records[0]
    assert dict(record.metrics) == {
        "s.track_x('a', 1)": 1, "s.track_x('a', 2)": 2, "s.track_x('b', 1)": 3, "s.track_x('b', 2)": 4,
    }  # fmt: skip


def test_newly_failing_fails_and_fixed_is_told():
    before = asv({"s.time_a": row([1.0, None, None], [["1", "2", "3"]]), "s.time_b": row([1.0])})
    after = asv({"s.time_a": row([None, 2.0, None], [["1", "2", "3"]]), "s.time_b": row([math.nan])})
    pair = pair_of(before, after)
    assert codes(pair.reasons) == ["newly_failing"] and pair.verdict is Verdict.INVALID
    assert pair.row("s.time_a(1)").judgement.verdict is Verdict.INVALID
    assert pair.row("s.time_a(2)").note == "fixed: it failed before"
    assert pair.row("s.time_a(3)").note == "failing on both sides"
    assert pair.row("s.time_b").note == "skipped"


def test_missing_benchmarks_are_named_unless_allowed():
    before = asv({"s.time_build": row([1.0, 2.0], CONCURRENCY), "s.time_prefill": row([3.0])})
    after = asv({"s.time_build": row([1.0], [["1"]]), "s.time_new": row([1.0])})
    pair = pair_of(before, after)
    assert [one.message for one in pair.reasons] == ["3 vs 2, missing: s.time_build(16), s.time_prefill"]
    assert pair.row("s.time_build(1)").judgement.verdict is Verdict.UNKNOWN
    assert pair.row("s.time_prefill").judgement.verdict is Verdict.INVALID
    assert "new after: s.time_new" in [one.message for one in pair.warnings]
    allowed = pair_of(before, after, allowed=("s.time_build(16)", "s.time_prefill"))
    assert allowed.validity == "valid"
    for results in ({}, {"other.time_x": row([1.0])}):
        with pytest.raises(UserError, match="nothing compared"):
            asked([before, asv(results)])


def test_a_benchmark_that_changed_is_another_benchmark():
    pair = pair_of(asv({"s.time_a": row([1.0]), "s.time_b": row([1.0])}),
                   asv({"s.time_a": row([2.0], version="2"), "s.time_b": row([1.0])}))  # fmt: skip
    assert [one.message for one in pair.reasons] == ["the benchmark itself changed: s.time_a"]
    assert pair.row("s.time_a").judgement.verdict is Verdict.INVALID
    assert pair.row("s.time_b").judgement.verdict is Verdict.UNKNOWN
    timing = pair_of(asv({"s.time_a": row([1.0], stats_number=[10], stats_repeat=[5])}),
                     asv({"s.time_a": row([1.0], stats_number=[1], stats_repeat=[5])}))  # fmt: skip
    assert timing.validity == "valid" and "timing" in codes(timing.warnings)


@pytest.mark.parametrize(
    ("commit", "says"),
    [(None, "names no commit"), ("None", "names no commit"), ("", "names no commit"), ("abc-dirty", "dirty")],
)
def test_a_result_of_no_commit_is_labelled(commit, says):
    (record,) = asked([asv({"s.time_a": row([1.0])}, commit_hash=commit)]).records
    assert record.warnings[0].code == "unidentified" and says in record.warnings[0].message


def test_exact_counts_of_our_own_suites_decide_alone():
    before = asv({"step_cost.StepCost.track_device_ops": row([4, 0], CONCURRENCY)})
    after = asv({"step_cost.StepCost.track_device_ops": row([2, 0], CONCURRENCY)})
    pair = pair_of(before, after)
    assert pair.row("step_cost.StepCost.track_device_ops(1)").judgement.verdict is Verdict.IMPROVED
    assert pair.row("step_cost.StepCost.track_device_ops(16)").judgement.verdict is Verdict.SAME
    assert pair_of(after, before).verdict is Verdict.REGRESSED


def test_noise_is_counted_and_judged_together():
    ups, downs = [1 + n / 500 for n in range(26, 66)], [1 - n / 500 for n in range(26, 66)]
    before = asv({f"s.time_{n}": row([1.0]) for n in range(120)})
    after = asv({f"s.time_{n}": row([value]) for n, value in enumerate([*ups, *downs, *[1.0] * 40])})
    pair = pair_of(before, after)
    assert pair.warnings[0].message == "120 compared, 40 worse, 40 better by more than 1 %"
    assert pair.verdict is Verdict.UNKNOWN and len(pair.rows) == 120
    sizes = [abs(math.log(row.after / row.before)) for row in pair.rows]
    assert sizes == sorted(sizes, reverse=True)
    assert "one of 120 rows" in pair.rows[0].judgement.reason
    all_up = asv({f"s.time_{n}": row([1.1]) for n in range(120)})
    assert "systematic" in codes(pair_of(before, all_up).warnings)


def test_several_results_a_side_show_their_spread():
    values = [("before", 1.0), ("after", 1.1), ("before", 1.3), ("after", 0.9)]
    found = []
    for side, value in values:
        found.append({"name": side, "runs": asv({"s.time_a": row([value])})})
    records = [asked([one["runs"]]).records[0] for one in found]
    assert [record.metrics["s.time_a"] for record in records] == [1.0, 1.1, 1.3, 0.9]
    pair = asked([one["runs"] for one in found], pairs=((1, 2), (3, 4))).pairs[0]
    assert pair.row("s.time_a").note == "within noise: 1 to 1.3 before, 0.9 to 1.1 after"


def test_a_cold_start_among_samples_is_told():
    found = row([3e-5], samples=[[9e-4, 3e-5, 3.1e-5, 2.9e-5, 3e-5]])
    (told,) = (one.message for one in asked([asv({"s.time_a": found})]).records[0].warnings)
    assert told == "s.time_a: the first 1 of its samples took 30.0 times as long as the rest"


def test_a_time_that_equals_the_time_out_is_no_figure():
    killed, whole = (
        asv({"s.time_a": row([60.0]), "s.time_b": row([1.0])}),
        asv({"s.time_a": row([1.0]), "s.time_b": row([1.0])}),
    )
    (record,) = asked([killed]).records
    assert "time-out" in codes(record.warnings) and record.absent == {"s.time_a": "timed out"}
    slower = pair_of(whole, killed)
    assert codes(slower.reasons) == ["newly_failing"]
    assert slower.row("s.time_a").after is None and slower.row("s.time_a").note == "newly failing (timed out)"
    assert pair_of(killed, whole).row("s.time_a").note == "fixed: it failed before (timed out)"
    assert pair_of(killed, killed).row("s.time_a").judgement.ratio is None
    assert asked([asv({"s.track_a": row([60.0])})]).records[0].metrics == {"s.track_a": 60.0}, "a count is no time"


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 1}, {"result_columns": "x"}, {"result_columns": ["a"]}, {"results": {"a": 3}},
        {"results": {"a": [["x"]]}}, {"results": {"a": [[1], "p"]}}, {"results": {"a": [[1], [1]]}},
        {"results": {"a": row([1], [[str(n) for n in range(1000)]] * 3)}},
    ],
)  # fmt: skip
def test_damaged_asv_files_are_refused_in_one_line(changes):
    with pytest.raises(UserError) as refusal:
        asked([asv({"s.time_a": row([1.0])}) | changes])
    assert "\n" not in str(refusal.value)


def test_a_folder_of_asv_results_leaves_the_machine_out(tmp_path):
    (tmp_path / "machine.json").write_text("{}")
    for name, value in (("main-abc.json", 1.0), ("pr-def.json", 2.0)):
        (tmp_path / name).write_text(json.dumps(asv({"s.time_a": row([value])})))
    pair = check(Question((str(tmp_path),)), None).pairs[0]
    assert (pair.row("s.time_a").before, pair.row("s.time_a").after) == (1.0, 2.0)


def values(**found):
    return [{"name": name, "unit": unit, "value": value} for name, (value, unit) in found.items()]


def test_values_of_github_action_benchmark():
    found = asked([values(latency=(10.0, "ms"), speed=(100, "tok/s"), size=("3.5", "things")),
                   values(latency=(12.0, "ms"), speed=(120, "tok/s"), size=(3.6, "things"))])  # fmt: skip
    (pair,) = found.pairs
    assert pair.kind == "benchmark" and pair.row("speed").metric.direction == "higher"
    assert pair.row("latency").metric.direction == "lower"
    assert "nothing says which way is better" in pair.row("size").judgement.reason
    assert pair.verdict is Verdict.UNKNOWN and codes(found.warnings) == ["side-by-order"]


def test_a_history_gives_its_last_two_runs_and_its_direction():
    runs = [{"commit": {"id": f"c{n}"}, "date": n, "tool": "customBiggerIsBetter", "benches": values(x=(float(n), "u"))}
            for n in (1, 2, 3)]  # fmt: skip
    text = f"window.BENCHMARK_DATA = {json.dumps({'entries': {'suite': runs}})};"
    found = asked(text)
    assert [(record.side, record.metrics["x"]) for record in found.records] == [("before", 2.0), ("after", 3.0)]
    assert found.pairs[0].row("x").metric.direction == "higher"


def test_a_name_with_two_values_is_an_error():
    with pytest.raises(UserError, match="x stands there twice, as 1 and 2"):
        asked([[*values(x=(1.0, "s")), *values(x=(2.0, "s"))]])
