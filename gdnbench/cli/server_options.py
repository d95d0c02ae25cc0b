"""The options by which every command that starts servers is told which."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PresetOption = Annotated[str, typer.Option(help="The setting: tiny-cpu or qwen3.6-dflash.")]
ReleaseOption = Annotated[
    str | None, typer.Option(help="The vLLM that serves reference builders. Default: 0.29.0, or what they need.")
]
ModelOption = Annotated[str | None, typer.Option(help="A model instead of the preset's.")]
TokenizerOption = Annotated[Path | None, typer.Option(help="Directory with its tokenizer.json, if it is not there.")]
SpeculativeOption = Annotated[
    str | None, typer.Option(help="vLLM's speculative configuration as JSON, the preset's word (mtp), or none.")
]
ServerFlagOption = Annotated[list[str] | None, typer.Option(help="One more argument of the server; may be repeated.")]
