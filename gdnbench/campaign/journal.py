"""A campaign on disk: its plan, and one file for each finished launch. Nothing is ever overwritten.

DIR/plan.json             what was planned
DIR/waits.json            how long the busy waits of handicapped sides are, in idle loops
DIR/launches/003.json     a finished launch, written aside and renamed
DIR/launches/003.log      what a launch that failed wrote to standard error
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from gdnbench.campaign.machine import Hardware
from gdnbench.campaign.plan import Plan
from gdnbench.campaign.records import LaunchRecord
from gdnbench.oracle.cache import cache_root
from gdnbench.values.errors import EnvironmentMissing, Interrupted, UserError


class AnyPlan(Protocol):
    """What a journal asks of a plan: how many launches, and that it can be written and read."""

    @property
    def launches(self) -> int: ...

    def to_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, data: Mapping[str, Any], /) -> Self: ...


class AnyLaunch(Protocol):
    """What it asks of a launch."""

    @property
    def number(self) -> int: ...

    @property
    def hardware(self) -> Hardware: ...

    def to_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, data: Any, /) -> Self: ...


P = TypeVar("P", bound=AnyPlan)
L = TypeVar("L", bound=AnyLaunch)


class CampaignJournal(Generic[P, L]):
    """The directory of one campaign, of whatever kind: a subclass names its plan and its launch."""

    plan_class: ClassVar[type[Any]]
    launch_class: ClassVar[type[Any]]

    def __init__(self, directory: Path, plan: P) -> None:
        self.directory = directory
        self.plan = plan

    @classmethod
    def create(cls, directory: Path, plan: P) -> Self:
        """Begin a campaign in `directory`, which must not hold one yet.

        Raises:
            UserError: it holds a campaign.
            EnvironmentMissing: the disk refuses.
        """
        with _disk(directory):
            (directory / "launches").mkdir(parents=True, exist_ok=True)
            if (directory / "plan.json").exists():
                raise UserError(f"{directory} holds a campaign already: go on with it by --resume {directory}")
            _write(directory / "plan.json", plan.to_json())
        return cls(directory, plan)

    @classmethod
    def open(cls, directory: Path) -> Self:
        """The campaign that `create` began in `directory`.

        Raises:
            UserError: there is none, or its plan is damaged.
        """
        path = directory / "plan.json"
        try:
            data = _read(path)
        except FileNotFoundError:
            raise UserError(f"{directory} holds no campaign (no plan.json)") from None
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read: {error}") from None
        try:
            return cls(directory, cls.plan_class.from_json(data))
        except UserError as error:
            raise UserError(f"{path}: {error}") from None

    @classmethod
    def going_on(cls, directory: Path, plan: P) -> Self:
        """The campaign in `directory`, begun there with `plan` if there is none yet.

        Raises:
            UserError: another campaign is there.
            EnvironmentMissing: it cannot be written.
        """
        if not (directory / "plan.json").exists():
            return cls.create(directory, plan)
        found = cls.open(directory)
        if found.plan != plan:
            raise UserError(f"{directory} holds a campaign of another plan: move it away")
        return found

    @contextmanager
    def locked(self) -> Iterator[None]:
        """While a process runs this campaign, no other does."""
        with (self.directory / "plan.json").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(f"another process is running the campaign in {self.directory}") from None
            yield

    @contextmanager
    def running(self, *failures: type[UserError], options: str = "") -> Iterator[None]:
        """While its launches run: locked; what ends them early says what is kept and how to go on.

        Args:
            failures: errors after which the campaign can go on, beside Ctrl-C.
            options: of the command line that it has to go on with, beside the directory.

        Raises:
            Interrupted: by Ctrl-C.
        """
        with self.locked():
            try:
                yield
            except KeyboardInterrupt:
                raise Interrupted(f"interrupted after {self.kept}; {self.how_to_go_on}{options}") from None
            except failures as error:
                raise type(error)(f"{error} ({self.kept} are kept; {self.how_to_go_on}{options})") from None

    def waits(self) -> dict[str, dict[str, int]] | None:
        """For each handicapped role and scenario its busy wait in idle loops; None before they were measured."""
        path = self.directory / "waits.json"
        try:
            return {role: {name: int(n) for name, n in own.items()} for role, own in _read(path).items()}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise self._damaged(path, error) from None

    def record_waits(self, waits: Mapping[str, Mapping[str, int]]) -> None:
        """Keep the busy waits: a campaign has the same from its first launch to its last."""
        with _disk(self.directory):
            _write(self.directory / "waits.json", waits)

    @property
    def kept(self) -> str:
        """How much of it is finished, in words."""
        return f"{self.plan.launches - len(self.missing())} of {self.plan.launches} launches"

    @property
    def how_to_go_on(self) -> str:
        """What a person does after an interruption."""
        return f"go on with --resume {self.directory}"

    def finished(self) -> tuple[L, ...]:
        """The finished launches, in their order.

        Raises:
            UserError: a file is damaged; the line names it.
        """
        return tuple(self._finished())

    @property
    def hardware(self) -> Hardware | None:
        """Of its finished launches: one kind of machine, since `record` takes no other; None before the first."""
        first = next(self._finished(), None)
        return None if first is None else first.hardware

    def missing(self) -> tuple[int, ...]:
        """The numbers of the launches that are still to run."""
        return tuple(n for n in range(1, self.plan.launches + 1) if not self._file(n, "json").exists())

    def record(self, launch: L) -> None:
        """Keep a finished launch.

        Raises:
            UserError: it ran on other hardware than those before it.
            EnvironmentMissing: the disk refuses.
        """
        same_hardware(self.hardware, launch.hardware)
        with _disk(self.directory):
            _write(self._file(launch.number, "json"), launch.to_json())

    def log(self, number: int) -> Path:
        """Where a launch's standard error goes; 0 is the first measurement."""
        return log_of(self.directory, number)

    def _finished(self) -> Iterator[L]:
        for number in range(1, self.plan.launches + 1):
            path = self._file(number, "json")
            try:
                record: L = self.launch_class.from_json(_read(path))
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                raise self._damaged(path, error) from None
            yield record

    def _damaged(self, path: Path, error: Exception) -> UserError:
        return UserError(f"{path} is damaged ({error}): delete it, then --resume {self.directory}")

    def _file(self, number: int, kind: str) -> Path:
        return self.directory / "launches" / f"{number:03}.{kind}"


class Journal(CampaignJournal[Plan, LaunchRecord]):
    """Of a campaign of step time."""

    plan_class = Plan
    launch_class = LaunchRecord


def log_of(directory: Path, number: int) -> Path:
    """Where the standard error of a launch goes in a campaign's directory."""
    return directory / "launches" / f"{number:03}.log"


def same_hardware(kept: Hardware | None, new: Hardware) -> None:
    """Make sure that a campaign stays on one kind of machine: what differs between two would pass for noise.

    Args:
        kept: of the finished launches, None where there are none.
        new: where a launch ran, or is to run.

    Raises:
        UserError: they differ.
    """
    if kept is not None and kept != new:
        raise UserError(
            f"the launches of this campaign ran on {kept}, and this machine is {new}: "
            "go on with it on one of that kind, or begin a new campaign"
        )


def new_directory(sides: Mapping[str, str], kind: str = "") -> Path:
    """Where a new campaign goes: in the cache, under a name of its own.

    Args:
        sides: its roles and their variants; the first two are in the name.
        kind: of campaign, where it is not one of step time.
    """
    # Neither a slash nor a colon: the name becomes part of a path, and that of a search path.
    names = "-".join(re.sub(r"[/:]", "_", side) for side in list(sides.values())[:2])
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    parts = [stamp, *([kind] if kind else []), names[:80], secrets.token_hex(2)]
    return cache_root() / "campaigns" / "-".join(parts)


def _read(path: Path) -> Any:
    return json.loads(path.read_text())


def _write(path: Path, data: Any) -> None:
    aside = path.with_suffix(".aside")
    try:
        aside.write_text(json.dumps(data) + "\n")
        os.link(aside, path)  # unlike a rename, it fails where something stands
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def _disk(directory: Path) -> Iterator[None]:
    """Turns what the disk refuses into one line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise EnvironmentMissing(
            f"cannot write to {directory} ({reason}): campaigns lie in the cache, which GDNBENCH_CACHE moves"
        ) from None
