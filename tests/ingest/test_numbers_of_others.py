"""Numbers of several languages: read together, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdnbench.ingest.numbers import convention, number, readings


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1393.52", {".": 1393.52}),
        ("1393,52", {",": 1393.52}),
        ("1,393.52", {".": 1393.52}),
        ("1.393,52", {",": 1393.52}),
        ("1,393", {".": 1393.0, ",": 1.393}),
        ("0,393", {",": 0.393}),
        ("60", {".": 60.0, ",": 60.0}),
        ("1'393.52", {".": 1393.52}),
        ("1\u202f393,52", {",": 1393.52}),
        ("\u22121.5", {".": -1.5}),
        ("1e-3", {".": 1e-3, ",": 1e-3}),
        ("1,23,456", {}),
        ("1.2.3", {}),
        ("", {}),
        ("\u0661", {}),
    ],
)
def test_what_a_number_can_mean(text, found):
    assert readings(text) == found


def test_the_majority_says_which_sign_stands_before_decimals():
    dots = [("137.76", False), ("4.62", False), ("1,393", False)]
    assert convention(dots) == "." and number("1,393", False, ".") == 1393
    assert convention([("1393,52", False), ("0.5", False), ("0.25", False)]) == "."
    assert convention([("137.76", False), ("137,76", False)]) is None, "as much speaks for either"
    assert convention([("16,410", True)]) == ".", "a count has no decimals"
    assert convention([*dots, ("1,39", False)], by_all=True) is None, "it may be the beginning of 1,393.52"
    assert number("18.000", True, ".") is None and number("960.0", True, ".") == 960, "a count has no decimals"
    assert number("1,393", False, None) is None and number("60", False, None) == 60


@given(st.floats(0, 1e9).map(lambda value: round(value, 2)))
def test_every_way_of_writing_gives_the_number_back(value):
    english = f"{value:,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert number(english, False, ".") == value and number(german, False, ",") == value
    assert number(german.replace(".", "\u00a0"), False, ",") == value
