"""Tables and lines in which people set before against after; and which side is which."""

from __future__ import annotations

import pytest

from gdnbench.ingest.context import concurrency_of, side_of
from gdnbench.values.errors import UserError
from pasted import AFTER, BEFORE, asked, block, codes


def sides(text, **options):
    """Metrics by side and concurrency."""
    found = asked(text, **options)
    return {(record.side, record.concurrency): dict(record.metrics) for record in found.records}


def test_a_column_for_each_side():
    text = """
| Metric | main | this PR | Δ |
|---|---:|---:|---:|
| Output token throughput (tok/s) | 1,393.52 | 1,564.18 | +12.2% |
| Mean ITL (ms) | 38.40 | 34.32 | -10.6% |
| **P99 TTFT** (ms) | `414.69` | 363.03 | |
| Failed requests | 0 | 0 | |
"""
    found = asked(text)
    before, after = found.records
    assert dict(before.metrics) == {
        "output_throughput": 1393.52, "mean_itl_ms": 38.40, "p99_ttft_ms": 414.69, "failed": 0,
    }  # fmt: skip
    assert after.metrics["output_throughput"] == 1564.18
    assert before.why == "column 'main'" and after.why == "column 'this PR'"
    assert not found.warnings


def test_a_row_for_each_side():
    text = """
| Variant | Concurrency | Output throughput (tok/s) | TPOT mean (ms) |
|---|---|---|---|
| before | 1 | 184.07 | 4.90 |
| after | 1 | 197.50 | 4.62 |
| before | 16 | 1381.58 | 10.90 |
| after | 16 | 1386.45 | 10.85 |
"""
    assert sides(text) == {
        ("before", 1): {"output_throughput": 184.07, "mean_tpot_ms": 4.90},
        ("after", 1): {"output_throughput": 197.50, "mean_tpot_ms": 4.62},
        ("before", 16): {"output_throughput": 1381.58, "mean_tpot_ms": 10.90},
        ("after", 16): {"output_throughput": 1386.45, "mean_tpot_ms": 10.85},
    }


def test_the_concurrency_may_stand_in_the_label_or_the_heading():
    text = "| Metric | Before | After |\n|---|---|---|\n| Output throughput (tok/s) @ c=16 | 10.50 | 11.50 |\n"
    assert set(sides(text)) == {("before", 16), ("after", 16)}
    text = "### Concurrency 4\n| Metric | Before | After |\n|---|---|---|\n| Mean TTFT (ms) | 10.50 | 11.50 |\n"
    assert set(sides(text)) == {("before", 4), ("after", 4)}


def test_two_columns_without_a_side_are_taken_in_order_and_that_is_told():
    text = "| Metric | v0.27 | v0.28 |\n|---|---|---|\n| Mean TTFT (ms) | 10.50 | 11.50 |\n"
    before, after = asked(text).records
    assert (before.side, before.metrics["mean_ttft_ms"]) == ("before", 10.50)
    assert "order of the columns: 'v0.27' stands first" in before.why and after.side == "after"


def test_a_box_drawn_table_and_german_numbers():
    text = """
┃ Metric              ┃ vorher (before) ┃ nachher (after) ┃
┡━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━┩
│ Output throughput   │ 1.393,52 tok/s  │ 1.564,18 tok/s  │
│ Total input tokens  │ 227.546         │ 227.546         │
"""
    assert sides(text)["before", None] == {"output_throughput": 1393.52, "total_input_tokens": 227_546}


def test_a_stated_change_is_held_against_the_figures():
    head = "| Metric | Before | After | Change |\n|---|---|---|---|\n"
    text = f"{head}| Output throughput (tok/s) | 100.00 | 105.00 | +15% |\n"
    (told,) = (one.message for one in asked(text).warnings)
    assert "+15% is stated, and the figures give +5.00%" in told
    for fine in ("+5%", "1.05x", "5.0 %", "-4.8%"):
        assert "stated" not in codes(asked(text.replace("+15%", fine)).warnings)


def test_cells_that_are_not_understood_are_named():
    text = (
        "| Metric | Before | After |\n|---|---|---|\n| Mean TTFT (ms) | 10.50 | fast |\n"
        "| Happiness | 1.00 | 2.00 |\n| Output throughput (tok/s) | 1.50 | 2.50 |\n"
    )
    found = asked(text)
    (told,) = (one.message for one in found.warnings if one.code == "unread")
    assert "After: fast" in told and "Before: 1.00" in told
    assert "mean_ttft_ms" not in found.records[1].metrics


def test_a_figure_that_may_be_thousand_times_as_large_is_not_read():
    text = "| Metric | Before | After |\n|---|---|---|\n| Output throughput (tok/s) | 1,393 | 1,564 |\n"
    found = asked(text)
    assert all(not record.metrics and "unread" in codes(record.warnings) for record in found.records)
    assert found.pairs[0].verdict.value == "invalid"


def test_other_units_in_a_table():
    text = "| Metric | Before (s) | After (s) |\n|---|---|---|\n| Mean TTFT | 0.50 | 0.25 |\n"
    assert sides(text)["before", None] == {"mean_ttft_ms": 500.0}
    text = "| Metric | Before | After |\n|---|---|---|\n| Mean TTFT | 0.50 s | 250.00 ms |\n"
    assert [one["mean_ttft_ms"] for one in sides(text).values()] == [500.0, 250.0]


def test_one_figure_twice_in_a_table_is_an_error():
    row = "| Mean TTFT (ms) | {} | 1.00 |\n"
    text = "| Metric | Before | After |\n|---|---|---|\n" + row.format("2.00") + row.format("3.00")
    with pytest.raises(UserError, match="mean_ttft_ms stands there twice, as 2 and 3"):
        asked(text)


@pytest.mark.parametrize(
    "line",
    [
        "Output throughput: 184.07 -> 197.50 tok/s",
        "- Output throughput (tok/s): 184.07 → 197.50 (+7.3%)",
        "**Output token throughput**: 184.07 tok/s => 197.50 tok/s",
        "At concurrency 1: 184.07 -> 197.50 tok/s",
    ],
)
def test_a_line_with_an_arrow(line):
    found = asked(line)
    assert [(r.side, r.metrics["output_throughput"]) for r in found.records] == [("before", 184.07), ("after", 197.50)]


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("Before", "before"), ("main:", "before"), ("baseline (0.27.0)", "before"), ("without this PR", "before"),
        ("before the change", "before"), ("origin/main", "before"), ("results_main_c16", "before"),
        ("After", "after"), ("This PR", "after"), ("with patch", "after"), ("pr51913-c16", "after"),
        ("#51913", "after"),
        ("TP4 after PR, `TRTLLM_ENABLE_PDL=0`:", "after"), ("main + PR", "after"), ("main with this PR", "after"),
        ("before and after", None), ("PR vs main", None), ("v0.27", None), ("domain", None), ("newton", None),
        ("", None),
    ],
)  # fmt: skip
def test_what_a_label_says_of_the_side(text, side):
    assert side_of(text) == side


@pytest.mark.parametrize(
    ("text", "concurrency"),
    [
        ("concurrency 16", 16), ("c=1", 1), ("Concurrency=8", 8), ("max-concurrency 4", 4), ("batch size 1", 1),
        ("bs16", 16), ("main_c16", 16), ("c1 and c16", None), ("pic16x", None), ("0.16", None), ("c=1.5", None),
    ],
)  # fmt: skip
def test_what_a_label_says_of_concurrency(text, concurrency):
    assert concurrency_of(text) == concurrency


def test_headings_end_the_sides_of_other_headings():
    other = block(BEFORE | {"duration": 206.0})
    text = f"## Concurrency 16\n### Before\n{block(BEFORE)}\n### After\n{block(AFTER)}\n## Other\n{other}"
    assert [record.side for record in asked(text).records] == ["before", "after", None]


def test_order_decides_where_no_label_does_and_only_between_two():
    two = asked(f"{block(BEFORE)}\n{block(AFTER)}")
    assert [record.side for record in two.records] == ["before", "after"]
    assert codes(two.warnings) == ["side-by-order"] and "stands first, and no label" in two.records[0].why
    third = {**BEFORE, "duration": 206.68}
    three = asked(f"{block(BEFORE)}\n{block(AFTER)}\n{block(third)}")
    assert [record.side for record in three.records] == [None] * 3 and not three.pairs
    assert "3 of 3 results name no side, and none was guessed" in three.warnings[0].message
    assert "--pair" in three.warnings[0].advice


def test_the_other_one_is_told_by_exclusion():
    found = asked(f"{block(BEFORE)}\nThis PR:\n{block(AFTER)}")
    assert [record.side for record in found.records] == ["before", "after"]
    assert codes(found.warnings) == ["side-by-exclusion"]


def test_options_outweigh_labels():
    text = f"before\n{block(BEFORE)}\nafter\n{block(AFTER)}"
    found = asked(text, pairs=((2, 1),))
    assert [record.side for record in found.records] == ["after", "before"]
    assert found.pairs[0].row("output_throughput").judgement.ratio == pytest.approx(1393.52 / 1564.18)
    for pairs, says in ((((1, 3),), "there are 2 records"), (((1, 2), (2, 1)), "cannot be both")):
        with pytest.raises(UserError, match=says):
            asked(text, pairs=pairs)


def test_sides_without_anything_in_common_are_an_error():
    with pytest.raises(UserError, match="nothing compared: the sides have nothing in common"):
        asked(f"before\n{block(BEFORE)}\nafter\n{block({**AFTER, 'max_concurrency': 1})}")


def test_a_label_that_contradicts_the_figures_is_told():
    found = asked(f"concurrency=1\n{block(BEFORE)}")
    assert found.records[0].concurrency == 16 and "contradicting-label" in codes(found.records[0].warnings)
