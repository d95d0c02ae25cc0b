"""Which prompts are chosen, what is left out and why, and what is recorded (cases 1, 2, 4 and 6)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdnbench.values.errors import UserError
from gdnbench.workloads import choose
from gdnbench.workloads.conversations import Conversation
from gdnbench.workloads.selection import COUNTED, Limits, select


def codes(workload) -> list[str]:
    return [warning.code for warning in workload.warnings]


def test_a_file_of_which_nothing_is_left_is_refused_with_the_counts(words, sharegpt, said) -> None:
    file = sharegpt([said(2, 9), said(2, 9), said(2, 9)])
    with pytest.raises(UserError) as refused:
        choose(file, words, seed=0, prompts=10, output_len=300)
    line = str(refused.value)
    assert "\n" not in line and str(file) in line
    assert "entries read 3, no conversations 0, under 2 turns 0" in line
    assert "prompt too short 3, output too short 0, prompt too long 0, prompt + output too long 0, kept 0" in line


def test_one_prompt_that_is_too_long_is_refused_likewise(words, sharegpt, said) -> None:
    with pytest.raises(UserError, match=r"entries read 1, .* prompt too long 1, .* kept 0"):
        choose(sharegpt([said(1025, 9)]), words, seed=0, prompts=10, output_len=300)


def test_limits_are_vllms_to_the_token_and_recorded(words, sharegpt, said) -> None:
    file = sharegpt([said(3, 50), said(4, 50), said(1024, 50), said(1025, 50), said(1000, 1048), said(1000, 1049)])
    chosen = choose(file, words, seed=0, prompts=10, output_len=None)
    assert sorted((one.prompt_len, one.output_len) for one in chosen.requests) == [(4, 50), (1000, 1048), (1024, 50)]
    assert chosen.identity["limits"] == {"min_tokens": 4, "max_prompt": 1024, "max_total": 2048}
    assert chosen.identity["tokenizer"]["name"] == "words"
    counts = chosen.identity["counts"]
    dropped = {name: counts[name] for name in ("prompt_too_short", "prompt_too_long", "total_too_long", "kept")}
    assert dropped == {"prompt_too_short": 1, "prompt_too_long": 1, "total_too_long": 1, "kept": 3}

    other = choose(file, words, seed=0, prompts=10, output_len=None, max_prompt=1025)
    assert other.identity != chosen.identity and other.identity["counts"]["kept"] == 4


def test_a_short_answer_counts_only_where_the_output_is_not_fixed(words, sharegpt, said) -> None:
    file = sharegpt([said(9, 3), said(9, 4)])
    free = choose(file, words, seed=0, prompts=2, output_len=None)
    assert free.identity["counts"]["output_too_short"] == 1 and len(free.requests) == 1
    assert [one.output_len for one in choose(file, words, seed=0, prompts=2, output_len=1).requests] == [1, 1]


def test_turns_are_taken_by_position_and_a_wrong_first_speaker_is_told(words, sharegpt, said) -> None:
    file = sharegpt(
        [
            said(5, 6, tag="h"),
            said(5, 6, 7, roles=("gpt", "human", "gpt"), tag="g"),
            said(5, 6, 7, roles=("system", "human", "gpt"), tag="s"),
        ]
    )
    chosen = choose(file, words, seed=0, prompts=3, output_len=None)
    assert {(one.prompt[0], one.prompt_len, one.output_len) for one in chosen.requests} == {
        ("h", 5, 6), ("g", 5, 6), ("s", 5, 6),
    }  # fmt: skip
    assert "2 of 3 sampled prompts do not start with human" in [one.message for one in chosen.warnings]
    assert (chosen.identity["not_from_human"], chosen.identity["strict"]) == (2, False)

    strict = choose(file, words, seed=0, prompts=3, output_len=None, strict=True)
    assert [one.prompt[0] for one in strict.requests] == ["h"]
    assert strict.identity["strict"] is True and strict.identity["counts"]["not_from_human"] == 2
    assert codes(strict) == ["fewer-prompts"]


def test_repeated_prompts_are_only_sent_when_asked_for_and_told(words, sharegpt, said) -> None:
    file = sharegpt([said(5 + index, 9) for index in range(5)])
    plain = choose(file, words, seed=0, prompts=12, output_len=9)
    assert len(plain.requests) == plain.identity["requests"] == plain.identity["distinct_prompts"] == 5
    assert codes(plain) == ["fewer-prompts"] and "5 prompts instead of the 12" in plain.warnings[0].message

    repeated = choose(file, words, seed=0, prompts=12, output_len=9, oversample=True)
    assert repeated.requests[:5] == plain.requests and len(repeated.requests) == 12
    assert "12 requests from 5 distinct prompts" in [one.message for one in repeated.warnings]
    assert repeated.identity["oversample"] is True and repeated.identity["counts"]["kept"] == 5


def test_a_file_may_itself_hold_a_prompt_twice(words, sharegpt, said) -> None:
    chosen = choose(sharegpt([said(5, 9), said(5, 8)]), words, seed=0, prompts=2, output_len=9)
    assert codes(chosen) == ["repeated-prompts"] and chosen.identity["distinct_prompts"] == 1


def test_what_is_no_conversation_is_counted_and_moves_nothing_else(words, sharegpt, said) -> None:
    broken = [7, "conversations", {}, {"conversations": None}, {"conversations": []}, said(5)]
    no_text = [
        {"conversations": [{"from": "human"}, {"from": "gpt", "value": "a b c d"}]},
        {"conversations": [{"from": "human", "value": ["a"]}, {"from": "gpt", "value": "a b c d"}]},
        {"conversations": ["a b c d", "a b c d"]},
        {"conversations": [{"from": "human", "value": "a b c \ud800"}, {"from": "gpt", "value": "a b c d"}]},
    ]
    chosen = choose(sharegpt([*broken, *no_text, said(5, 5)]), words, seed=0, prompts=9, output_len=None)
    counts = chosen.identity["counts"]
    assert (counts["entries"], counts["no_conversations"], counts["under_two_turns"]) == (11, 4, 2)
    assert (counts["no_text"], counts["kept"]) == (4, 1)


def test_the_identity_is_json_that_tells_two_workloads_apart(words, sharegpt, said) -> None:
    file = sharegpt([said(5 + index, 9, tag=f"t{index}") for index in range(40)])
    first = choose(file, words, seed=1, prompts=8, output_len=20)
    again = choose(file, words, seed=1, prompts=8, output_len=20)
    assert first == again and json.loads(json.dumps(first.identity)) == first.identity
    assert list(first.identity["counts"]) == list(COUNTED)
    assert first.identity["input_tokens"] == sum(one.prompt_len for one in first.requests)
    assert first.identity["output_tokens"] == 160
    for other in (
        choose(file, words, seed=2, prompts=8, output_len=20),
        choose(file, words, seed=1, prompts=9, output_len=20),
        choose(file, words, seed=1, prompts=8, output_len=21),
    ):
        assert other.identity["sha256"] != first.identity["sha256"]
    assert choose(file, words, seed=1, prompts=9, output_len=20).requests[:8] == first.requests


def test_what_vllm_could_not_read_is_refused(words, sharegpt, said) -> None:
    file = sharegpt([said(5, 5), said(5, 5)])
    whole = file.read_bytes()
    for content, match in (
        (whole[:-9], r"truncated at byte \d+, inside a string .* \(\d+ bytes, sha256 "),
        (whole[1:-1].replace(b"]}, {", b"]}\n{"), "no ShareGPT file"),
    ):
        file.write_bytes(content)
        with pytest.raises(UserError, match=match):
            choose(file, words, seed=0, prompts=1, output_len=9)


@pytest.mark.parametrize(("prompts", "output_len"), [(0, 300), (5, 0)])
def test_nothing_cannot_be_asked_for(words, sharegpt, said, prompts: int, output_len: int) -> None:
    with pytest.raises(UserError, match="at least one"):
        choose(sharegpt([said(5, 5)]), words, seed=0, prompts=prompts, output_len=output_len)


lengths = st.tuples(st.integers(1, 12), st.integers(1, 12), st.booleans())


@given(
    st.lists(st.one_of(st.none(), lengths), max_size=30),
    st.integers(0, 9),
    st.integers(1, 40),
    st.sampled_from([None, 5]),
)
def test_every_conversation_is_accounted_for_once(drawn, seed: int, prompts: int, output_len: int | None) -> None:
    pool = [None if one is None else Conversation("p" * one[0], "a" * one[1], one[2]) for one in drawn]
    chosen = {
        strict: select(pool, len, seed, prompts, Limits(9, 15, output_len=output_len, strict=strict))
        for strict in (False, True)
    }
    for one in chosen.values():
        assert sum(one.dropped.values()) + one.chosen + one.not_looked_at == len(pool)
        assert one.chosen == len(one.requests) <= prompts
        assert one.not_looked_at == 0 or one.chosen == prompts
        assert all(4 <= r.prompt_len <= 9 and r.prompt_len + r.output_len <= 15 for r in one.requests)
    assert chosen[True].not_from_human == 0 == chosen[False].dropped["not_from_human"]
