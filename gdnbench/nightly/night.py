"""A night: the parts of a plan, each measured and kept before the next begins, within a budget."""

from __future__ import annotations

import hashlib
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from gdnbench.history.history import History
from gdnbench.history.pointing import one_line
from gdnbench.history.reading import KeptRun
from gdnbench.history.shifts import report
from gdnbench.history.shifts import suspects as suspects_of
from gdnbench.nightly.answered import Stamp, answered_by, fingerprint, last_seconds
from gdnbench.nightly.budget import estimate_s, in_order
from gdnbench.nightly.measuring import Say, Told, measure
from gdnbench.nightly.parts import NightPlan, Part
from gdnbench.oracle.cache import cache_root
from gdnbench.values.errors import Interrupted, UserError
from gdnbench.values.nights import Night, PartOutcome, PartState, alerts
from gdnbench.values.runs import Run
from gdnbench.values.shifts import Shift
from gdnbench.values.verdicts import Verdict

RERUNS = 4
"""Times that a suspect is measured again in one night, at most."""

STALE_S = 12 * 3600
"""A campaign that was interrupted longer ago is not gone on with: its launches would be of another night."""

Suspects = Callable[[History, tuple[str, ...]], Collection[str]]
"""Given a history and the names of the runs that answer this night's parts, reruns included: those to measure again."""

Measure = Callable[[Part, Path, Told, Say], Run]


def doubted(history: History, runs: tuple[str, ...]) -> Collection[str]:
    """The runs of tonight in which some series may have shifted."""
    return {suspect.night for suspect in suspects_of(history, runs)}


@dataclass(frozen=True, slots=True)
class Telling:
    """Who is told what while a night goes on.

    Attributes:
        told: what is being done, how much of it, and how much there is.
        say: one line.
    """

    told: Told = lambda stage, done, total: None
    say: Say = lambda line: None


def run_night(
    plan: NightPlan,
    history: History,
    *,
    budget_s: float | None = None,
    fail_on: frozenset[Verdict] | None = None,
    shifts: bool = True,
    suspects: Suspects = doubted,
    telling: Telling | None = None,
    measuring: Measure = measure,
) -> Night:
    """Measure what a plan asks and no run of the history answers; each part is kept as soon as it is done.

    A part that cannot be measured is named, and the rest goes on. After the parts, what is suspect is measured again,
    and shifts that no night has told yet are told. Ctrl-C ends it after what it interrupted is put down; the
    same call goes on where it stopped.

    Args:
        history: where runs are kept.
        budget_s: the seconds that it may take; default, the plan's. A part begins if its estimate fits.
        fail_on: verdicts that are alerts; default, the plan's.
        shifts: whether it is a night of series that are followed: suspects are measured again, news of shifts told.
        suspects: which of its runs to measure again, asked until it names none, at most `RERUNS` times.
        telling: who is told of progress.
        measuring: how a part is measured.

    Raises:
        UserError, EnvironmentMissing: the history cannot be read or written.
    """
    history.place.prepare()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    night = _Night(history, budget_s or plan.budget_s, started, telling or Telling(), measuring)
    night.measure(plan.parts)
    news: tuple[Shift, ...] = ()
    if shifts:
        night.rerun(suspects)
        news = () if night.stopped else report(history)
    outcomes = tuple(night.outcomes[place] for place in sorted(night.outcomes))
    named = plan.fail_on if fail_on is None else fail_on
    return Night(started, plan.name, night.budget_s, night.elapsed, outcomes, alerts(outcomes, named), news)


@dataclass(slots=True)
class _Night:
    """A night while it goes on.

    Attributes:
        outcomes: by the place of a part in the plan.
        takes: the seconds that each part is expected to take.
        parts: by the names of runs that answer parts of this night, the place and the part.
        stopped: whether somebody stopped it.
    """

    history: History
    budget_s: float
    name: str
    telling: Telling
    measuring: Measure
    clock: float = field(default_factory=time.monotonic)
    outcomes: dict[int, PartOutcome] = field(default_factory=dict)
    takes: dict[int, float] = field(default_factory=dict)
    parts: dict[str, tuple[int, Part]] = field(default_factory=dict)
    stopped: bool = False

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.clock

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(self.budget_s - self.elapsed, 0.0)

    def measure(self, parts: Sequence[Part]) -> None:
        """Every part that is not answered, in an order that suits the budget."""
        runs = self.history.listing().runs
        for place, part in enumerate(parts):
            self.takes[place] = estimate_s(part, last_seconds(part, runs))
            answer = answered_by(part, runs, fingerprint(part))
            if answer is not None:
                self.outcomes[place] = _skipped(part, answer)
                self.parts[str(answer.name)] = (place, part)
                self.telling.say(f"skipped {part.name}: {self.outcomes[place].why}")
        due = [place for place in self.takes if place not in self.outcomes]
        order = in_order([parts[place] for place in due], [self.takes[place] for place in due], self.budget_s)
        for number, place in enumerate((due[at] for at in order), 1):
            self.outcomes[place] = self._part(parts[place], place, f"{number} of {len(due)}")

    def _part(self, part: Part, place: int, which: str) -> PartOutcome:
        seconds = self.takes[place]
        if self.stopped:
            return PartOutcome(part.name, PartState.INTERRUPTED, "the night was stopped before")
        if seconds > self.left:
            why = f"it takes about {_minutes(seconds)}, and {_minutes(self.left)} were left"
            self.telling.say(f"left out {part.name}: {why}")
            return PartOutcome(part.name, PartState.LEFT_OUT, why)
        self.telling.say(f"{which}: {part.name}, about {_minutes(seconds)}")
        clock = time.monotonic()
        try:
            name, run = self._measured(part, place)
        except _Ended as ended:
            self.telling.say(f"{ended.state.value} {part.name}: {ended.why}")
            return PartOutcome(part.name, ended.state, ended.why, time.monotonic() - clock, expected=part.expected)
        took = time.monotonic() - clock
        verdict = "" if run.verdict is None else f": {run.verdict.value}"
        self.telling.say(f"{which}: {part.name}{verdict}, {_minutes(took)}, kept as {name}")
        return PartOutcome(part.name, PartState.MEASURED, "", took, (name,), run.verdict, part.expected)

    def rerun(self, suspects: Suspects) -> None:
        """Measure suspects again, as long as there are any and there is time."""
        for number in range(1, RERUNS + 1):
            named = set(suspects(self.history, tuple(self.parts))) if self.parts and not self.stopped else set()
            again = {place: part for name, (place, part) in self.parts.items() if name in named}
            if not again:
                return
            for place, part in again.items():
                self.outcomes[place] = self._again(part, place, number)

    def _again(self, part: Part, place: int, number: int) -> PartOutcome:
        outcome = self.outcomes[place]
        if self.stopped or self.takes[place] > self.left:
            return replace(outcome, why="it is suspect, and there was no time to measure it again")
        self.telling.say(f"again, rerun {number}: {part.name}")
        try:
            name, _ = self._measured(part, place, number)
        except _Ended as ended:
            state = ended.state if ended.state is PartState.INTERRUPTED else outcome.state
            return replace(outcome, state=state, why=f"rerun {number} {ended.state.value}: {ended.why}")
        return replace(outcome, runs=(*outcome.runs, name))

    def _measured(self, part: Part, place: int, rerun: int = 0) -> tuple[str, Run]:
        """A part measured and kept: the name of its run, and the run.

        Raises:
            _Ended: it could not be.
        """
        try:
            return self._kept(part, place, rerun)
        except (Interrupted, KeyboardInterrupt) as error:
            self.stopped = True
            how_far = str(error).partition(";")[0]  # what follows is how to go on with that campaign alone
            raise _Ended(PartState.INTERRUPTED, how_far or "by Ctrl-C") from None
        except UserError as error:
            raise _Ended(PartState.FAILED, str(error)) from None
        except Exception as error:  # whatever it is, the rest of the night goes on
            traceback.print_exc(file=sys.stderr)
            raise _Ended(PartState.FAILED, f"{type(error).__name__}: {error}") from None

    def _kept(self, part: Part, place: int, rerun: int) -> tuple[str, Run]:
        clock, digits, told = time.monotonic(), fingerprint(part), self.telling.told
        for journal in _journals(part, digits, self.history.place.location, rerun):
            begun = journal.exists()
            run = self.measuring(
                part, journal, lambda stage, done, of: told(f"{part.name}: {stage}", done, of), self.telling.say
            )
            seconds = 0.0 if begun else max(round(time.monotonic() - clock, 1), 0.1)
            first = self.outcomes[place].runs[0] if rerun else ""
            name, new = self.history.record(Stamp(self.name, part.digest, digits, seconds, rerun).on(run, first))
            if new or not begun:  # else this campaign was finished and kept before, and the next one begins anew
                break
        self.parts[name] = (place, part)
        return name, run


class _Ended(Exception):  # noqa: N818 - what happened
    """A part came to an end without a run."""

    def __init__(self, state: PartState, why: str) -> None:
        super().__init__(why)
        self.state = state
        self.why = one_line(" ".join(why.split()))


def _skipped(part: Part, answer: KeptRun) -> PartOutcome:
    same = "sources and libraries" if part.kind == "cost" else "sources, libraries and machine"
    why = f"{answer.name} has the same {same}"
    return PartOutcome(part.name, PartState.SKIPPED, why, 0.0, (str(answer.name),), answer.verdict, part.expected)


def _journals(part: Part, digits: str, history: str, rerun: int) -> Iterator[Path]:
    """Where a part's campaign may lie: the one to go on with, if one is young enough, then new ones."""
    asked = hashlib.sha256(f"{digits} {part.digest} {history} {rerun}".encode()).hexdigest()[:16]
    number = 0
    while True:
        number += 1
        directory = cache_root() / "campaigns" / f"night-{part.kind}-{asked}-{number}"
        begun = directory / "plan.json"
        if not begun.exists() or time.time() - begun.stat().st_mtime < STALE_S:
            yield directory


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} min"
