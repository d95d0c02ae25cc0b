"""Blocks as they are pasted: every era's labels, marks around them, parts cut off, numbers of several languages."""

from __future__ import annotations

import io

import pytest

from gdnbench.ingest.check import Question, check
from gdnbench.values.errors import UserError
from pasted import AFTER, BEFORE, LABELS, asked, block, codes, result_file, written

OLD_2024 = {
    "completed": "Successful requests:",
    "duration": "Benchmark duration (s):",
    "total_input_tokens": "Total input tokens:",
    "total_output_tokens": "Total generated tokens:",
    "request_throughput": "Request throughput (req/s):",
    "input_throughput": "Input token throughput (tok/s):",
    "output_throughput": "Output token throughput (tok/s):",
}
OF_2025_05 = {name: label for name, label in LABELS.items() if name in OLD_2024} | {
    "total_token_throughput": "Total Token throughput (tok/s):"
}
OF_2025_10 = LABELS | {"total_token_throughput": "Total Token throughput (tok/s):"}
SPECULATION = {
    "spec_decode_acceptance_rate": 28.22,
    "spec_decode_acceptance_length": 2.98,
    "spec_decode_num_drafts": 96_800,
    "spec_decode_draft_tokens": 677_600,
    "spec_decode_accepted_tokens": 191_220,
}

SGLANG = """
============ Serving Benchmark Result ============
Backend:                                 sglang
Traffic request rate:                    inf
Max reqeuest concurrency:                16
Successful requests:                     960
Benchmark duration (s):                  206.67
Total input tokens:                      227546
Total input text tokens:                 227546
Total generated tokens:                  288000
Total generated tokens (retokenized):    287911
Request throughput (req/s):              4.65
Input token throughput (tok/s):          1101.01
Output token throughput (tok/s):         1393.52
Total token throughput (tok/s):          2494.53
Concurrency:                             15.92
Accept length:                           3.57
----------------End-to-End Latency----------------
Mean E2E Latency (ms):                   3426.60
Median E2E Latency (ms):                 3420.11
---------------Time to First Token----------------
Mean TTFT (ms):                          209.36
Median TTFT (ms):                        193.29
P99 TTFT (ms):                           414.69
---------------Inter-Token Latency----------------
Mean ITL (ms):                           38.40
Median ITL (ms):                         22.08
P95 ITL (ms):                            120.10
P99 ITL (ms):                            156.83
Max ITL (ms):                            501.22
==================================================
"""


def one(text):
    (record,) = asked(text).records
    return record


@pytest.mark.parametrize(
    ("labels", "more"),
    [(OLD_2024, {"input_throughput": 1101.01}), (OF_2025_05, {}), (OF_2025_10, {}), (LABELS, SPECULATION)],
    ids=["2024-08", "2025-05", "2025-10", "2026-01"],
)
def test_every_era_is_read(labels, more):
    stated = BEFORE | more
    latencies = {name for name in BEFORE if name.endswith("_ms")}
    record = one(block(stated, labels))
    assert dict(record.metrics) == {name: value for name, value in stated.items() if name in {*labels, *latencies}}
    assert record.kind == "serving" and not record.faults
    assert ("failures-unknown" in codes(record.warnings)) == ("failed" not in labels)


def test_sglangs_dialect_is_read():
    record = one(SGLANG)
    found = record.metrics
    assert record.form == "a block of SGLang's bench_serving" and record.concurrency == 16
    assert found["total_output_tokens"] == 288_000 and found["total_output_tokens_retokenized"] == 287_911
    assert found["mean_e2el_ms"] == 3426.60 and found["p95_itl_ms"] == 120.10 and found["max_itl_ms"] == 501.22
    assert found["spec_decode_acceptance_length"] == 3.57 and found["concurrency"] == 15.92
    assert record.facts["backend"] == "sglang" and record.facts["request_rate"] == "inf"
    assert not record.faults


@pytest.mark.parametrize(
    "around",
    [
        lambda text: text,
        lambda text: "".join(f"    {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"> > {line}\n" for line in text.splitlines()),
        lambda text: f"Here it is:\n\n```text\n{text}```\n\nThanks!\n",
        lambda text: f"<details>\n<summary>bench</summary>\n\n{text}\n</details>\n",
        lambda text: "".join(f"\x1b[32m{line}\x1b[0m\n" for line in text.splitlines()),
        lambda text: "".join(f"[36m(APIServer)[0;0m\n{line}\n" for line in text.splitlines()),
        lambda text: "".join(f"- {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"* **{line.strip()}**\n" for line in text.splitlines()),
        lambda text: "".join(f"\u2022 {line.rstrip()}\n" for line in text.splitlines()),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: "".join(f"{' ' * 4 * (1 + n % 2)}{line}\r\n" for n, line in enumerate(text.splitlines())),
        lambda text: "".join(f"| {line}\n" for line in text.splitlines()),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: f"\ufeff{text}",
        lambda text: text.upper().replace("(MS)", "(ms)"),
        lambda text: text.lower(),
        lambda text: text.replace(": ", ":\t"),
        lambda text: "".join(f"{' '.join(line.split())}\n" for line in text.splitlines()),
    ],
)
def test_marks_around_a_block_do_not_matter(around):
    assert dict(one(around(block(BEFORE))).metrics) == BEFORE


@pytest.mark.parametrize("sign", [" = ", " | ", ";", "\t", "  "])
def test_other_separators(sign):
    text = "".join(
        f"{line.rpartition(':')[0]}{sign}{line.rpartition(':')[2].strip()}\n" if ":" in line else f"{line}\n"
        for line in block(BEFORE).splitlines()
    )
    assert dict(one(text).metrics) == BEFORE


def test_a_block_as_a_table_of_two_columns():
    rows = "".join(
        f"| {line.rpartition(':')[0]} | {line.rpartition(':')[2].strip()} |\n"
        for line in block(BEFORE).splitlines()
        if ":" in line
    )
    assert dict(one(rows).metrics) == BEFORE


def english(name, value):
    return f"{int(value):,}" if written(name, value).isdigit() else f"{value:,.2f}"


def german(name, value):
    return f"{int(value):,}".replace(",", ".") if written(name, value).isdigit() else swapped(f"{value:,.2f}")


def swapped(text):
    return text.translate(str.maketrans(",.", ".,"))


@pytest.mark.parametrize(
    "write",
    [
        german,
        lambda name, value: written(name, value).replace(".", ","),
        english,
        lambda name, value: german(name, value).replace(".", "\u202f"),
        lambda name, value: german(name, value).replace(".", "'").replace(",", "."),
    ],
    ids=["1.393,52", "1393,52", "1,393.52", "1 393,52", "1'393.52"],
)
def test_numbers_of_several_languages(write):
    assert dict(one(block(BEFORE, write=write)).metrics) == BEFORE


def test_a_number_that_could_be_two_is_not_read():
    record = one("Output token throughput: 1,393 tok/s\nSuccessful requests: 960 requests\nFailed requests: 0\n")
    assert "output_throughput" not in record.metrics and record.metrics["completed"] == 960
    assert "Output token throughput: 1,393 tok/s (it can be read in several ways, or in none)" in (
        record.warnings[0].message
    )


@pytest.mark.parametrize(
    ("cut", "lost"),
    [
        ("Output token throughput (tok/s):         1393.52", None),
        ("Output token throughput (tok/s):         1393.5", "output_throughput"),
        ("Output token throughput (tok/s):         1393", "output_throughput"),
        ("Output token throughput (tok/s):         13", "output_throughput"),
        ("Total input tokens:                      227546", "total_input_tokens"),
        ("Total input tokens:                      2275", "total_input_tokens"),
    ],
)
def test_the_last_figure_of_a_block_that_is_cut_off_may_lack_digits(cut, lost):
    text = "".join(f"{line.rstrip()}\n" for line in block(BEFORE).splitlines())
    record = one(text[: text.index(cut) + len(cut)])
    assert set(record.metrics.items()) <= set(BEFORE.items())
    assert (lost not in record.metrics) if lost else record.metrics["output_throughput"] == 1393.52
    assert "cut-off" in codes(record.warnings) and ("unread" in codes(record.warnings)) == bool(lost)


@pytest.mark.parametrize("narrow", [True, False])
def test_one_blank_behind_a_count_may_have_parted_its_thousands(narrow):
    text = block(BEFORE, write=lambda name, value: german(name, value).replace(".", " ")).replace("  ", " ")
    if narrow:
        lines = [" ".join(line.split()) for line in text.splitlines()]
        text = "".join(f"{line[:28]}\n" for line in lines)
    else:
        text = text[: text.index("288 000") + 4]
    assert not any("total_output_tokens" in record.metrics for record in asked(text).records)


@pytest.mark.parametrize("count", ["18.0", "18.00", "18.000", "227.5460"])
def test_a_count_with_decimals_may_be_the_beginning_of_a_larger_one(count):
    record = one(block(BEFORE).replace("227546", count))
    assert "total_input_tokens" not in record.metrics and "unread" in codes(record.warnings)


def test_a_figure_with_spaces_behind_it_is_whole():
    text = block(BEFORE)
    record = one(text[: text.index("227546    ") + 7])
    assert record.metrics["total_input_tokens"] == 227_546


@pytest.mark.parametrize("width", range(40, 52))
@pytest.mark.parametrize("write", [written, english, german], ids=["1393.52", "1,393.52", "1.393,52"])
def test_a_block_cut_off_at_the_right_has_no_wrong_figure(width, write):
    text = "".join(f"{line[:width]}\n" for line in block(BEFORE, write=write).splitlines())
    try:
        record = one(text)
    except UserError:
        return
    assert set(record.metrics.items()) <= set(BEFORE.items())


@pytest.mark.parametrize("lost", range(1, 30))
def test_a_block_cut_off_at_the_left_has_no_wrong_figure(lost):
    text = "".join(f"{line[lost:]}\n" for line in block(BEFORE).splitlines())
    try:
        record = one(text)
    except UserError:
        return
    assert set(record.metrics.items()) <= set(BEFORE.items())


def test_a_beginning_that_was_cut_off_does_not_turn_a_peak_into_a_mean():
    text = block(BEFORE)
    record = one(text[text.index("output token throughput") :])
    assert "output_throughput" not in record.metrics and record.metrics["total_token_throughput"] == 2494.53
    assert "no-header" in codes(record.warnings)


def test_one_figure_with_two_values_is_an_error():
    text = block(BEFORE).replace("Total input tokens:", "Output token throughput (tok/s): 7.00\nTotal input tokens:")
    with pytest.raises(UserError, match=r"output_throughput stands there twice, as 7 and 1393\.52"):
        asked(text)
    with pytest.raises(UserError, match="median_ttft_ms stands there twice"):
        asked(block(BEFORE).replace("P99 TTFT", "P50 TTFT"))


def test_a_line_that_stands_there_twice_alike_counts_once():
    doubled = "".join(f"{line}\n{line}\n" if ":" in line else f"{line}\n" for line in block(BEFORE).splitlines())
    assert dict(one(doubled).metrics) == BEFORE


def test_unknown_lines_are_listed_and_not_fatal():
    text = block(BEFORE).replace("Failed requests", "Astonished requests")
    record = one(text)
    assert record.metrics["output_throughput"] == 1393.52
    assert "Astonished requests: 0" in next(c.message for c in record.warnings if c.code == "unknown-lines")


def test_other_units_are_converted_and_contradicting_ones_are_not_read():
    text = block(BEFORE).replace("Mean TTFT (ms):                          209.36", "Mean TTFT (s):   0.20936")
    assert one(text).metrics["mean_ttft_ms"] == pytest.approx(209.36)
    text = block(BEFORE).replace("Mean TTFT (ms):                          209.36", "Mean TTFT (ms):   0.20 s")
    assert "mean_ttft_ms" not in one(text).metrics


def test_words_behind_a_figure_are_read_over_and_a_second_figure_is_not():
    text = block(BEFORE).replace("0         \nMax", "0          <<<<<<< New line\nMax")
    assert one(text).metrics["failed"] == 0
    text = block(BEFORE).replace("1393.52   ", "1393.52   1564.18")
    assert "output_throughput" not in one(text).metrics


def test_several_blocks_in_one_text_and_the_same_twice():
    found = asked(f"before\n{block(BEFORE)}\nafter\n{block(AFTER)}\nagain:\n{block(AFTER)}")
    assert len(found.records) == 2 and codes(found.warnings) == ["copy"]


def test_a_copy_tells_what_it_does_not_agree_on_and_what_was_not_read():
    other = result_file(BEFORE, model_id="another", request_throughput="fast")
    found = asked([result_file(BEFORE, model_id="one"), other])
    assert codes(found.warnings) == ["copy", "unread"]
    assert "figure by figure, though not in model_id" in found.warnings[0].message
    assert "not read: request_throughput: fast" in found.warnings[1].message
    found = asked([other, result_file(BEFORE, model_id="another")])
    assert codes(found.warnings) == ["copy", "unread"] and found.records[0].metrics["request_throughput"] > 0


def test_a_side_that_was_asked_for_and_is_not_there_is_an_error(tmp_path):
    own, copy = tmp_path / "main.txt", tmp_path / "copy.txt"
    for path in (own, copy):
        path.write_text(block(BEFORE))
    with pytest.raises(UserError, match="nothing compared: there is before alone; give --before FILE"):
        check(Question((), before=(str(own),)), io.BytesIO())
    with pytest.raises(UserError, match=r"there is before alone; .*copy.txt, line 1 is the same as .*main.txt"):
        check(Question((), before=(str(own),), after=(str(copy),)), io.BytesIO())


def test_a_text_that_is_cut_within_its_last_figure_says_so():
    cut = "\n".join(line.rstrip() for line in block(AFTER).partition("en----")[0].splitlines())
    assert cut.endswith("Time to First Tok")
    with pytest.raises(UserError, match="the text may be cut off"):
        asked(f"before\n{block(BEFORE)}\nafter\n{cut}")


def test_a_block_between_lines_of_a_log():
    text = block(BEFORE).replace("Total input", "INFO 08-12 10:11:12 [async_llm.py:1] Added request\nTotal input")
    assert dict(one(text).metrics) == BEFORE


RAW = """
Starting initial single prompt test run...
Waiting for endpoint to become up in 600 seconds
 |                                    | 00:02 elapsed, 8:51:12 remaining
Initial test run completed.
Starting main benchmark run...
Traffic request rate: inf
Burstiness factor: 1.0 (Poisson process)
Maximum request concurrency: 16
  0%|          | 0/960 [00:00<?, ?it/s]
100%|██████████| 960/960 [03:26<00:00,  4.65it/s]
"""


def test_the_clients_own_words_name_no_side():
    """Its "main benchmark run" is no branch."""
    found = asked(f"## This PR\n{RAW}{block(AFTER)}## Baseline\nINFO main.py:12] new\n{RAW}{block(BEFORE)}")
    assert [(record.side, record.why) for record in found.records] == [
        ("after", "label 'This PR'"), ("before", "label 'Baseline'"),
    ]  # fmt: skip
    assert not found.warnings and all(not record.warnings for record in found.records)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_in_any_encoding_that_people_save(encoding):
    write = german if encoding == "cp1252" else lambda name, value: german(name, value).replace(".", "\u00a0")
    data = f"vor der Änderung: before\n{block(BEFORE, write=write)}".encode(encoding)
    (record,) = check(Question(("-",)), io.BytesIO(data)).records
    assert dict(record.metrics) == BEFORE and record.why == "label 'vor der Änderung: before'"


def test_a_figure_whose_twin_cannot_be_read_is_not_read_either():
    text = block(BEFORE).replace("Total input tokens:", "Output token throughput (tok/s): 7 or 8\nTotal input tokens:")
    record = one(text)
    assert "output_throughput" not in record.metrics and "the other value cannot be read" in record.warnings[0].message


def test_what_holds_no_result_is_said_to_hold_none():
    for text in ("", "hello", "a: 1\nb: 2", "| a | b |\n|---|---|\n| x | y |"):
        with pytest.raises(UserError, match=r"standard input"):
            asked(text)
