"""asv's own pages of the same history: the same values, under the address that the pages of series link to."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest

import sites
from gdnbench.dashboard.asv_site import AsvSite

pytestmark = pytest.mark.skipif(
    find_spec("asv") is None or shutil.which("git") is None, reason="needs asv (the extra asv) and git"
)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("asv")
    return root / "site", sites.make(root / "runs", root / "site", asv=True)


def test_asv_shows_the_same_values(published) -> None:
    folder, data = published
    graphs = {
        path.stem: json.loads(path.read_text()) for path in (folder / "asv" / "graphs").glob("**/machine-*/**/*.json")
    }
    known = json.loads((folder / "asv" / "index.json").read_text())["benchmarks"]
    compared = 0
    for one in data.series:
        link = AsvSite(data).link(one)
        name, _, query = link.partition("?")
        at = known[name]["params"][0].index(parse_qs(query)["p-series"][0])
        shown = [values[at] if isinstance(values, list) else values for _, values in graphs[name]]
        stored = np.array(data.column(one, "value"))
        stored[list(one.invalid)] = np.nan
        assert [value for value in shown if value is not None] == stored[np.isfinite(stored)].tolist()
        compared += np.isfinite(stored).sum()
    assert compared == len(data.points) - 3


def test_a_run_is_a_commit_at_its_position(published) -> None:
    folder, data = published
    found = json.loads((folder / "asv" / "index.json").read_text())
    dates = [found["revision_to_date"][revision] for revision in sorted(found["revision_to_date"], key=int)]
    assert dates == [int(run.position.timestamp() * 1000) for run in data.runs]


def test_texts_of_others_reach_asv_harmless(published) -> None:
    _, data = published
    hostile = next(one for one in data.series if one.series.variant == sites.HOSTILE)
    assert not set("<>&\"'") & set(AsvSite(data).parameter(hostile))
    names = [AsvSite(data).parameter(one) for one in data.series]
    assert len(set(zip(names, map(AsvSite.benchmark, data.series), strict=True))) == len(names)


def test_pages_link_to_it(published) -> None:
    folder, _ = published
    assert 'href="asv/index.html"' in (folder / "index.html").read_text("utf-8")
    page: Path = next((folder / "series").glob("*.html"))
    assert 'href="../asv/index.html#' in page.read_text("utf-8")
    assert (folder / "asv" / "index.html").is_file()
