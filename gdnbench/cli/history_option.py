"""The options by which commands that measure keep their runs."""

from __future__ import annotations

from typing import Annotated

import typer

from gdnbench.history.doors import VARIABLE

HistoryOption = Annotated[
    str | None,
    typer.Option("--history", envvar=VARIABLE, help="Keep the run in this history: a folder, or a URL of fsspec."),
]

PlaceOption = Annotated[
    str | None,
    typer.Option("--history", envvar=VARIABLE, help="Where runs are kept: a folder, or a URL of fsspec."),
]
"""Of commands that measure what a history lacks."""
