"""Starting the command line is quick: nothing heavy is imported before a command runs."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("torch", "numpy", "scipy", "pandas", "matplotlib", "jinja2", "pydantic")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from gdnbench.cli import app, exits\n"
        "assert exits.run(app, ['--help']) == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "step" in done.stdout and "Exit codes" in done.stdout


def test_no_command_shows_the_help() -> None:
    done = subprocess.run([sys.executable, "-m", "gdnbench"], capture_output=True, text=True)
    assert done.returncode == 2 and "Usage: gdnbench" in done.stdout
