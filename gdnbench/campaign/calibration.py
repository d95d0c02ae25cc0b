"""Calibration: a campaign of one variant against itself and against handicaps, and whole campaigns besides.

DIR/                      the journal of the recording: every comparison in every launch
DIR/whole/01-control/     the journals of the whole campaigns: identical code, and one handicap, in turns
DIR/whole/01-handicap/
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gdnbench.campaign import campaign
from gdnbench.campaign.journal import Journal
from gdnbench.campaign.judged import default_launches, judge_campaign
from gdnbench.campaign.plan import Plan, compare
from gdnbench.campaign.recordings import recording_of
from gdnbench.campaign.turns import AFTER, BEFORE, CONTROL
from gdnbench.drivers.choice import change_of, choose_part
from gdnbench.values.errors import Interrupted, UserError
from gdnbench.values.recordings import Recording, WholeCampaign
from gdnbench.values.variants import parse

VARIANT, SCENARIO = "pr51913.after", "16q1s1k"
HANDICAPS = ("+2%", "+5%")
WHOLE_HANDICAP = "+2%"
"""Of the whole campaigns: the smallest change of a step's time that anybody has claimed."""

LAUNCHES = 100
PER_CAMPAIGN = default_launches(rows=1)
"""The launches of a campaign that is about one scenario."""

_ROLES = (BEFORE, CONTROL, *HANDICAPS)


@dataclass(frozen=True, slots=True)
class Journals:
    """The journals of one calibration: of the recording, and of the whole campaigns."""

    recording: Journal
    whole: tuple[Journal, ...]

    @property
    def directory(self) -> Path:
        return self.recording.directory

    @property
    def launches(self) -> int:
        """Of all campaigns together."""
        return sum(journal.plan.launches for journal in (self.recording, *self.whole))

    @property
    def finished(self) -> int:
        """Those that are done."""
        return self.launches - sum(len(journal.missing()) for journal in (self.recording, *self.whole))

    @contextmanager
    def resumable(self) -> Iterator[None]:
        """Turns Ctrl-C into the line that says how to go on."""
        try:
            yield
        except (KeyboardInterrupt, Interrupted):
            raise Interrupted(
                f"interrupted after {self.finished} of {self.launches} launches; "
                f"go on with gdnbench calibrate --resume {self.directory}"
            ) from None


def begin(
    launches: int = LAUNCHES,
    whole: int = 0,
    directory: Path | None = None,
    per_campaign: int = PER_CAMPAIGN,
    **rest: Any,
) -> Journals:
    """The journals of a new calibration.

    Args:
        launches: of the recording, at least `per_campaign`.
        whole: campaigns of either kind to run besides.
        directory: of the journals; default, a new one in the cache.
        per_campaign: launches of a campaign, drawn or whole.
        rest: other attributes of the plans.

    Raises:
        UserError: too few launches, or `directory` holds a campaign already.
        EnvironmentMissing: it cannot be written.
    """
    if launches < per_campaign:
        raise UserError(
            f"{launches} launches: at least {per_campaign}, one campaign, are needed to draw campaigns from"
        )
    variant = parse(VARIANT)
    part, change = choose_part((variant, variant), None), change_of((variant, variant))
    sides = {BEFORE: VARIANT, CONTROL: VARIANT} | {handicap: VARIANT + handicap for handicap in HANDICAPS}
    recording = campaign.begin(Plan(sides, (SCENARIO,), part, change, launches=launches, **rest), directory)
    plans = {
        name: compare(variant, parse(VARIANT + suffix), (SCENARIO,), launches=per_campaign, **rest)
        for name, suffix in (("control", ""), ("handicap", WHOLE_HANDICAP))
    }
    return Journals(
        recording,
        tuple(
            campaign.begin(plan, recording.directory / "whole" / f"{number:02}-{name}")
            for number in range(1, whole + 1)
            for name, plan in plans.items()
        ),
    )


def resume(directory: Path) -> Journals:
    """The journals that `begin` made in `directory`.

    Raises:
        UserError: there are none, they are damaged, or they are those of another kind of campaign.
    """
    recording = Journal.open(directory)
    if tuple(recording.plan.sides) != _ROLES:
        raise UserError(f"{directory} holds no calibration: go on with it by the command that began it")
    return Journals(recording, tuple(Journal.open(path) for path in sorted((directory / "whole").glob("*"))))


def run(journals: Journals, done: Callable[[int], None] = lambda finished: None) -> Recording:
    """Run what is still missing, the recording first; the recording, with the whole campaigns in it.

    Args:
        done: told how many launches of all campaigns are finished, at the start and after each.

    Raises:
        Interrupted: by Ctrl-C; the finished launches are kept.
        LaunchFailed: a launch crashed or hung; likewise.
        UserError: identical code gave different metadata.
    """
    with journals.resumable():
        launches = campaign.run(journals.recording, done)
        before = len(launches)
        whole = []
        for journal in journals.whole:
            whole.append(_run_whole(journal, lambda finished, before=before: done(before + finished)))  # type: ignore[misc]
            before += journal.plan.launches
    return recording_of(journals.recording.plan, launches, whole)


def _run_whole(journal: Journal, done: Callable[[int], None]) -> WholeCampaign:
    launches = campaign.run(journal, done)
    (row,) = judge_campaign(journal.plan, launches).result.rows
    handicap, ratio = journal.plan.variants[AFTER].handicap, row.judgement.ratio
    if ratio is None:
        raise UserError(f"{journal.directory}: {row.judgement.reason}")
    return WholeCampaign(
        handicap=CONTROL if handicap is None else str(handicap),
        launches=len(launches),
        verdict=row.judgement.verdict,
        ratio=round(ratio, 6),
        seconds=round(sum(launch.seconds for launch in launches), 1),
    )
