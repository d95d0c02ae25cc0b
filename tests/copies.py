"""A copy of the project's packages, for tests that change them: everything runs in processes that import the copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Copy:
    """The packages in a folder of their own.

    Args:
        folder: an empty one.
        more: further files and folders of the project.
    """

    def __init__(self, folder: Path, *more: str) -> None:
        self.root = folder
        for name in ("gdn_impl", "gdnbench", "pyproject.toml", *more):
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "GITHUB_"))}
        self.env |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        self.env |= {"GDNBENCH_CACHE": str(folder / "cache"), "HOME": str(folder)}

    def run(self, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        """What a command says in the copy; `python` is this interpreter, and `gdnbench` the copy's."""
        python = {"python": [sys.executable], "gdnbench": [sys.executable, "-m", "gdnbench"]}
        words = [*python.get(command[0], [command[0]]), *command[1:]]
        return subprocess.run(
            words, cwd=self.root, env=self.env | env, capture_output=True, text=True, timeout=280, check=False
        )

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace the one place of a text in a file."""
        path = self.root / name
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{name} has {text.count(old)} times {old!r}"
        path.write_text(text.replace(old, new), "utf-8")
