"""Exit codes, one table for every command, and the one place where an error becomes a line."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import NoReturn

import typer

from gdnbench.values.errors import EnvironmentMissing, Interrupted, UserError
from gdnbench.values.verdicts import Verdict

DONE, FAILING_VERDICT = 0, 1
TABLE = (
    "0 done, 1 a verdict that --fail-on names, 2 usage or bad input, 3 interrupted (can be resumed), "
    "4 the environment cannot do it"
)
CLICK_INTERRUPTED = 130
"""What the command line's library makes of Ctrl-C."""

FAIL_ON = "regressed,invalid"
"""What --fail-on names by default."""

_DISK = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR}


def run(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit code. Errors that a person is meant to see become one line on standard error.

    Args:
        arguments: without the program's name; default, those of this process.
    """
    before = signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        status = app(arguments, prog_name="gdnbench", standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        return _say(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", Interrupted.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whoever read our output has gone; nothing is left to flush to
        return DONE
    except OSError as error:
        if error.errno not in _DISK:
            raise
        place = f" {error.filename}" if error.filename else ""  # a write to an open file names none
        return _say(f"cannot write{place}: {error.strerror}", EnvironmentMissing.exit_code)
    except Exception as error:
        if not hasattr(error, "format_message"):  # what the command line's library raises for bad usage
            raise
        return _usage(error)
    finally:
        signal.signal(signal.SIGTERM, before)
    if status == CLICK_INTERRUPTED:
        return _say("interrupted", Interrupted.exit_code)
    return status if isinstance(status, int) else DONE


def verdict_names(text: str) -> frozenset[Verdict]:
    """The verdicts that a `--fail-on` list names; `none` or nothing at all names none.

    Raises:
        UserError: one of them is no verdict.
    """
    names = [name.strip() for name in text.split(",") if name.strip() not in ("", "none")]
    known = {verdict.value for verdict in Verdict}
    for name in names:
        if name not in known:
            raise UserError(f"--fail-on: {name!r} is no verdict; known: {', '.join(sorted(known))}, none")
    return frozenset(Verdict(name) for name in names)


def status_of(verdicts: Iterable[Verdict], fail_on: frozenset[Verdict]) -> int:
    """The exit code that these verdicts give."""
    return FAILING_VERDICT if fail_on & set(verdicts) else DONE


def _usage(error: Exception) -> int:
    message = error.format_message()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(message)
        return UserError.exit_code
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    return _say(message + hint, UserError.exit_code)


def _say(message: str, status: int) -> int:
    print(f"gdnbench: {' '.join(message.split())}", file=sys.stderr)
    return status


def _as_interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
