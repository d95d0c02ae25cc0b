"""What a reader must know beside the verdicts: one cause each, and nothing else said."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest

from gdnbench.serving.judged import NOT_CLAIMABLE, NOT_MEASURED, PER_CHUNK, judge_serving
from gdnbench.serving.records import Acceptance
from gdnbench.values.metrics import ACCEPTANCE_LENGTH, E2EL, ITL, TPOT, TTFT
from gdnbench.values.verdicts import Verdict
from served import ENVIRONMENT, MTP, WORKLOAD, campaign, plan, with_blocks

SWITCH, APART = plan(launches=7), plan(method="apart", launches=7)
RELEASES = plan("vllm@0.30.0", "vllm@0.31.0", method="apart", releases=("0.30.0", "0.31.0"), launches=7)
HANDICAP = plan("pr51913.after", "pr51913.after+100us", launches=7)


def one(asked, number=3, **changes):
    return [replace(each, **changes) if each.number == number else each for each in campaign(asked)]


def servers(asked, role=None, **changes):
    def changed(server):
        return replace(server, **changes) if role in (None, server.role) else server

    return [replace(each, servers=tuple(map(changed, each.servers))) for each in campaign(asked)]


def slower(first, role=None):
    """The first blocks of launch 2 at concurrency 16 three times as slow, figures and all."""
    launches = campaign(SWITCH if role is None else APART)
    own = [b for b in launches[1].blocks if b.concurrency == 16 and role in (None, b.role)]
    slow = {(b.role, b.round) for b in own[:first]}

    def changed(b):
        if b.concurrency != 16 or (b.role, b.round) not in slow:
            return b
        rates = ("output_throughput", "total_token_throughput", "request_throughput")
        return replace(b, duration_s=3 * b.duration_s, figures={**b.figures, **{k: b.figures[k] / 3 for k in rates}})

    return with_blocks(launches, changed)


def always_first(asked):
    """All of before's blocks before all of after's."""
    order = {"before": 0.0, "after": 1000.0, "control": 2000.0}
    return with_blocks(campaign(asked), lambda b: replace(b, started=order[b.role] + b.round), number=None)


def one_tokens(share):
    """So many requests of every block gave one token, and have no time per token."""
    return with_blocks(
        campaign(SWITCH), lambda b: replace(b, samples={**b.samples, "tpot": b.samples["tpot"] - share}), number=None
    )


def chunks(asked, factor):
    return with_blocks(
        campaign(asked),
        lambda b: replace(b, samples={**b.samples, "itl": round(b.samples["itl"] * factor)}),
        number=None,
    )


CAVEATS = {
    "a cold start": (
        SWITCH,
        lambda: slower(1),
        "slow_start",
        "launch 2: the first block at concurrency 16 took 3.0 times",
    ),
    "a long cold start": (
        SWITCH,
        lambda: slower(2),
        "slow_start",
        "the first 2 blocks at concurrency 16 took 3.0 times",
    ),
    "a cold start of one server": (
        APART,
        lambda: slower(1, "after"),
        "slow_start",
        "the first block at concurrency 16",
    ),
    "always before, then after": (
        SWITCH,
        lambda: always_first(SWITCH),
        "unbalanced",
        "before ran before after in 84 of 84 rounds",
    ),
    "releases that choose other graphs": (
        RELEASES,
        lambda: servers(RELEASES, role="after", graphs="FULL"),
        "chosen",
        "the releases chose graphs NONE -> FULL",
    ),
    "no comparison in live steps": (SWITCH, lambda: one(SWITCH, equality=None), "uncompared", "in live steps"),
    "no count of builds": (SWITCH, lambda: servers(SWITCH, builds_per_step=None), "uncounted", "builds per step"),
    "another line of the log": (SWITCH, lambda: servers(SWITCH, notes=("preempted",)), "log", "log says: preempted"),
    "some requests of one token": (
        SWITCH,
        lambda: one_tokens(1),
        "one_token",
        "at concurrency 1 TPOT rests on 378 of 504 requests",
    ),
    "prompts that come again": (
        SWITCH,
        lambda: [replace(each, workload={**WORKLOAD, "distinct_prompts": 5}) for each in campaign(SWITCH)],
        "repeated-prompts",
        "64 requests from 5 distinct prompts",
    ),
    "prompts that an assistant began": (
        SWITCH,
        lambda: [replace(each, workload={**WORKLOAD, "not_from_human": 23}) for each in campaign(SWITCH)],
        "not-from-human",
        "23 of 64 prompts do not start with human",
    ),
    "a busy machine": (
        SWITCH,
        lambda: one(SWITCH, environment={**ENVIRONMENT, "load_average": [7.0]}),
        "busy",
        "the load average reached 7 on 2 cores",
    ),
    "workers that give way": (
        SWITCH,
        lambda: one(SWITCH, environment={**ENVIRONMENT, "nice": 15}),
        "priority",
        "a lower priority than other processes of their machine (nice 15)",
    ),
    "another torch": (
        SWITCH,
        lambda: one(SWITCH, environment={**ENVIRONMENT, "torch": "2.12.0"}),
        "environment",
        "launches ran under 2 kinds of torch",
    ),
    "more gaps than tokens": (SWITCH, lambda: chunks(SWITCH, 1.1), "ttft_in_itl", "leaked into ITL"),
    "several tokens in a chunk": (SWITCH, lambda: chunks(SWITCH, 0.5), "chunks", "a chunk held 2.00 tokens"),
    "several steps in a chunk": (
        plan(speculative=MTP, launches=7),
        lambda: chunks(plan(speculative=MTP, launches=7), 0.5),
        "chunks",
        "tokens, and a step gave 2.50: ITL is not the time of one step",
    ),
    "acceptance that drifts": (
        plan(speculative=MTP, launches=7),
        lambda: campaign(plan(speculative=MTP, launches=7), accepted=1.02),
        "acceptance",
        "at concurrency 1 acceptance drifted: 2.50 -> 2.55 tokens per step (+2.0%)",
    ),
    "acceptance that nobody counted": (
        plan(speculative=MTP, launches=7),
        lambda: with_blocks(
            campaign(plan(speculative=MTP, launches=7)), lambda b: replace(b, acceptance=None), number=None
        ),
        "acceptance",
        "at concurrency 1 acceptance is unknown",
    ),
    "a change that the builds do not explain": (
        SWITCH,
        lambda: campaign(SWITCH, bias=0.05),
        "budget",
        "and the time of the builds accounts for +0.0%",
    ),
}


@pytest.mark.parametrize("name", CAVEATS)
def test_a_caveat_is_said_and_the_verdict_stands(name):
    asked, launches, code, says = CAVEATS[name]
    result = judge_serving(asked, launches())
    assert {caveat.code for caveat in result.warnings} == {code}
    assert says in result.warnings[0].message
    assert result.warnings[0].advice
    assert result.invalid == ()
    assert result.verdict is not Verdict.INVALID


def test_an_order_of_launches_that_is_not_balanced_is_said_by_every_row():
    launches = [replace(each, order=("before", "after", "control")) for each in campaign(SWITCH)]
    for row in judge_serving(SWITCH, launches).primary:
        assert any(
            "order not balanced: before had the first role in 7 of 7" in c.message for c in row.judgement.warnings
        )
    assert not judge_serving(SWITCH, campaign(SWITCH)).primary[0].judgement.warnings


@pytest.mark.parametrize("first", [5, 6])
def test_what_is_slow_throughout_or_by_its_prompts_is_no_cold_start(first):
    launches = with_blocks(campaign(SWITCH), lambda b: replace(b, started=b.started + first), number=2)
    assert judge_serving(SWITCH, launches).warnings == ()
    scaled = with_blocks(
        campaign(SWITCH),
        lambda b: (
            replace(
                b,
                duration_s=2 * b.duration_s,
                figures={
                    **b.figures,
                    **{
                        k: b.figures[k] / 2
                        for k in ("output_throughput", "total_token_throughput", "request_throughput")
                    },
                },
            )
            if b.round in (0, first - 1)
            else b
        ),
    )
    assert judge_serving(SWITCH, scaled).warnings == ()


def texts(asked, at, after=(), control=(), launches=None):
    """Greedy texts that differ from those of before in these rounds, at one concurrency."""
    differing = {"after": set(after), "control": set(control), "before": set()}

    def changed(b):
        other = b.concurrency == at and b.round in differing[b.role]
        return replace(b, texts=f"{b.role}'s own") if other else b

    return with_blocks(launches or campaign(asked), changed, number=None)


def test_greedy_texts_at_concurrency_1_differ_by_the_builder_alone():
    result = judge_serving(SWITCH, texts(SWITCH, 1, after=[2]))
    (fault,) = result.invalid
    assert (fault.code, fault.concurrency) == ("texts", 1)
    assert "texts of after differ from those of before in 7 of 42 rounds, those of identical code in 0" in fault.message
    assert [row.judgement.verdict for row in result.primary] == [Verdict.INVALID, Verdict.SAME]


def test_texts_that_differ_in_identical_code_vouch_for_nothing():
    result = judge_serving(SWITCH, texts(SWITCH, 1, after=[2], control=[3]))
    assert result.invalid == ()
    (caveat,) = result.warnings
    assert caveat.code == "texts" and "does not answer alike twice" in caveat.message
    clearly = judge_serving(SWITCH, texts(SWITCH, 1, after=range(6), control=[3]))
    assert [fault.code for fault in clearly.invalid] == ["texts"]


def test_batching_may_alter_texts_but_not_more_than_in_identical_code():
    assert judge_serving(SWITCH, texts(SWITCH, 16, after=[1, 2, 3], control=[3, 4, 5])).warnings == ()
    assert judge_serving(SWITCH, texts(SWITCH, 16, after=range(6), control=range(6))).warnings == ()
    result = judge_serving(SWITCH, texts(SWITCH, 16, after=[1, 2, 3], control=[3]))
    assert result.invalid == ()
    assert [caveat.code for caveat in result.warnings] == ["texts"]
    assert "more than batching explains" in result.warnings[0].message


def test_texts_of_servers_apart_have_no_control():
    result = judge_serving(APART, texts(APART, 1, after=[2]))
    assert [caveat.code for caveat in result.warnings] == ["texts"] and result.invalid == ()
    assert judge_serving(RELEASES, texts(RELEASES, 1, after=[2])).warnings == (), "releases promise nothing"


def test_texts_that_are_not_greedy_are_not_compared():
    warm = [
        replace(each, load=replace(each.load, sampling={"temperature": 0.7})) for each in texts(SWITCH, 1, after=[2])
    ]
    assert judge_serving(SWITCH, warm).invalid == ()


def test_acceptance_that_drifts_far_spoils_what_is_counted_in_tokens():
    asked = plan(speculative=MTP, launches=7)
    result = judge_serving(asked, campaign(asked, accepted=1.15))
    assert {fault.code for fault in result.invalid} == {"acceptance"}
    assert "acceptance drifted: 2.50 -> 2.88 tokens per step (+15.3%)" in result.invalid[0].message
    verdicts = {(row.metric.tag, row.judgement.verdict) for row in result.rows if row.concurrency == 1}
    spoiled = {tag for tag, verdict in verdicts if verdict is Verdict.INVALID}
    assert spoiled == {"output_throughput", "total_token_throughput", "request_throughput", "tpot", "e2el"}
    assert result.row(1, ITL, "mean").judgement.verdict is Verdict.SAME, "the step time stands"
    split = result.decomposition[0]
    assert split.leads == "step_time"
    assert split.acceptance.ratio == pytest.approx(1.15, abs=0.005)
    assert split.step_time.ratio == pytest.approx(1.0, abs=0.005)


def test_acceptance_is_not_for_a_builder_to_claim():
    asked = plan(speculative=MTP, launches=7)
    result = judge_serving(asked, campaign(asked, accepted=1.02))
    assert result.row(1, ACCEPTANCE_LENGTH, "mean").note == NOT_CLAIMABLE
    assert {one.leads for one in result.decomposition} == {"step_time"}
    assert result.row(1, ITL, "mean").note == PER_CHUNK
    unspeculated = judge_serving(SWITCH, campaign(SWITCH))
    assert unspeculated.row(1, ITL, "mean").note == ""
    with pytest.raises(KeyError):
        unspeculated.row(1, ACCEPTANCE_LENGTH, "mean")


@pytest.mark.parametrize("speculative", [None, MTP])
def test_throughput_is_the_product_of_its_parts(speculative):
    asked = plan(speculative=speculative, launches=7)
    for one_split in judge_serving(asked, campaign(asked, step=0.9, accepted=1.01)).decomposition:
        product = one_split.acceptance.ratio / one_split.step_time.ratio * one_split.rest
        assert product == pytest.approx(one_split.throughput.ratio)
        assert one_split.step_time.ratio == pytest.approx(0.9, abs=0.005)
        assert 0.8 < one_split.rest < 1.0, "the first token did not get faster"


def test_unknown_acceptance_hides_in_the_rest():
    asked = plan(speculative=MTP, launches=7)
    launches = with_blocks(campaign(asked), lambda b: replace(b, acceptance=None), number=None)
    split = judge_serving(asked, launches).decomposition[0]
    assert split.acceptance is None and split.to_json()["acceptance_ratio"] is None
    assert split.rest == pytest.approx(split.throughput.ratio * split.step_time.ratio)


def test_no_draft_at_all_is_no_acceptance():
    asked = plan(speculative=MTP, launches=7)
    launches = with_blocks(campaign(asked), lambda b: replace(b, acceptance=Acceptance(0, 0, 0)), number=None)
    assert judge_serving(asked, launches).decomposition[0].acceptance is None


def test_one_token_outputs_have_no_time_between_tokens():
    """vLLM's benchmark prints 0.00 there: a perfect figure to a gate, and a division by zero to a comparison."""
    asked = plan(output_len=1, launches=7)

    def zero(b):
        figures = {key: 0.0 if "tpot" in key or "itl" in key else value for key, value in b.figures.items()}
        return replace(b, figures=figures)

    result = judge_serving(asked, with_blocks(campaign(asked), zero, number=None))
    assert result.invalid == ()
    for row in result.rows:
        if row.metric in (TPOT, ITL):
            assert row.judgement.verdict is Verdict.UNKNOWN and row.judgement.reason == NOT_MEASURED
            assert (row.before, row.after, row.judgement.ratio, row.judgement.interval) == (None, None, None, None)
            assert result.control(row) is None
    assert result.row(1, TTFT, "mean").judgement.verdict is Verdict.SAME
    assert result.primary[0].judgement.verdict is Verdict.SAME
    assert result.decomposition[0].step_time is None and result.decomposition[0].rest is None


def test_a_p99_of_few_samples_gets_no_verdict():
    result = judge_serving(SWITCH, campaign(SWITCH))
    few, many = result.row(1, TTFT, "p99"), result.row(16, TTFT, "p99")
    assert few.samples == 24 and few.judgement.verdict is Verdict.UNKNOWN
    assert few.judgement.reason == "p99 = max of 24 samples, no verdict: 100 are the fewest"
    assert few.before is not None and few.judgement.ratio is not None and few.judgement.more_launches is None
    assert many.samples == 192 and many.judgement.verdict is Verdict.SAME


def test_a_mean_far_from_its_median_is_flagged():
    def skew(b):
        return (
            replace(b, figures={**b.figures, "median_itl_ms": 0.57 * b.figures["mean_itl_ms"]})
            if b.concurrency == 16
            else b
        )

    result = judge_serving(SWITCH, with_blocks(campaign(SWITCH), skew, number=None))
    flagged = {
        (row.concurrency, row.metric.tag, row.statistic)
        for row in result.rows
        if any(caveat.code == "skewed" for caveat in row.judgement.warnings)
    }
    assert flagged == {(16, "itl", "mean")}


def test_a_control_that_is_no_null_is_said():
    launches = campaign(SWITCH)

    def biased(b):
        if b.role != "control":
            return b
        rates = ("output_throughput", "total_token_throughput", "request_throughput")
        figures = {**b.figures, **{key: b.figures[key] * 1.05 for key in rates}}
        return replace(b, duration_s=b.duration_s / 1.05, figures=figures)

    result = judge_serving(SWITCH, with_blocks(launches, biased, number=None))
    (control, *_) = result.controls
    assert control.judgement.verdict is Verdict.IMPROVED
    assert any(
        "identical code in the same launches came out improved" in c.message
        for c in result.primary[0].judgement.warnings
    )


def test_the_control_of_servers_apart_is_the_next_server_of_the_same_side():
    result = judge_serving(APART, campaign(APART))
    orders = [each.order for each in campaign(APART)]
    neighbours = sum(one[-1] == other[0] for one, other in pairwise(orders))
    assert {row.judgement.launches for row in result.controls} == {neighbours} and neighbours
    always = [replace(each, order=("before", "after")) for each in campaign(APART)]
    assert judge_serving(APART, always).controls == ()
    assert judge_serving(APART, always).to_json()["control"] is None
    gap = [each for each in campaign(APART) if each.number != 2]
    fewer = judge_serving(APART, gap).controls
    assert {row.judgement.launches for row in fewer} == {
        sum(a.order[-1] == b.order[0] and b.number == a.number + 1 for a, b in pairwise(gap))
    }


def test_servers_apart_are_compared_by_totals_and_weighted_figures():
    """One short slow block weighs by what it holds, not like the others."""
    asked = plan(method="apart", launches=7, loads=((16, 32, 3),))
    launches = with_blocks(
        campaign(asked, scatter=0.0),
        lambda b: (
            replace(
                b,
                duration_s=2 * b.duration_s,
                samples={**b.samples, "ttft": 8},
                figures={
                    **b.figures,
                    "output_throughput": b.figures["output_throughput"] / 2,
                    "total_token_throughput": b.figures["total_token_throughput"] / 2,
                    "request_throughput": b.figures["request_throughput"] / 2,
                    "mean_ttft_ms": 2 * b.figures["mean_ttft_ms"],
                },
            )
            if (b.role, b.round) == ("after", 1)
            else b
        ),
        number=None,
    )
    result = judge_serving(asked, launches)
    assert result.primary[0].judgement.ratio == pytest.approx(3 / 4)
    assert result.row(16, TTFT, "mean").judgement.ratio == pytest.approx((2 * 32 + 2 * 8) / (2 * 32 + 8))
    assert result.row(16, TTFT, "median").judgement.ratio == pytest.approx(1.0)
    assert result.row(16, E2EL, "mean").judgement.ratio == pytest.approx(1.0)


def test_blocks_in_turns_are_compared_round_by_round():
    """Rounds differ threefold, by their prompts; the ratio of each does not."""
    launches = campaign(SWITCH, step=1.05, scatter=0.0)

    def stretched(b):
        times = 1 + b.round % 3
        keys = ("output_throughput", "total_token_throughput", "request_throughput")
        figures = {k: v / times if k in keys else v * times for k, v in b.figures.items()}
        return replace(b, duration_s=b.duration_s * times, figures=figures)

    row = judge_serving(SWITCH, with_blocks(launches, stretched, number=None)).row(1, ITL, "mean")
    assert row.judgement.ratio == pytest.approx(1.05)
    assert row.judgement.interval == pytest.approx((1.05, 1.05))


def test_the_smallest_detectable_change_is_given_for_each_concurrency():
    result = judge_serving(SWITCH, campaign(SWITCH))
    found = result.smallest_detectable
    assert found.keys() == {1, 16} and all(0.01 <= value < 0.02 for value in found.values())
    assert result.to_json()["smallest_detectable"] == {"1": found[1], "16": found[16]}
    noisier = judge_serving(SWITCH, campaign(SWITCH, scatter=0.03)).smallest_detectable
    assert all(noisier[key] > found[key] for key in found)


def test_launches_that_are_few_ask_for_more():
    asked = plan(launches=3)
    result = judge_serving(asked, campaign(asked, step=1.1))
    assert result.verdict is Verdict.UNKNOWN
    assert all(row.judgement.more_launches == 4 for row in result.primary)
    assert not math.isnan(result.primary[0].judgement.ratio)
