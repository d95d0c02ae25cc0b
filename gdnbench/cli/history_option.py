"""The option by which every command that measures keeps its run."""

from __future__ import annotations

from typing import Annotated

import typer

from gdnbench.history.doors import VARIABLE

HistoryOption = Annotated[
    str | None,
    typer.Option("--history", envvar=VARIABLE, help="Keep the run in this history: a folder, or a URL of fsspec."),
]
