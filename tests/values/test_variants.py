from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdnbench.values.errors import UserError
from gdnbench.values.variants import Handicap, Variant, VariantError, parse

CHANGES = (40654, 41873, 51913, 52078)


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("pr51913.before", Variant("pr", 51913, "before")),
        ("pr51913.after+2%", Variant("pr", 51913, "after", handicap=Handicap(2, "%"))),
        ("vllm@0.29.0", Variant("vllm", release="0.29.0")),
        ("vllm@0.29.0+0.5us", Variant("vllm", release="0.29.0", handicap=Handicap(0.5, "us"))),
        ("path:/src/vllm", Variant("path", path="/src/vllm")),
        ("limit", Variant("limit")),
        ("limit+2%", Variant("limit", handicap=Handicap(2, "%"))),
        ("fault:rotated-states", Variant("fault", fault="rotated-states")),
        ("fault:crash+2%", Variant("fault", fault="crash", handicap=Handicap(2, "%"))),
        ("path:/src/c++/vllm+12us", Variant("path", path="/src/c++/vllm", handicap=Handicap(12, "us"))),
    ],
)
def test_spelling_is_read_and_given_back(text: str, variant: Variant) -> None:
    assert parse(text, CHANGES) == variant
    assert str(variant) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pr51931.after", "did you mean pr51913.after?"),
        ("pr51913.afer", "did you mean pr51913.after?"),
        ("PR51913.before", "did you mean pr51913.before?"),
        ("vllm@29", "vllm@X.Y.Z"),
        ("vllm-0.29.0", "vllm@X.Y.Z"),
        ("path:", "folder"),
        ("path:+2%", "folder"),
        ("fault:", "fault:NAME"),
        ("fault:Rotated states", "fault:NAME"),
        ("pr51913.after+2", "+2% or +0.5us"),
        ("pr51913.after+0%", "between"),
        ("pr51913.after+10000000us", "between"),
        ("", "known are"),
        ("nonsense", "pr40654.before/after"),
        ("p" * 5000, "4,096"),
    ],
)
def test_mistyped_variant_is_one_line_that_helps(text: str, says: str) -> None:
    with pytest.raises(VariantError) as caught:
        parse(text, CHANGES)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, UserError) and caught.value.exit_code == 2


@given(st.text(max_size=40))
def test_any_text_is_a_variant_or_one_clear_line(text: str) -> None:
    try:
        variant = parse(text, CHANGES)
    except VariantError as error:
        assert str(error)
    else:
        assert parse(str(variant), CHANGES) == variant


@pytest.mark.parametrize(
    ("text", "vllm", "state"),
    [
        ("pr51913.after", None, "after"),
        ("vllm@0.29.0+2%", "0.29.0", "0.29.0"),
        ("path:/src/vllm+1us", "path:/src/vllm", "path:/src/vllm"),
    ],
)
def test_variant_says_whose_code_it_needs(text: str, vllm: str | None, state: str) -> None:
    assert (parse(text, CHANGES).vllm, parse(text, CHANGES).state) == (vllm, state)


def test_handicap_is_a_share_of_the_step_or_a_time() -> None:
    assert Handicap(2, "%").nanoseconds(15.0) == 300
    assert Handicap(0.5, "us").nanoseconds(15.0) == 500
