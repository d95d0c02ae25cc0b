"""The measurement of the site's own speed: on a small history, in a browser, with asv beside it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gdnbench.dashboard import opening
from gdnbench.values.errors import EnvironmentMissing


@pytest.mark.slow
def test_it_tells_every_figure() -> None:
    asked = [sys.executable, "-m", "gdnbench.dashboard.speed", "--points", "2000", "--runs", "20"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split()[0] for line in told] == ["the", "overview,", "asv", "asv"]
    assert float(told[1].split()[-2]) < 2.0


def test_a_machine_without_a_browser_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening.shutil, "which", lambda _: None)
    with pytest.raises(EnvironmentMissing, match="apt-get install chromium"):
        opening.browser()
