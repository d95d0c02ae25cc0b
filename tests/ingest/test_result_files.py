"""Result JSON of every era, and what is wrong with results: each fault by a small result that has it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gdnbench.ingest.check import Question, check
from gdnbench.values.errors import UserError
from gdnbench.values.verdicts import Verdict
from pasted import AFTER, BEFORE, FAST_ALONE, SLOW_ALONE, asked, block, codes, result_file


def record_of(found: dict[str, Any], **more: Any):
    (record,) = asked([result_file(found, **more)]).records
    return record


def pair_of(before: dict[str, Any], after: dict[str, Any]):
    (pair,) = asked([before, after]).pairs
    return pair


def test_a_result_of_today():
    record = record_of(
        BEFORE,
        request_goodput=None,
        std_ttft_ms=12.5,
        spec_decode_acceptance_rate=32.0,
        spec_decode_acceptance_length=3.56,
        spec_decode_per_position_acceptance_rates=[0.8, 0.6],
        latencies=[1.0] * 960,
        queue_times=[0.0] * 960,
        rtfx=0.0,
    )
    assert record.metrics["output_throughput"] == 1393.52 and record.metrics["std_ttft_ms"] == 12.5
    assert record.metrics["spec_decode_acceptance_rate"] == 32.0, "a percentage, and positions are fractions"
    assert record.facts["request_rate"] == "inf" and record.concurrency == 16
    assert not record.faults and not record.warnings


def test_results_of_other_eras():
    old = {name: value for name, value in BEFORE.items() if name not in ("failed", "max_concurrency")}
    old |= {
        "request_inthroughput": old.pop("request_throughput"),
        "tokenizer_id": "t",
        "best_of": 1,
        "num_prompts": 960,
    }
    (record,) = asked([old]).records
    assert record.metrics["request_throughput"] == 4.65 and record.concurrency is None
    assert not record.faults and "failures-unknown" not in codes(record.warnings), "960 of 960 completed"
    sglang = {name: value for name, value in BEFORE.items() if "tpot" not in name} | {
        "mean_e2e_latency_ms": 3426.6, "accept_length": 3.57, "concurrency": 15.92, "dataset_name": "sharegpt",
    }  # fmt: skip
    (record,) = asked([sglang]).records
    assert record.metrics["mean_e2el_ms"] == 3426.6 and record.metrics["spec_decode_acceptance_length"] == 3.57


def test_files_are_told_apart_by_their_names(tmp_path):
    for name, found in (("main-c16.json", BEFORE), ("pr51913-c16.json", AFTER)):
        (tmp_path / name).write_text(json.dumps(result_file(found)))
    found = check(Question((str(tmp_path),)), None)
    assert [(record.side, record.why) for record in found.records] == [
        ("before", "label 'main-c16'"), ("after", "label 'pr51913-c16'"),
    ]  # fmt: skip
    assert found.pairs[0].validity == "valid"


def test_folders_tell_files_of_one_name_apart(tmp_path):
    for folder, found in (("before", BEFORE), ("after", AFTER)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "c16.json").write_text(json.dumps(result_file(found)))
    paths = tuple(str(tmp_path / folder / "c16.json") for folder in ("after", "before"))
    assert [record.side for record in check(Question(paths), None).records] == ["after", "before"]


def test_json_in_a_fence_and_json_lines():
    fenced = f"before\n```json\n{json.dumps(BEFORE, indent=1)}\n```\nafter\n```\n{json.dumps(AFTER)}\n```\n"
    assert [record.side for record in asked(fenced).records] == ["before", "after"]
    assert asked([result_file(BEFORE), result_file(AFTER)]).pairs[0].validity == "valid"


def test_one_token_outputs_are_no_measurement_of_tpot():
    zeros = {f"{word}_{tag}_ms": 0.0 for word in ("mean", "median", "p99") for tag in ("tpot", "itl")}
    one = {**zeros, "completed": 8, "failed": 0, "total_output_tokens": 8, "total_input_tokens": 800, "duration": 10.0}
    one |= {"output_throughput": 0.8, "total_token_throughput": 80.8, "request_throughput": 0.8, "mean_ttft_ms": 2600.0}
    two = {**one, "mean_ttft_ms": 1800.0}
    pair = pair_of(one, two)
    assert pair.validity == "valid"
    assert {row.name for row in pair.rows if row.judgement.ratio} == {
        "output_throughput", "total_token_throughput", "request_throughput", "mean_ttft_ms",
    }  # fmt: skip
    for name in zeros:
        row = pair.row(name)
        assert (row.before, row.after, row.note) == (None, None, "not measured (output_len <= 1)")
        assert row.judgement.verdict is Verdict.UNKNOWN and not row.primary
    assert pair.row("mean_ttft_ms").judgement.ratio == pytest.approx(1800 / 2600)
    assert "every answer has one token (output_len <= 1)" in asked([one]).records[0].warnings[0].message


@pytest.mark.parametrize("value", [-1.2, 0.0, float("nan"), float("inf")])
def test_an_impossible_latency_is_invalid(value):
    pair = pair_of(result_file(BEFORE), result_file(AFTER, mean_tpot_ms=value))
    assert "impossible" in codes(pair.reasons)
    assert pair.row("mean_tpot_ms").judgement.verdict is Verdict.INVALID and pair.verdict is Verdict.INVALID
    json.dumps(asked([result_file(BEFORE), result_file(AFTER, mean_tpot_ms=value)]).to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ({"failed": 3}, "failed", "3 requests failed"),
        ({"completed": 957, "num_prompts": 960}, "incomplete", "957 of 960 requests completed"),
        ({"output_throughput": 1564.18}, "inconsistent", "output_throughput x duration is 323,269.1"),
        ({"total_token_throughput": 2800.03}, "inconsistent", "total_token_throughput x duration"),
        ({"request_throughput": 5.21}, "inconsistent", "request_throughput x duration"),
        ({"median_itl_ms": 200.0}, "inconsistent", "median_itl_ms 200 lies above p99_itl_ms 156.83"),
        ({"p90_itl_ms": 170.0}, "inconsistent", "p90_itl_ms 170 lies above p99_itl_ms"),
        ({"max_itl_ms": 30.0}, "inconsistent", "p99_itl_ms 156.83 lies above max_itl_ms 30"),
        ({"mean_tpot_ms": 12.0}, "inconsistent", "17.6 requests in flight by their mean duration, and 16 is the limit"),
        ({"mean_e2el_ms": 5000.0}, "inconsistent", "mean_e2el_ms is 5,000.0, and TTFT + 299 x TPOT is 3,426.6"),
        ({"std_itl_ms": -1.0}, "impossible", "std_itl_ms is -1"),
        ({"duration": 0.0}, "impossible", "duration is 0"),
        (
            {"output_lens": [128, 0] * 480, "errors": [""] * 960},
            "empty",
            "480 of 960 requests succeeded without a token",
        ),
        (
            {"spec_decode_num_drafts": 100, "spec_decode_accepted_tokens": 200, "spec_decode_acceptance_length": 4.0},
            "inconsistent",
            "acceptance length 4, and 1 + accepted / drafts is 3.000",
        ),
        (
            {"spec_decode_draft_tokens": 100, "spec_decode_accepted_tokens": 50, "spec_decode_acceptance_rate": 60.0},
            "inconsistent",
            "acceptance rate 60 %, and accepted / draft tokens is 50.00 %",
        ),
    ],
)
def test_a_result_that_contradicts_itself_is_named(changes, code, says):
    record = record_of(BEFORE, **changes)
    fault = next(fault for fault in record.faults if fault.code == code and says in fault.message)
    assert fault
    found = asked([result_file(BEFORE | changes, label="before"), result_file(AFTER, label="after")])
    assert found.pairs[0].validity == "invalid" and code in codes(found.pairs[0].reasons)


@pytest.mark.parametrize("found", [SLOW_ALONE, FAST_ALONE, BEFORE, AFTER])
def test_published_results_agree_with_themselves(found):
    record = record_of(found)
    assert not record.faults and not record.warnings


def test_the_speculation_section_of_a_published_block_closes():
    drafts = {
        "completed": 100, "failed": 0, "total_output_tokens": 35_000, "spec_decode_num_drafts": 11_807,
        "spec_decode_draft_tokens": 82_649, "spec_decode_accepted_tokens": 23_321,
        "spec_decode_acceptance_length": 2.98, "spec_decode_acceptance_rate": 28.22,
        "duration": 100.0, "output_throughput": 350.0,
    }  # fmt: skip
    assert not record_of(drafts).faults


def test_what_is_an_artefact_of_the_client_trips_nothing():
    """Peaks count chunks, more requests than the limit meet at a change of hands, ITL is not TPOT."""
    for peak, concurrent, itl in ((1.0, 40.0, 38.4), (5000.0, 16.0, 10.0)):
        record = record_of(
            BEFORE,
            max_output_tokens_per_s=peak,
            max_concurrent_requests=concurrent,
            mean_itl_ms=itl,
            median_itl_ms=itl,
        )
        assert not record.faults and not record.warnings


def test_tokens_other_than_asked_for_are_named_by_the_command():
    command = "vllm bench serve --model m --num-prompts 960 --max-concurrency 16 --sharegpt-output-len 300 --ignore-eos"
    short = {"total_output_tokens": 287_000, "output_throughput": 1388.69, "total_token_throughput": 2489.71}
    text = f"```\n{command}\n```\n" + block({**BEFORE, **short})
    (record,) = asked(text).records
    (told,) = (one.message for one in record.warnings if one.code == "output_tokens")
    assert told == "287,000 output tokens, not 960 x 300 = 288,000: +1,000 are missing" and not record.faults


def test_tokens_of_drafts_are_held_against_those_that_were_sent_and_the_command():
    drafts = {"spec_decode_num_drafts": 80_000, "spec_decode_draft_tokens": 640_000}
    drafts |= {"spec_decode_accepted_tokens": 208_500, "spec_decode_acceptance_length": 3.61}
    assert not record_of(BEFORE, **drafts).warnings
    few = {"spec_decode_accepted_tokens": 100_000, "spec_decode_acceptance_length": 2.25}
    many = {"spec_decode_num_drafts": 160_000, "spec_decode_acceptance_length": 2.3}
    for change, says in ((few, "part of"), (many, "others used")):
        (told,) = (one for one in record_of(BEFORE, **(drafts | change)).warnings if one.code == "drafts")
        assert told.advice.startswith(says)
    server = 'vllm serve m --speculative-config \'{"method": "mtp", "num_speculative_tokens": %d}\'\n'
    assert not asked(server % 8 + block({**BEFORE, **drafts})).records[0].faults
    (fault,) = asked(server % 7 + block({**BEFORE, **drafts})).records[0].faults
    assert fault.message == "8.00 draft tokens a draft, and the server's command says 7"


def test_a_server_that_compiles_while_it_is_measured_is_invalid():
    start, line = "Starting main benchmark run...\n", "WARNING [jit_monitor.py:10] Triton kernel JIT compilation: a\n"
    found = asked(f"before\n{line}{start}{block(BEFORE)}after\n{start}{line}{block(AFTER)}")
    assert [codes(record.faults) for record in found.records] == [[], ["compilation"]], "before the run it may compile"
    assert found.verdict is Verdict.INVALID


def test_failures_are_unknown_where_nothing_tells_them_and_known_by_the_command():
    old = {name: value for name, value in BEFORE.items() if name != "failed"}
    assert "failures-unknown" in codes(asked(block(old)).records[0].warnings)
    command = "vllm bench serve --model m \\\n  --num-prompts 1000 --max-concurrency 16\n"
    (record,) = asked(command + block(old)).records
    assert "failures-unknown" not in codes(record.warnings)
    assert [fault.message for fault in record.faults] == ["960 of 1,000 requests completed"]


def test_first_tokens_inside_itl_and_a_slow_start_are_seen_in_details():
    leaked = record_of({"completed": 2, "duration": 1.0, "output_lens": [3, 4], "itls": [[1, 2, 3], [1, 2, 3]]})
    assert codes(leaked.warnings)[0] == "ttft_in_itl"
    slow = record_of({"completed": 60, "duration": 1.0, "ttfts": [1.6] + [0.134] * 59})
    (told,) = (one.message for one in slow.warnings if one.code == "slow_start")
    assert told == "the first request waited 11.9 times as long as the rest for the first token"
    some = record_of({"completed": 3, "duration": 1.0, "output_lens": [1, 300, 300]})
    assert "one-token" in codes(some.warnings)


def test_mean_itl_below_mean_tpot_is_allowed():
    record = record_of({"completed": 2, "duration": 2.0, "mean_tpot_ms": 55.0, "mean_itl_ms": 10.9})
    assert not record.faults


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"total_input_tokens": 227_545, "total_token_throughput": 2800.0}, "tokens"),
        ({"num_prompts": 960, "completed": 960, "max_concurrency": 32}, None),
        ({"model_id": "another"}, "setting"),
        ({"tokenizer_id": "another"}, "setting"),
        ({"request_rate": 4.0}, "setting"),
        ({"seed": "1"}, "setting"),
        ({"dataset_sha256": "b"}, "setting"),
        ({"sharegpt_min_len": "8"}, "setting"),
        ({"temperature": "0.7"}, "setting"),
    ],
)
def test_sides_of_other_workloads_are_not_compared(changes, code):
    shared = {"seed": "0", "dataset_sha256": "a", "sharegpt_min_len": "4", "temperature": "0"}
    before, after = result_file(BEFORE, **shared), result_file(AFTER, **shared) | changes
    if code is None:
        with pytest.raises(UserError, match="nothing compared"):
            asked([before | {"label": "before"}, after | {"label": "after"}])
        return
    pair = pair_of(before, after)
    assert codes(pair.reasons)[0] == code and pair.verdict is Verdict.INVALID
    assert all(row.judgement.verdict is Verdict.INVALID for row in pair.rows)


def test_what_may_differ_is_listed():
    pair = pair_of(result_file(BEFORE, attention="a"), result_file(AFTER, attention="b", date="20260813-000000"))
    assert pair.validity == "valid"
    assert [one.message for one in pair.warnings if one.code == "unlike"] == ["attention: a before, b after"]


def test_a_second_run_from_the_prefix_cache_is_suspected():
    slow = {**BEFORE, "mean_tpot_ms": 10.76}
    cached = {**BEFORE, "mean_ttft_ms": 60.0, "median_ttft_ms": 55.0, "mean_tpot_ms": 10.76, "duration": 200.0}
    cached |= {"output_throughput": 1440.0, "total_token_throughput": 2577.73, "request_throughput": 4.8}
    text = f"before\n{block(slow)}\nafter\n{block(cached)}"
    assert "cache-hit" in codes(asked(text).pairs[0].warnings)
    on, off = "vllm serve m\n", "vllm serve m --no-enable-prefix-caching\n"
    assert "prefix-caching" in codes(asked(on + text).pairs[0].warnings)
    assert not {"prefix-caching", "cache-hit"} & set(codes(asked(off + text).pairs[0].warnings))


def test_one_armed_cells_have_no_ratio():
    alone = {**SLOW_ALONE}
    found = asked(f"before\n{block(BEFORE)}\n{block(alone)}\nafter\n{block(AFTER)}")
    assert [pair.concurrency for pair in found.pairs] == [16]
    assert "concurrency 1: only before is there" in next(c.message for c in found.warnings if c.code == "one-armed")


def test_opposite_pairs_are_no_change_and_order_is_told():
    runs = [(97.949, "before", "1"), (98.790, "after", "2"), (98.193, "after", "3"), (98.632, "before", "4")]
    found = asked([{"completed": 9, "duration": float(day), "median_tpot_ms": value, "mean_tpot_ms": value,
                    "label": side, "date": f"2026081{day}-000000", "total_output_tokens": 900}
                   for value, side, day in runs])  # fmt: skip
    (pair,) = found.pairs
    assert pair.runs == 2 and pair.verdict is Verdict.UNKNOWN and "unbalanced" not in codes(pair.warnings)
    assert pair.row("mean_tpot_ms").judgement.ratio == pytest.approx(1.002, abs=5e-3)
    assert "the pairs of runs point both ways: no change is seen" in pair.row("mean_tpot_ms").judgement.reason


def test_all_of_one_side_last_is_told():
    days = [("before", 1), ("before", 2), ("after", 3), ("after", 4)]
    found = asked([result_file(BEFORE, label=side, date=f"2026081{day}-000000", duration=206.67 + day / 1000)
                   for side, day in days])  # fmt: skip
    assert "order not balanced: all runs of the after side came last" in [
        one.message for one in found.pairs[0].warnings
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"completed": 1, "duration": 2.0, "output_thr', "is it cut off"),
        ("<!DOCTYPE html><html></html>", "an HTML page"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n", "a git-LFS pointer"),
        ("", "empty, 0 bytes"),
        ('{"completed": 1, "completed": 2, "duration": 1}', "completed stands there twice"),
        ('{"completed": 1, "duration": 1, "request_throughput": 1, "request_inthroughput": 2}', "stands there twice"),
        ('{"a": 1}', "no result that is known"),
        ("[" * 5000, "cannot be read"),
    ],
)
def test_damaged_files_are_named(text, says):
    with pytest.raises(UserError, match=says):
        asked(text)


@pytest.mark.parametrize(
    "changes",
    [
        {"completed": None}, {"completed": "many"}, {"duration": [1]}, {"output_throughput": {"a": 1}},
        {"output_lens": "x", "itls": 3}, {"errors": {"a": 1}}, {"max_concurrency": float("inf")}, {"label": ["x"]},
        {"total_output_tokens": 10**400}, {"failed": float("nan")}, {"completed": 1.5}, {"mean_ttft_ms": True},
        {"ttfts": [None]}, {"spec_decode_num_drafts": 0}, {"completed": 0}, {"model_id": {"a": 1}},
    ],
)  # fmt: skip
def test_strange_values_make_no_traceback(changes):
    try:
        found = asked([result_file(BEFORE, label="before"), result_file(AFTER, label="after") | changes])
    except UserError as refusal:
        assert str(refusal).count("\n") == 0
        return
    json.dumps(found.to_json(), allow_nan=False)
