"""Runs on disk: written once, read by everything that speaks of more than one of them.

Needs the extra `history` (pandas, pyarrow, duckdb, fsspec); without it every door here says so.
"""

from gdnbench.history.doors import frame, open_history

__all__ = ["frame", "open_history"]
