from __future__ import annotations

import errno

import pytest
import typer

from gdnbench.cli import app, exits
from gdnbench.values.errors import EnvironmentMissing, Interrupted, UserError
from gdnbench.values.verdicts import Verdict


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (UserError("a bad\nname"), 2, "gdnbench: a bad name"),
        (Interrupted("stopped"), 3, "gdnbench: stopped"),
        (EnvironmentMissing("no GPU"), 4, "gdnbench: no GPU"),
        (KeyboardInterrupt(), 3, "gdnbench: interrupted"),
        (
            OSError(errno.EROFS, "Read-only", "/x/y"),
            4,
            "gdnbench: cannot write /x/y: Read-only",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), 4, "gdnbench: cannot write: No space left on device"),
        (typer.BadParameter("not so"), 2, "gdnbench: Invalid value: not so (see gdnbench --help)"),
    ],
)
def test_an_error_is_one_line_and_its_exit_code(
    error: BaseException, status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = typer.Typer()

    @broken.command()
    def fail() -> None:
        raise error

    assert exits.run(broken, []) == status
    told = capsys.readouterr()
    assert told.out == "" and told.err == line + "\n"


def test_a_fault_of_ours_keeps_its_traceback() -> None:
    broken = typer.Typer()

    @broken.command()
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        exits.run(broken, [])


def test_a_command_gives_its_own_exit_code() -> None:
    sound = typer.Typer()

    @sound.command()
    def command(status: int) -> int:
        return status

    assert [exits.run(sound, [str(status)]) for status in (0, 1)] == [0, 1]


def test_fail_on_names_verdicts() -> None:
    failing = exits.verdict_names(exits.FAIL_ON)
    assert failing == {Verdict.REGRESSED, Verdict.INVALID}
    assert exits.verdict_names(" unknown, same") == {Verdict.UNKNOWN, Verdict.SAME}
    assert exits.verdict_names("none") == exits.verdict_names("") == frozenset()
    with pytest.raises(UserError, match="regresed"):
        exits.verdict_names("regresed")


@pytest.mark.parametrize(
    ("verdicts", "status"), [(["improved", "same"], 0), (["improved", "regressed"], 1), (["invalid"], 1), ([], 0)]
)
def test_the_exit_code_of_verdicts(verdicts: list[str], status: int) -> None:
    assert exits.status_of(map(Verdict, verdicts), exits.verdict_names(exits.FAIL_ON)) == status


@pytest.mark.parametrize("command", ["step"])
def test_help_shows_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exits.run(app, [command, "--help"]) == 0
    assert f"Example: gdnbench {command}" in " ".join(capsys.readouterr().out.split())
