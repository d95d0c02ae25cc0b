"""The errors that a person is meant to see: one line that says what, where and what to do, and an exit code."""

from __future__ import annotations

from typing import ClassVar


class UserError(Exception):
    """Bad usage or bad input. The message is one line; commands print it without a traceback."""

    exit_code: ClassVar[int] = 2


class Interrupted(UserError):  # noqa: N818 - what happened, not a fault
    """The user stopped it; what was finished is kept, and the message says how to go on."""

    exit_code = 3


class EnvironmentMissing(UserError):  # noqa: N818 - what is missing, not a fault
    """This machine cannot do it as it is; the message says what to install or free."""

    exit_code = 4
