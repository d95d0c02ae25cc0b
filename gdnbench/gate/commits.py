"""A commit of this repository as a baseline: which one a name means, and its reference builders on disk.

Only `gdn_impl` is taken from the commit. The harness that counts is this checkout's for both sides, so that a change of
the harness is never taken for a change of the builders.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gdnbench.oracle.cache import aside, cache_root, writing
from gdnbench.values.errors import EnvironmentMissing, UserError

PACKAGE = "gdn_impl"
TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, and the folder that holds its `gdn_impl`."""

    name: str
    folder: Path


def find_commit(checkout: Path, ref: str) -> str | None:
    """The full name of the commit that `ref` means in a checkout; None if it means none.

    Raises:
        EnvironmentMissing: there is no git, or no repository.
    """
    _git(checkout, "rev-parse", "--git-dir")
    try:
        return _git(checkout, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    except UserError:
        return None


def checked_out(checkout: Path) -> tuple[str | None, bool]:
    """The commit of a checkout, None where there is none; and whether files of the project differ from it."""
    try:
        commit = _git(checkout, "rev-parse", "--verify", "--quiet", "HEAD")
        return commit, bool(_git(checkout, "status", "--porcelain", "--", PACKAGE, "gdnbench"))
    except UserError:
        return None, False


def between(checkout: Path, before: str, after: str, most: int = 1000) -> tuple[str, ...]:
    """The commits after one and up to another, oldest first: the newest `most` of them.

    Raises:
        UserError: the checkout does not know one of them.
        EnvironmentMissing: there is no git, or it takes too long.
    """
    names = _git(checkout, "rev-list", f"--max-count={most}", "--end-of-options", f"{before}..{after}")
    return tuple(reversed(names.split()))


def builders_of(checkout: Path, commit: str) -> Commit:
    """The reference builders of a commit, in a folder of the cache that is named after their contents.

    Neither the checkout nor its index is touched.

    Raises:
        UserError: the commit has none.
        EnvironmentMissing: the cache cannot be written.
    """
    try:
        tree = _git(checkout, "rev-parse", "--verify", "--quiet", f"{commit}:./{PACKAGE}")
    except UserError:
        raise UserError(f"commit {commit[:12]} holds no {PACKAGE} to count") from None
    folder = cache_root() / "builders" / tree
    if not folder.is_dir():
        with writing(cache_root()), aside(folder) as made:
            top, index = Path(_git(checkout, "rev-parse", "--show-toplevel")), {"GIT_INDEX_FILE": str(made / "index")}
            _git(top, "read-tree", tree, env=index)
            _git(top, "checkout-index", "--all", f"--prefix={made / PACKAGE}{os.sep}", env=index)
            (made / "index").unlink()
    return Commit(commit, folder)


def _git(checkout: Path, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    try:
        done = subprocess.run(
            command, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except FileNotFoundError:
        raise EnvironmentMissing("git is not installed: compare with a file that --save wrote instead") from None
    except subprocess.TimeoutExpired:
        raise EnvironmentMissing(f"git {arguments[0]} took more than {TIMEOUT_S} s") from None
    if done.returncode == 0:
        return done.stdout.strip()
    last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    if arguments[:2] == ("rev-parse", "--git-dir"):
        raise EnvironmentMissing(f"{checkout} is no git repository that can be read ({last}): use a file from --save")
    raise UserError(f"git {arguments[0]} failed: {last}")
