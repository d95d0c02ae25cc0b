"""What parent and child processes of a campaign say to each other: JSON on a standard output that nothing else uses."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping
from typing import Any, NoReturn, TextIO

from gdnbench.values.errors import EnvironmentMissing, UserError


def private_stdout() -> TextIO:
    """The standard output, for our answers alone: whatever a library prints from now on goes to standard error."""
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(ours, "w")


def failure(error: Exception) -> dict[str, Any]:
    """An error as an answer. One that is not meant for the user leaves its traceback on standard error."""
    code = error.exit_code if isinstance(error, UserError) else None
    if code is None:
        traceback.print_exception(error)
    text = str(error) if code is not None else f"{type(error).__name__}: {error}"
    return {"error": text, "exit_code": code}


def raise_failure(reply: Mapping[str, Any]) -> None:
    """Raise what `failure` wrote, if the answer is one: as a UserError where it was one, else as a RuntimeError."""
    if "error" not in reply:
        return
    kinds = {kind.exit_code: kind for kind in (UserError, EnvironmentMissing)}
    kind: type[Exception] = kinds.get(reply["exit_code"], RuntimeError)
    raise kind(reply["error"])


def leave(status: int) -> NoReturn:
    """End this process at once: taking the interpreter and its libraries down tells nobody anything, and takes time."""
    sys.stderr.flush()
    os._exit(status)
