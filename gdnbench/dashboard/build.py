"""The whole site, written aside and put in its place when it is whole."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from gdnbench.dashboard.asv_site import AsvSite, require_asv
from gdnbench.dashboard.data import SiteData
from gdnbench.dashboard.grouped import write_changes, write_devices
from gdnbench.dashboard.marked import Shifts
from gdnbench.dashboard.overview import write_overview
from gdnbench.dashboard.pages import Pages
from gdnbench.dashboard.release_page import largest, rows_of, write_releases
from gdnbench.dashboard.run_pages import write_runs
from gdnbench.dashboard.series_pages import write_series
from gdnbench.oracle.cache import ASIDE
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.releases import ReleaseHistory
from gdnbench.values.shifts import Shift, Suspect

MARK = "gdnbench-dashboard.txt"
"""The file by which a folder is known as a site of ours, which a new one may replace."""


def check_place(out: Path, asv: bool) -> None:
    """Whether a site can be made, and put there.

    Raises:
        UserError: something else is there, and nothing of others is overwritten.
        EnvironmentMissing: plotly, or asv where it is asked for, is not installed.
    """
    if find_spec("plotly") is None:
        raise EnvironmentMissing("a dashboard needs plotly: install it with pip install 'gdnbench[dashboard]'")
    if asv:
        require_asv()
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UserError(f"--out {out}: a folder is needed, and something else is there")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise UserError(f"--out {out}: it is not empty and holds no dashboard: name another folder")


def build(
    out: Path,
    site: SiteData,
    shifts: Iterable[Shift],
    suspects: Iterable[Suspect] = (),
    releases: ReleaseHistory | None = None,
    asv: bool = False,
) -> None:
    """Write the site into a folder; a site that is there already is replaced when the new one is whole.

    Args:
        asv: whether `asv publish` shows the same figures beside it.

    Raises:
        UserError, EnvironmentMissing: as `check_place`; or the disk or asv refuses, and what was there is still there.
    """
    check_place(out, asv)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=ASIDE, dir=out.parent))
        try:
            _write(made, site, Shifts(site, shifts, suspects), releases, asv)
            made.chmod(0o755)
            _replace(made, out)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise EnvironmentMissing(f"cannot write {out} ({error.strerror or error})") from None


def _write(folder: Path, site: SiteData, shifts: Shifts, releases: ReleaseHistory | None, asv: bool) -> None:
    beside = AsvSite(site) if asv and site.runs else None
    pages = Pages(folder, {"site": site, "asv": beside})
    pages.assets()
    loads = rows_of(releases, site.number)
    write_overview(pages, site, shifts, largest(loads))
    write_series(pages, site, shifts)
    write_changes(pages, site, shifts)
    write_devices(pages, site, shifts)
    write_runs(pages, site)
    write_releases(pages, releases, loads)
    if beside is not None:
        beside.publish(folder / "asv")
    pages.put(MARK, "a dashboard of gdnbench: a new one may replace this folder\n")


def _replace(made: Path, out: Path) -> None:
    """Put the new site where the old one is, which goes only when the new one is there."""
    if not out.exists():
        made.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=ASIDE, dir=out.parent))
    out.rename(old / "old")
    try:
        made.rename(out)
    except OSError:
        (old / "old").rename(out)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
