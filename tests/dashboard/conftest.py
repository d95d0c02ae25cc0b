"""One site for all tests that only read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import sites
from gdnbench.dashboard.data import SiteData


@dataclass(frozen=True)
class Made:
    """A site, and what it was made from."""

    folder: Path
    history: Path
    data: SiteData

    def text(self, path: str) -> str:
        return (self.folder / path).read_text("utf-8")

    def series(self, **key: str) -> str:
        """The id of the only series whose key has these fields."""
        (found,) = [one.id for one in self.data.series if all(getattr(one.series, name) == key[name] for name in key)]
        return found


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    root = tmp_path_factory.mktemp("dashboard")
    data = sites.make(root / "runs", root / "site")
    return Made(root / "site", root / "runs", data)
