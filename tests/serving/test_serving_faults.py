"""Everything that makes a server campaign invalid: one damage each, named, and nothing else alarmed."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from gdnbench.serving.judged import judge_serving
from gdnbench.serving.records import Acceptance, LiveEquality
from gdnbench.values.coverage import Builds, Kind
from gdnbench.values.verdicts import Verdict
from served import MTP, WORKLOAD, at, campaign, plan, with_blocks

SWITCH, APART = plan(launches=7), plan(method="apart", launches=7)
SPECULATIVE = plan("pr52078.before", "pr52078.after", speculative=MTP, launches=7)


def blocks(asked, **changes):
    """The launches of a sound campaign, with one block of `after` at concurrency 16 in launch 2 changed."""
    return with_blocks(campaign(asked), lambda block: replace(block, **changes) if at(block) else block)


def figures(asked, **changes):
    def changed(block):
        return replace(block, figures={**block.figures, **changes}) if at(block) else block

    return with_blocks(campaign(asked), changed)


def one(asked, number=3, **changes):
    return [replace(each, **changes) if each.number == number else each for each in campaign(asked)]


def servers(asked, number=3, role=None, **changes):
    def changed(server):
        return replace(server, **changes) if role in (None, server.role) else server

    return [
        replace(each, servers=tuple(map(changed, each.servers))) if each.number == number else each
        for each in campaign(asked)
    ]


def load(asked, **changes):
    return one(asked, load=replace(campaign(asked)[0].load, **changes))


DAMAGES = {
    "a request failed": (
        SWITCH,
        lambda: with_blocks(
            campaign(SWITCH),
            lambda b: replace(b, failed=3, completed=29, samples={**b.samples, "ttft": 29}) if at(b) else b,
        ),
        {"failed", "output_tokens", "inconsistent"},
        "failed",
        "launch 2, concurrency 16, round 3, after: 3 of 32 requests failed",
    ),
    "fewer completed than sent": (
        SWITCH,
        lambda: blocks(SWITCH, sent=33),
        {"incomplete"},
        "incomplete",
        "32 of 33 requests completed, and 0 are known to have failed",
    ),
    "nothing sent": (
        SWITCH,
        lambda: blocks(SWITCH, sent=0, completed=0, output_tokens=0, input_tokens=0, samples={}),
        {"incomplete", "tokens", "inconsistent", "no_samples"},
        "incomplete",
        "0 of 0 requests completed",
    ),
    "a success without a token": (
        SWITCH,
        lambda: blocks(SWITCH, empty=2),
        {"empty"},
        "empty",
        "2 of 32 requests succeeded without a token",
    ),
    "fewer tokens than asked for": (
        SWITCH,
        lambda: with_blocks(
            campaign(SWITCH),
            lambda b: (
                replace(
                    b,
                    output_tokens=992,
                    figures={**b.figures, "output_throughput": 992 / b.duration_s}
                    | {"total_token_throughput": (992 + 1600) / b.duration_s},
                )
                if (b.concurrency, b.round) == (16, 3)
                else b
            ),
        ),
        {"output_tokens"},
        "output_tokens",
        "992 output tokens, not 32 x 32 = 1,024 (and 2 more like this)",
    ),
    "a block is missing": (
        SWITCH,
        lambda: with_blocks(campaign(SWITCH), lambda b: None if at(b) else b),
        {"missing_blocks"},
        "missing_blocks",
        "launch 2, concurrency 16: after has 5 of 6 blocks",
    ),
    "other prompts": (
        SWITCH,
        lambda: blocks(SWITCH, prompts="others"),
        {"prompts"},
        "prompts",
        "its prompts are not those of before",
    ),
    "other prompts in a server of its own": (
        APART,
        lambda: blocks(APART, prompts="others"),
        {"prompts"},
        "prompts",
        "its prompts are not those of before",
    ),
    "other totals of tokens": (
        SWITCH,
        lambda: with_blocks(
            campaign(SWITCH),
            lambda b: (
                replace(
                    b, input_tokens=1599, figures={**b.figures, "total_token_throughput": (1024 + 1599) / b.duration_s}
                )
                if at(b)
                else b
            ),
        ),
        {"tokens"},
        "tokens",
        "1,599 tokens in and 1,024 out, and before had 1,600 and 1,024",
    ),
    "throughput without a number": (
        SWITCH,
        lambda: figures(SWITCH, output_throughput=math.nan),
        {"impossible"},
        "impossible",
        "output_throughput is nan tok/s",
    ),
    "throughput that is missing": (
        SWITCH,
        lambda: figures(SWITCH, output_throughput=None),
        {"impossible"},
        "impossible",
        "output_throughput is missing",
    ),
    "a block that took no time": (
        SWITCH,
        lambda: blocks(SWITCH, duration_s=0.0),
        {"impossible"},
        "impossible",
        "the block lasted 0 s",
    ),
    "throughput that its own tokens contradict": (
        SWITCH,
        lambda: figures(SWITCH, output_throughput=5000.0),
        {"inconsistent"},
        "inconsistent",
        "output_throughput x duration is",
    ),
    "more in flight than allowed": (
        SWITCH,
        lambda: figures(SWITCH, mean_e2el_ms=900.0, median_e2el_ms=900.0, p99_e2el_ms=901.0),
        {"inconsistent"},
        "inconsistent",
        "requests in flight by their mean duration, and 16 is the limit",
    ),
    "more accepted than drafted": (
        SPECULATIVE,
        lambda: blocks(SPECULATIVE, acceptance=Acceptance(400, 400, 600)),
        {"inconsistent"},
        "inconsistent",
        "600 of 400 draft tokens accepted",
    ),
    "a side changed within a step": (
        SWITCH,
        lambda: blocks(SWITCH, mixed_steps=1),
        {"mixed_steps"},
        "mixed_steps",
        "the side changed within 1 of its steps",
    ),
    "builds of another side": (
        SWITCH,
        lambda: blocks(SWITCH, builds={"after": 100, "before": 3}),
        {"wrong_side"},
        "wrong_side",
        "3 builds of before ran in it",
    ),
    "no build of its own": (
        SWITCH,
        lambda: blocks(SWITCH, builds={}),
        {"wrong_side"},
        "wrong_side",
        "no build of after ran in it",
    ),
}
OF_THE_CAMPAIGN = {
    "another temperature": (
        SWITCH,
        lambda: load(SWITCH, sampling={"temperature": 0.7}),
        "sampling",
        "launch 3: unlike launch 1 in temperature of the sampling",
    ),
    "another length": (
        SWITCH,
        lambda: [replace(each, load=replace(each.load, output_len=31, ignore_eos=True)) for each in campaign(SWITCH)],
        "sampling",
        "31 tokens a request were asked for, not 32",
    ),
    "an end of sequence that counted": (
        SWITCH,
        lambda: load(SWITCH, ignore_eos=False),
        "sampling",
        "the end of a sequence was not ignored",
    ),
    "another load generator": (
        SWITCH,
        lambda: load(SWITCH, release="0.32.0"),
        "release",
        "the load generator was that of 0.32.0, not 0.29.0",
    ),
    "another server": (
        SWITCH,
        lambda: servers(SWITCH, release="0.28.0"),
        "release",
        "launch 3: the server ran 0.28.0, not 0.29.0",
    ),
    "builders of ours in two releases": (
        plan(method="apart", launches=7, releases=("0.28.0", "0.29.0")),
        lambda: campaign(plan(method="apart", launches=7, releases=("0.28.0", "0.29.0"))),
        "release",
        "before ran in 0.28.0 and after in 0.29.0",
    ),
    "other flags from launch to launch": (
        SWITCH,
        lambda: servers(SWITCH, command=("--enforce-eager", "--dtype", "float32")),
        "flags",
        "launch 3: unlike launch 1 in its command",
    ),
    "other flags on one side": (
        APART,
        lambda: servers(APART, role="after", settings={"OMP": "2"}),
        "flags",
        "launch 3, after: unlike before in its settings",
    ),
    "another runner on one side": (
        APART,
        lambda: [
            replace(
                each, servers=tuple(replace(one, runner="V2") if one.role == "after" else one for one in each.servers)
            )
            for each in campaign(APART)
        ],
        "flags",
        "launch 1, after: unlike before in its runner (and 6 more like this)",
    ),
    "no server on record": (APART, lambda: one(APART, servers=()), "flags", "no server of this side is on record"),
    "other requests": (
        SWITCH,
        lambda: one(SWITCH, workload={**WORKLOAD, "sha256": "60", "requests": 63}),
        "workload",
        "launch 3: unlike launch 1 in requests, sha256 of the requests",
    ),
    "prefix caching": (SWITCH, lambda: servers(SWITCH, prefix_caching=True), "prefix_caching", "was on"),
    "compilation": (
        SWITCH,
        lambda: servers(SWITCH, notes=("INFO: torch.compile takes 2 s",)),
        "compilation",
        "launch 3: the server compiled while it was measured: INFO: torch.compile takes 2 s",
    ),
    "other builds per step": (
        SWITCH,
        lambda: servers(SWITCH, builds_per_step=1.0),
        "builds_per_step",
        "launch 3: 1.00 builds a step, and 3.00 in the unpatched server",
    ),
    "unequal metadata": (
        SWITCH,
        lambda: one(SWITCH, equality=LiveEquality(500, 3, ("state_indices",))),
        "unequal",
        "launch 3: 3 of 500 live builds differ in state_indices, which were promised equal",
    ),
    "sides that promise nothing in one server": (
        plan("pr51565.before", "pr51565.after", launches=7),
        lambda: one(plan("pr51565.before", "pr51565.after", launches=7), equality=None),
        "unproven",
        "launch 3: nothing shows",
    ),
    "sides that promise nothing and differ": (
        plan("pr51565.before", "pr51565.after", launches=7),
        lambda: one(
            plan("pr51565.before", "pr51565.after", launches=7), equality=LiveEquality(500, 500, ("num_prefills",))
        ),
        "unequal",
        "500 of 500 live builds differ in num_prefills, and the sides share their state",
    ),
    "nothing ran the change": (
        SWITCH,
        lambda: one(SWITCH, coverage={role: (Builds(Kind.PREFILL, False, 40, 80.0, 78.0),) for role in SWITCH.sides}),
        "never_ran",
        "the changed code never ran: steps without a prefill run the code of 51913, and none of the 40 builds of "
        "before in launch 3 was one (and 1 more like this)",
    ),
    "nothing was built": (
        SWITCH,
        lambda: one(SWITCH, coverage={}),
        "never_ran",
        "the changed code never ran",
    ),
    "no speculation for 52078": (
        plan("pr52078.before", "pr52078.after", launches=7),
        lambda: campaign(plan("pr52078.before", "pr52078.after", launches=7)),
        "never_ran",
        "the changed code never ran: steps with drafts run the code of 52078, and this server does not speculate",
    ),
    "a change that a server does not judge": (
        plan("pr55404.before", "pr55404.after", launches=7),
        lambda: campaign(plan("pr55404.before", "pr55404.after", launches=7)),
        "never_ran",
        "the changed code never ran: a live server does not judge 55404: capture does not happen in an eager server",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_block_spoils_its_concurrency_alone(name):
    asked, damaged, codes, code, says = DAMAGES[name]
    result = judge_serving(asked, damaged())
    assert {fault.code for fault in result.invalid} == codes
    fault = next(fault for fault in result.invalid if fault.code == code)
    assert says in fault.message and "\n" not in fault.message
    assert fault.concurrency == 16
    untouched, spoiled = result.primary
    assert untouched.judgement.verdict is Verdict.SAME
    assert spoiled.judgement.verdict is Verdict.INVALID
    assert spoiled.before is not None and spoiled.after is not None and spoiled.judgement.ratio is not None
    assert result.verdict is Verdict.INVALID


@pytest.mark.parametrize("name", OF_THE_CAMPAIGN)
def test_a_campaign_that_compares_unlike_things_is_invalid(name):
    asked, damaged, code, says = OF_THE_CAMPAIGN[name]
    result = judge_serving(asked, damaged())
    expected = {code, "output_tokens"} if name == "another length" else {code}
    assert {fault.code for fault in result.invalid} == expected
    fault = next(fault for fault in result.invalid if fault.code == code)
    assert says in fault.message and "\n" not in fault.message
    assert {row.judgement.verdict for row in result.rows} == {Verdict.INVALID}
    assert all(code in row.judgement.reason for row in result.primary)
    assert all(row.before and row.after for row in result.primary), "figures are kept"


@pytest.mark.parametrize(
    ("changes", "code", "metric", "says"),
    [
        ({"mean_tpot_ms": -1.2}, "impossible", "tpot", "mean tpot is -1.2 ms"),
        ({"mean_tpot_ms": 0.0}, "impossible", "tpot", "mean tpot is 0 ms, of 1,024 tokens in 32 requests"),
        ({"median_itl_ms": math.inf}, "impossible", "itl", "median itl is inf ms"),
        ({"p99_ttft_ms": math.nan}, "impossible", "ttft", "p99 ttft is nan ms"),
        ({"mean_e2el_ms": None}, "no_samples", "e2el", "e2el has no sample of 32 requests"),
        ({"median_ttft_ms": 5000.0}, "inconsistent", "ttft", "the median of ttft, 5000 ms, lies above its p99"),
    ],
)
def test_an_impossible_latency_spoils_its_own_rows(changes, code, metric, says):
    result = judge_serving(SWITCH, figures(SWITCH, **changes))
    (fault,) = result.invalid
    assert (fault.code, fault.concurrency, fault.metrics) == (code, 16, (metric,))
    assert says in fault.message
    spoiled = {(row.concurrency, row.metric.tag) for row in result.rows if row.judgement.verdict is Verdict.INVALID}
    assert spoiled == {(16, metric)}
    assert result.verdict is Verdict.INVALID, "a campaign with a fault never passes"


def test_one_block_whose_answers_came_all_at_once_is_a_caveat_and_many_are_a_fault():
    result = judge_serving(SWITCH, figures(SWITCH, median_tpot_ms=-3.9e-06))
    assert not result.invalid
    (caveat,) = [one for one in result.warnings if one.code == "at_once"]
    assert caveat.message.startswith("in 1 of ")

    def all_at_once(block):
        return replace(block, figures={**block.figures, "median_tpot_ms": 2e-07}) if block.round == 0 else block

    faults = judge_serving(SWITCH, with_blocks(campaign(SWITCH), all_at_once)).invalid
    assert {(fault.code, fault.metrics) for fault in faults} == {("at_once", ("tpot", "itl"))}


def test_a_latency_without_samples_is_a_fault_and_one_without_a_percentile_too():
    def without(block):
        return replace(block, samples={**block.samples, "itl": 0}) if at(block) else block

    (fault,) = judge_serving(SWITCH, with_blocks(campaign(SWITCH), without)).invalid
    assert (fault.code, fault.metrics) == ("no_samples", ("itl",))
    unpooled = tuple(one for one in campaign(SWITCH)[2].pooled if (one.role, one.metric) != ("after", "e2el"))
    faults = judge_serving(SWITCH, one(SWITCH, pooled=unpooled)).invalid
    assert {(fault.code, fault.metrics, fault.concurrency) for fault in faults} == {
        ("no_samples", ("e2el",), 1),
        ("no_samples", ("e2el",), 16),
    }


def test_a_side_that_is_missing_is_shown_one_armed():
    gone = with_blocks(campaign(SWITCH), lambda b: None if (b.role, b.concurrency) == ("after", 16) else b, number=None)
    result = judge_serving(SWITCH, gone)
    assert {fault.code for fault in result.invalid} == {"missing_blocks"}
    row = result.row(16)
    assert row.judgement.verdict is Verdict.INVALID
    assert row.before is not None and (row.after, row.judgement.ratio) == (None, None)
    assert [one.concurrency for one in result.decomposition] == [1]


def test_the_launches_of_different_orders_of_requests_are_alike():
    reordered = with_blocks(campaign(SWITCH), lambda b: replace(b, prompts=f"shuffled {b.prompts}"), number=4)
    assert judge_serving(SWITCH, reordered).invalid == ()


def test_settings_of_our_own_may_differ_between_sides():
    assert {server.settings["GDNBENCH_ROLE"] for server in campaign(APART)[0].servers} == {"before", "after"}
    assert judge_serving(APART, campaign(APART)).invalid == ()


def test_no_launches_cannot_be_judged():
    with pytest.raises(ValueError, match="without launches"):
        judge_serving(SWITCH, [])
