"""The measurements behind the table of methods: small, and each method finds what is plain."""

from __future__ import annotations

import numpy as np
import pytest

from gdnbench.history import shift_methods, shift_nights
from gdnbench.history.shift_methods import Method, asv, our_reports, reports, rolling, ruptures


def plain() -> np.ndarray:
    """One series whose step of 30 % in night 60 nobody can miss."""
    values = 20 * np.exp(0.01 * np.random.default_rng(0).standard_normal((1, 70)))
    values[:, 60:] *= 1.3
    return values


@pytest.mark.parametrize("method", [rolling, asv, ruptures], ids=lambda method: method.__name__)
def test_a_plain_step_is_reported_once(method: Method) -> None:
    pytest.importorskip("asv" if method is asv else "ruptures" if method is ruptures else "numpy")
    (told,) = reports(method, plain(), 55)
    assert [night for night in told if night >= 60][:1] in ([60], [61], [62])
    assert len(told) <= 2


def test_our_rule_reports_it_too() -> None:
    assert our_reports(plain(), 55) == [[62]]


def test_the_same_series_are_drawn_every_time() -> None:
    assert (shift_methods.drawn(0.02, 0.05, 3) == shift_methods.drawn(0.02, 0.05, 3)).all()


def test_tables_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["shift_nights", "--series", "60", "--nights", "60"])
    shift_nights.main()
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("| normal")]) == 3
    assert len([line for line in lines if line.startswith("| 5%")]) == 2
    assert len({line.count("|") for line in lines[:11]}) == 1


@pytest.mark.slow
def test_the_table_of_methods_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["shift_methods", "--series", "2"])
    shift_methods.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7 and len({line.count("|") for line in lines}) == 1
