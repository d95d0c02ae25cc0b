"""lm-eval's folders, results and pasted tables, and scores that somebody wrote into a table."""

from __future__ import annotations

import json
import math

import pytest

from gdnbench.ingest.check import Question, check
from gdnbench.values.verdicts import Verdict
from lm_eval_folders import answers, results_of, write
from pasted import asked, codes


def table(value, stderr, version=3, shots=5, task="gsm8k", strict=None):
    return f"""
|Tasks|Version|     Filter     |n-shot|  Metric   |   |Value |   |Stderr|
|-----|------:|----------------|-----:|-----------|---|-----:|---|-----:|
|{task}|      {version}|flexible-extract|     {shots}|exact_match|↑  |{value}|±  |{stderr}|
|     |       |strict-match    |     {shots}|exact_match|↑  |{strict or value}|±  |{stderr}|
"""


def pair_of(text):
    (pair,) = asked(text).pairs
    return pair


def test_printed_tables_before_and_after():
    pair = pair_of(f"main:\n```\n{table('0.3472', '0.0131')}```\nthis PR:\n```\n{table('0.3533', '0.0132')}```\n")
    row = pair.rows[0]
    assert row.name == "exact_match,flexible-extract" and (row.before, row.after) == (0.3472, 0.3533)
    assert pair.answers.primary.documents == 1319, "told by the standard error, and by the name of the test set"
    assert pair.verdict is Verdict.UNKNOWN
    assert row.judgement.reason.startswith(
        "no difference that this size could show: judged without pairing, which is weaker: "
        "3.6 points would be significant here"
    )
    assert row.judgement.reason.count("significant") == 1 and len(pair.rows) == 2


@pytest.mark.parametrize(
    ("before", "after", "verdict", "documents"),
    [
        (("0.70", "0.1051"), ("0.30", "0.1051"), Verdict.REGRESSED, 20),
        (("0.77", "0.0423"), ("0.06", "0.0239"), Verdict.REGRESSED, 100),
        (("0.70", "0.1051"), ("0.60", "0.1124"), Verdict.UNKNOWN, 20),
        (("0", "0"), ("0.22", "0.0416"), Verdict.IMPROVED, 100),
    ],
)
def test_a_real_fault_shows_even_in_few_documents(before, after, verdict, documents):
    pair = pair_of(f"before\n{table(*before)}\nafter\n{table(*after)}")
    assert pair.answers.primary.documents == pytest.approx(documents, abs=1)
    assert pair.verdict is verdict


def test_a_standard_error_of_another_number_of_documents_is_invalid():
    line = "vllm (pretrained=m), gen_kwargs: (None), limit: 20.0, num_fewshot: 5, batch_size: auto\n"
    fine = line.replace("20.0", "100")
    tables = f"before\n{table('0.77', '0.0423')}\nafter\n{table('0.76', '0.0429')}"
    assert pair_of(fine + tables).validity == "valid"
    pair = pair_of(line.replace("20.0", "20") + tables)
    assert pair.validity == "invalid" and "standard_error" in codes(pair.reasons)


@pytest.mark.parametrize(("changes", "code"), [({"version": 2}, "version"), ({"shots": 8}, "n_shot")])
def test_tables_of_other_settings_are_not_compared(changes, code):
    pair = pair_of(f"before\n{table('0.70', '0.0144')}\nafter\n{table('0.70', '0.0144', **changes)}")
    assert pair.verdict is Verdict.INVALID and code in codes(pair.reasons)


def test_other_numbers_of_documents_are_not_compared():
    pair = pair_of(f"before\n{table('0.70', '0.0144', task='x')}\nafter\n{table('0.70', '0.0459', task='x')}")
    assert "missing_documents" in codes(pair.reasons)


def test_a_size_that_nothing_tells_is_said_to_be_unknown():
    text = "| Metric | Before | After |\n|---|---|---|\n| accuracy | 0.70 | 0.60 |\n"
    pair = pair_of(text)
    assert pair.verdict is Verdict.UNKNOWN and "not known on either side" in pair.rows[0].judgement.reason
    spread = text.replace("0.70", "0.70 ± 0.0144").replace("0.60", "60.00 %")
    assert pair_of(spread).answers.primary.documents == pytest.approx(1013, abs=2)


@pytest.fixture
def folders(tmp_path):
    before, after = answers(1319, 1100, lost=27, gained=12)
    return str(write(tmp_path / "before", before)), str(write(tmp_path / "after", after))


def test_folders_are_paired_by_document(folders):
    (pair,) = check(Question(folders), None).pairs
    assert pair.verdict is Verdict.REGRESSED and pair.group == "word-problems"
    assert pair.rows[0].judgement.p_value == pytest.approx(0.0237, abs=5e-4)
    assert "27 lost and 12 gained" in pair.rows[0].note and "1,319 documents, paired" in pair.rows[0].note


@pytest.mark.parametrize(("lost", "gained", "p_value"), [(12, 27, 0.024), (5, 9, 0.42), (6, 0, 0.031)])
def test_flips_are_counted_both_ways(lost, gained, p_value, tmp_path):
    before, after = answers(1319, 1100, lost=lost, gained=gained)
    folders = (str(write(tmp_path / "before", before)), str(write(tmp_path / "after", after)))
    row = check(Question(folders), None).pairs[0].rows[0]
    assert row.judgement.p_value == pytest.approx(p_value, abs=5e-3)
    assert f"{lost} lost and {gained} gained" in row.note


def with_lines(change):
    def changed(lines):
        for line in lines:
            change(line)
        return lines

    return changed


@pytest.mark.parametrize(
    ("both", "samples", "code", "note"),
    [
        (True, lambda lines: lines + lines, None, "5 documents, paired"),
        (True, with_lines(lambda line: line.pop("filter")), None, "5 documents, not paired"),
        (
            False,
            with_lines(lambda line: line.update(doc_hash="x" + line["doc_hash"])),
            "missing_documents",
            "not paired",
        ),
        (False, with_lines(lambda line: line.update(prompt_hash="x" + line["prompt_hash"])), "prompts", "paired"),
    ],
    ids=["doubled", "no filter", "other documents", "other prompts"],
)
def test_samples_are_joined_by_what_was_asked(both, samples, code, note, tmp_path):
    before, after = answers(5, 3, lost=1, gained=1)
    folders = (str(write(tmp_path / "before", before, **({"samples": samples} if both else {}))),
               str(write(tmp_path / "after", after, samples=samples)))  # fmt: skip
    (pair,) = check(Question(folders), None).pairs
    assert codes(pair.reasons) == ([code] if code else []) and note in pair.rows[0].note


def test_results_files_alone_are_compared_by_their_scores():
    before, after = answers(1319, 1100, lost=27, gained=12)
    pair = asked([results_of(before), results_of(after)], pairs=((1, 2),)).pairs[0]
    assert "not paired" in pair.rows[0].note and pair.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("versions", {"word-problems": 4.0}, "version"),
        ("n-shot", {"word-problems": 8}, "n_shot"),
        ("chat_template_sha", "abc", "chat_template"),
        ("config", {"fewshot_seed": 7}, "fewshot_seed"),
    ],
)
def test_results_of_other_settings_are_invalid(key, value, code):
    right = answers(100, 60)[0]
    other = results_of(right)
    other[key] = other[key] | value if isinstance(other[key], dict) else value
    pair = asked([results_of(right), other]).pairs[0]
    assert pair.verdict is Verdict.INVALID and code in codes(pair.reasons)


@pytest.mark.parametrize("key", ["config", "configs", "versions", "n-shot", "n-samples", "chat_template"])
@pytest.mark.parametrize("value", ["text", 3, [1], None, {"word-problems": "x"}])
def test_strange_results_make_no_traceback(key, value):
    found = results_of(answers(100, 60)[0])
    found[key] = value
    record = asked([found]).records[0]
    assert record.metrics["exact_match,strict-match"] == 0.6
    json.dumps(record.to_json(), allow_nan=False)


def test_a_table_with_unreadable_scores_says_so():
    text = table("0.70", "0.0144").replace("|0.70|", "|1,7|", 1)
    (record,) = asked(text).records
    assert "exact_match,flexible-extract" not in record.metrics
    assert "unread" in codes(record.warnings)
    assert math.isclose(record.metrics["exact_match,strict-match"], 0.70)
