"""The libraries of the extra `history`: named where one is missing."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from gdnbench.values.errors import EnvironmentMissing

LIBRARIES = ("pandas", "pyarrow", "duckdb", "fsspec")


def missing(libraries: Iterable[str]) -> list[str]:
    """Those that are not installed."""
    return [name for name in libraries if find_spec(name) is None]


def require_libraries() -> None:
    """Check that the extra is installed.

    Raises:
        EnvironmentMissing: it is not; the line says what to install.
    """
    if lacking := missing(LIBRARIES):
        raise EnvironmentMissing(
            f"a history needs {', '.join(lacking)}: install it with pip install 'gdnbench[history]'"
        )
