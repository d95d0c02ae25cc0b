from __future__ import annotations

import json

import pytest

from gdnbench.campaign.plan import Plan, compare, with_limit
from gdnbench.campaign.planning import plan_step
from gdnbench.values.errors import UserError
from gdnbench.values.variants import parse


def plan(before: str, after: str, **rest: object) -> Plan:
    return compare(parse(before), parse(after), ["16q1s1k"], **rest)  # type: ignore[arg-type]


def test_a_plan_survives_its_file() -> None:
    made = plan("pr51913.before", "pr51913.after+2%", launches=3, core=1)
    assert Plan.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_the_control_is_the_before_side_again() -> None:
    made = plan("pr51913.before", "pr51913.after+2%")
    assert made.sides == {"before": "pr51913.before", "after": "pr51913.after+2%", "control": "pr51913.before"}
    assert made.handicapped == ("after",)
    assert (made.part, made.change) == ("build", 51913)


@pytest.mark.parametrize(
    ("before", "after", "shares", "vllm"),
    [
        ("pr51913.before", "pr51913.after", True, None),
        ("vllm@0.28.0", "pr51913.after", True, "0.28.0"),
        ("vllm@0.28.0", "vllm@0.28.0+2%", True, "0.28.0"),
        ("vllm@0.27.0", "vllm@0.28.0", False, None),
        ("path:/a", "vllm@0.28.0", False, None),
    ],
)
def test_sides_share_a_process_unless_they_need_two_vllms(
    before: str, after: str, shares: bool, vllm: str | None
) -> None:
    made = plan(before, after)
    assert (made.shares_process, made.shared_vllm) == (shares, vllm)
    assert (made.core is None) is shares, "processes that take turns share a core"


@pytest.mark.parametrize(
    "damage",
    [{"schema": 99}, {"sides": {"after": "pr51913.after"}}, {"scenarios": None}, {"colour": "red"}],
)
def test_a_damaged_plan_is_refused_in_one_line(damage: dict[str, object]) -> None:
    with pytest.raises(UserError) as caught:
        Plan.from_json({**plan("pr51913.before", "pr51913.after").to_json(), **damage})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("sides", "part", "says"),
    [
        (("pr51913.before", "pr51913.after"), "biuld", "did you mean build"),
        (("pr51913.before", "pr55404.after"), None, "55404 has no part 'build'"),
        (("vllm@0.29.0", "vllm@0.30.0"), "nonsense", "no change has part"),
    ],
)
def test_an_unknown_part_is_refused_with_those_that_are(sides: tuple[str, str], part: str | None, says: str) -> None:
    with pytest.raises(UserError, match=says):
        plan(*sides, part=part)


def test_the_limit_stands_beside_where_it_has_the_part() -> None:
    assert (
        with_limit(plan_step("pr51913.before", "pr51913.after", ["16q1s1k"], None, 1, 1, "cpu")).sides["limit"]
        == "limit"
    )
    other = plan_step("pr40654.before", "pr40654.after", ["14q1s1k_2q300s1k/v2"], "mla", 1, 1, "cpu")
    assert with_limit(other) == other
    itself = plan_step("vllm@0.32.0", "limit", ["16q1s1k"], None, 1, 1, "cpu", limit=True)
    assert "limit" not in itself.sides, "a side already: nothing is measured twice"
    with pytest.raises(UserError, match="has no part 'mla': leave --limit out"):
        plan_step("pr40654.before", "pr40654.after", ["14q1s1k_2q300s1k/v2"], "mla", 1, 1, "cpu", limit=True)
