"""A change's page holds both sides against the limit, where it ran beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

import sites
from gdnbench.dashboard.build import build
from kept import MACHINE, history, point, run
from page_text import Page


@pytest.mark.parametrize("limit", [4.0, None])
def test_both_sides_are_multiples_of_the_limit(limit: float | None, tmp_path: Path) -> None:
    own = {"pr51913.before": 15.0, "pr51913.after": 12.0} | ({} if limit is None else {"limit": limit})
    points = [point(us, series=sites.step_series(MACHINE, name)) for name, us in own.items()]
    points.append(point(0.8, series=sites.step_series(MACHINE, against="pr51913.before"), unit="ratio"))
    history(tmp_path / "runs").record(run("one", *points, machine=MACHINE))
    build(tmp_path / "site", sites.site(tmp_path / "runs"), ())
    page = Page((tmp_path / "site/changes/51913.html").read_text()).text
    assert ("3.8 x -> 3.0 x" in page) is (limit is not None)
