"""What may take turns in one server, what needs servers apart, and what is refused."""

from __future__ import annotations

import pytest

from gdnbench.serving.plan import ServePlan
from gdnbench.serving.planning import plan_serve
from gdnbench.serving.session import percentile, requests_of
from gdnbench.values.errors import UserError


@pytest.mark.parametrize(
    ("before", "after", "method", "release"),
    [
        ("pr51913.before", "pr51913.after", "switch", "0.29.0"),
        ("pr52078.before", "pr52078.after", "switch", "0.29.0"),
        ("pr51913.after", "pr51913.after+100us", "switch", "0.29.0"),
        ("vllm@0.29.0", "vllm@0.29.0", "switch", "0.29.0"),
        ("pr52078.after", "vllm@0.29.0", "switch", "0.29.0"),
        ("pr51913.after", "vllm@0.29.0", "apart", "0.29.0"),
        ("pr51565.before", "pr51565.after", "apart", "0.31.0"),
        ("vllm@0.29.0", "fault:rotated-states", "apart", "0.29.0"),
    ],
)
def test_sides_share_a_server_only_where_they_must_give_the_same(before, after, method, release):
    plan = plan_serve(before, after)
    assert (plan.method, set(plan.releases.values())) == (method, {release})
    assert ("control" in plan.sides) == (method == "switch")


def test_two_releases_are_served_apart_and_loaded_alike():
    plan = plan_serve("vllm@0.30.0", "vllm@0.31.0")
    assert plan.method == "apart"
    assert plan.releases == {"before": "0.30.0", "after": "0.31.0"}
    assert plan.load_release == "0.30.0"


@pytest.mark.parametrize(("concurrency", "launches"), [((1,), 6), ((1, 16), 7)])
def test_launches_are_the_fewest_that_can_say_something(concurrency, launches):
    assert plan_serve("vllm@0.29.0", "vllm@0.29.0", concurrency=concurrency).launches == launches


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"before": "pr40654.before"}, "on a CPU nothing reads the bound"),
        ({"before": "pr41873.before"}, "pr41873.before"),
        ({"method": "sideways"}, "there are switch and apart"),
        ({"after": "fault:rotated-stats"}, "rotated-stat"),
        ({"after": "vllm@0.31.0", "method": "switch"}, "one server runs one release"),
        ({"before": "pr51565.before", "after": "pr51565.after", "method": "switch"}, "need not give equal metadata"),
        ({"preset_name": "huge"}, "known are tiny-cpu"),
        ({"speculative": "eagle"}, "neither JSON nor one of mtp, none"),
        ({"speculative": '{"method": "mtp"}'}, "num_speculative_tokens"),
        ({"after": "vllm@0.29.0+100us", "observation": True}, "give one variant twice"),
        ({"before": "path:/tmp"}, "releases only"),
    ],
)
def test_what_cannot_be_asked_of_a_server_is_one_line(arguments, told):
    asked = {"before": "vllm@0.29.0", "after": "vllm@0.29.0"} | arguments
    with pytest.raises(UserError, match=told):
        plan_serve(asked.pop("before"), asked.pop("after"), **asked)


def test_speculation_is_a_word_of_the_preset_or_json_or_none():
    def speculative(word):
        return plan_serve("vllm@0.29.0", "vllm@0.29.0", speculative=word).server.speculative

    assert speculative(None) is None
    assert speculative("none") is None
    assert speculative("mtp") == {"method": "mtp", "num_speculative_tokens": 2}
    assert speculative('{"method": "ngram", "num_speculative_tokens": 3}')["method"] == "ngram"


def test_the_server_holds_as_many_sequences_as_are_in_flight():
    flags = plan_serve("vllm@0.29.0", "vllm@0.29.0", concurrency=(48,)).server.flags
    assert flags[flags.index("--max-num-seqs") + 1] == "48"


def test_a_plan_is_read_as_it_was_written():
    plan = plan_serve("pr52078.before", "pr52078.after", speculative="mtp", output_len=17)
    assert ServePlan.from_json(plan.to_json()) == plan


def test_every_round_has_its_requests_and_every_launch_its_order():
    load = plan_serve("vllm@0.29.0", "vllm@0.29.0").loads[1]
    rounds = requests_of(load, 20, "0/1")
    assert [len(one) for one in rounds] == [load.requests] * load.rounds
    assert {index for one in rounds for index in one} == set(range(20))
    assert rounds == requests_of(load, 20, "0/1") != requests_of(load, 20, "0/2")


def test_percentiles_are_those_of_numpy():
    assert percentile([1.0, 2.0, 3.0, 4.0], 50) == 2.5
    assert percentile([5.0], 99) == 5.0
    assert percentile(list(range(101)), 99) == 99


def test_the_limit_is_served_by_the_release_whose_metadata_it_gives():
    plan = plan_serve("vllm@0.32.0", "limit")
    assert (plan.method, set(plan.releases.values())) == ("switch", {"0.32.0"})
    assert plan_serve("limit", "limit+100us").releases["before"] == "0.32.0"
    with pytest.raises(UserError, match="need not give equal metadata"):
        plan_serve("pr51565.after", "limit", method="switch", release="0.32.0")
