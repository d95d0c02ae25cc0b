"""The libraries of the extra `history`: named where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from gdnbench.values.errors import EnvironmentMissing

LIBRARIES = ("pandas", "pyarrow", "duckdb", "fsspec")


def require_libraries() -> None:
    """Check that the extra is installed.

    Raises:
        EnvironmentMissing: it is not; the line says what to install.
    """
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        raise EnvironmentMissing(
            f"a history needs {', '.join(missing)}: install it with pip install 'gdnbench[history]'"
        )
