"""What an executor is, and the one that runs launches on this machine, one after another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, TypeVar

from gdnbench.campaign.journal import same_hardware
from gdnbench.campaign.machine import Hardware, accelerators, cpu_model
from gdnbench.values.errors import UserError

T = TypeVar("T")

Say = Callable[[str], None]
Tick = Callable[[], None]

Work = Callable[[int, Path, Tick], T]
"""One launch: takes its number, the directory of its logs, and what to call as it gets on; gives its record.

A function of a module with its first arguments bound, so that it can be sent to another machine.
"""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a machine must have before launches run on it.

    Attributes:
        device: `cpu` or `cuda`.
        check: raises a UserError where something is missing, or fetches it and says so. It can be sent, as `Work` can.
        paths: of the plan: files and directories that every machine must have, with the same contents.
        hardware: of the launches that are finished; None where there are none.
    """

    device: str
    check: Callable[[Say], None]
    paths: tuple[Path, ...] = ()
    hardware: Hardware | None = None


class LaunchLost(UserError):  # noqa: N818 - what happened, not a fault
    """Machines were lost, and launches with them that could not be tried again. What was finished is kept."""

    exit_code = 4


class Executor(Protocol):
    """Runs launches. A launch holds both sides, so it is never divided, and whoever runs it again runs all of it."""

    here: bool
    """Whether on this machine, so that the plan's cores are those of the machine."""

    options: str
    """How a command is told to use it, with a blank before; empty for what is the default."""

    def prepare(self, needs: Needs, say: Say) -> None:
        """Make sure, before anything is begun, that there are machines that have what is needed.

        Args:
            say: is told what takes long, and which machines are left out and why.

        Raises:
            UserError, EnvironmentMissing: there are none.
        """

    def run(self, work: Work[T], numbers: Sequence[int], directory: Path, tick: Tick) -> Iterator[T]:
        """Run launches; each record once, in the order in which they end. To be called after `prepare`.

        Args:
            numbers: of the launches.
            directory: of the campaign, for logs.
            tick: called as a launch gets on, where it runs here.

        Raises:
            LaunchLost: machines were lost.
            UserError: what a launch raised.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class LocalExecutor:
    """Runs launches on this machine."""

    here = True
    options = ""

    def prepare(self, needs: Needs, say: Say) -> None:
        same_hardware(needs.hardware, hardware_here())
        needs.check(say)

    def run(self, work: Work[T], numbers: Sequence[int], directory: Path, tick: Tick = lambda: None) -> Iterator[T]:
        for number in numbers:
            yield work(number, directory, tick)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


LOCAL = LocalExecutor()


def hardware_here() -> Hardware:
    """Of this machine."""
    return Hardware(cpu_model(), os.cpu_count() or 0, accelerators())
