"""Nights: what is skipped, what fails, what does not fit, what is measured again; each part is kept at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gdnbench.history.surroundings import host
from gdnbench.nightly import night as nights
from gdnbench.nightly.answered import stamp_of
from gdnbench.nightly.night import Telling, run_night
from gdnbench.nightly.parts import NightPlan, Part
from gdnbench.values.errors import EnvironmentMissing, Interrupted
from gdnbench.values.nights import Night, PartState
from gdnbench.values.runs import Machine, Run
from gdnbench.values.verdicts import Verdict
from kept import history, point, run, series

MEASURED, SKIPPED, FAILED = PartState.MEASURED, PartState.SKIPPED, PartState.FAILED
LEFT_OUT, INTERRUPTED = PartState.LEFT_OUT, PartState.INTERRUPTED
NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDNBENCH_CACHE", str(tmp_path / "cache"))


def part(change: int = 51913, kind: str = "step", **more) -> Part:
    return Part(kind, f"pr{change}.before", f"pr{change}.after", **more)  # type: ignore[arg-type]


def plan(*parts: Part, budget_s: float = 600.0, fail_on: frozenset[Verdict] = frozenset({Verdict.REGRESSED})):
    return NightPlan("a plan", budget_s, fail_on, parts)


def made(asked: Part, verdict: Verdict = Verdict.SAME, when: datetime | None = None) -> Run:
    """A run as measuring a part makes it."""
    found = run(
        f"token {next(NUMBERS)}",
        point(series=series(variant=asked.after)),
        started=(when or datetime.now(UTC)).isoformat(),
        kind=asked.kind,
        variants={"before": asked.before, "after": asked.after},
        machine=Machine(host(), "cpu", "A Processor", cores=2),
    )
    return Run(found.identity, found.points, found.token, verdict)


class Measuring:
    """Measures by doing nothing, or what a test wants done for a part."""

    def __init__(self, **does: Callable[[Part], Run]) -> None:
        self.does = does
        self.measured: list[str] = []

    def __call__(self, asked: Part, journal: Path, told, say) -> Run:
        name = asked.before.removesuffix(".before")
        self.measured.append(name)
        return self.does.get(name, made)(asked)


def night(place: Path, asked: NightPlan, measuring: Measuring, **more) -> Night:
    return run_night(asked, history(place), measuring=measuring, **more)


def states(found: Night) -> list[PartState]:
    return [one.state for one in found.outcomes]


def test_each_part_is_kept_and_says_of_which_night_it_is(tmp_path: Path) -> None:
    found = night(tmp_path, plan(part(51913), part(52078, "cost")), Measuring())
    assert states(found) == [MEASURED, MEASURED]
    kept = history(tmp_path).listing().runs
    assert [str(one.name) for one in kept] == [name for one in found.outcomes for name in one.runs]
    for one, asked in zip(kept, (part(51913), part(52078, "cost")), strict=True):
        stamp = stamp_of(one)
        assert stamp is not None
        assert (stamp.night, stamp.part, stamp.rerun) == (found.name, asked.digest, 0)


def test_what_was_measured_with_the_same_sources_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, measuring = plan(part(51913), part(52078, "cost")), Measuring()
    first = night(tmp_path, asked, measuring)
    second = night(tmp_path, asked, measuring)
    assert states(second) == [SKIPPED, SKIPPED]
    assert [one.runs for one in second.outcomes] == [one.runs for one in first.outcomes]
    assert "has the same sources, libraries and machine" in second.outcomes[0].why
    assert "has the same sources and libraries" in second.outcomes[1].why
    monkeypatch.setenv("GDNBENCH_MACHINE", "another")
    assert states(night(tmp_path, asked, measuring)) == [MEASURED, SKIPPED], "counts are the same on every machine"
    assert measuring.measured == ["pr51913", "pr52078", "pr51913"]


def test_another_question_is_not_answered(tmp_path: Path) -> None:
    measuring = Measuring()
    night(tmp_path, plan(part(51913)), measuring)
    found = night(tmp_path, plan(part(51913, options={"launches": 20})), measuring)
    assert states(found) == [MEASURED]


@pytest.mark.parametrize("hours, again", [(19, SKIPPED), (21, MEASURED), (-5, SKIPPED)])
def test_times_are_measured_again_when_they_are_old(tmp_path: Path, hours: float, again: PartState) -> None:
    old = Measuring(pr51913=lambda asked: made(asked, when=datetime.now(UTC) - timedelta(hours=hours)))
    asked = plan(part(51913, again_after_s=20 * 3600))
    night(tmp_path, asked, old)
    assert states(night(tmp_path, asked, Measuring())) == [again]


def test_what_came_out_invalid_is_measured_again(tmp_path: Path) -> None:
    asked = plan(part(51913))
    night(tmp_path, asked, Measuring(pr51913=lambda one: made(one, Verdict.INVALID)))
    assert states(night(tmp_path, asked, Measuring())) == [MEASURED]


def test_a_checkout_of_vllm_may_change_unseen_so_it_is_never_skipped(tmp_path: Path) -> None:
    asked = plan(Part("step", "path:/there", "limit"))
    night(tmp_path, asked, Measuring())
    assert states(night(tmp_path, asked, Measuring())) == [MEASURED]


@pytest.mark.parametrize("error", [EnvironmentMissing("no GPU\nhere"), ZeroDivisionError("division by zero")])
def test_a_part_that_fails_is_named_and_the_rest_goes_on(tmp_path: Path, error: Exception) -> None:
    def fail(asked: Part) -> Run:
        raise error

    found = night(tmp_path, plan(part(51913), part(52078)), Measuring(pr51913=fail))
    assert states(found) == [FAILED, MEASURED]
    assert found.outcomes[0].why in ("no GPU here", "ZeroDivisionError: division by zero")
    assert len(history(tmp_path).listing().runs) == 1
    assert not found.alerts, "a failure to measure is no alert"


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), Interrupted("interrupted after 2 of 10 launches")])
def test_an_interrupted_night_goes_on_where_it_stopped(tmp_path: Path, stop: BaseException) -> None:
    def interrupt(asked: Part) -> Run:
        raise stop

    asked = plan(part(51913), part(52078), part(51565))
    found = night(tmp_path, asked, Measuring(pr52078=interrupt))
    assert states(found) == [MEASURED, INTERRUPTED, INTERRUPTED]
    assert states(night(tmp_path, asked, Measuring())) == [SKIPPED, MEASURED, MEASURED]


def test_an_interrupted_campaign_is_found_again_and_an_old_or_finished_one_is_not(tmp_path: Path, monkeypatch) -> None:
    seen: list[Path] = []

    def measuring(asked: Part, journal: Path, told, say) -> Run:
        seen.append(journal)
        journal.mkdir(parents=True, exist_ok=True)
        (journal / "plan.json").touch()
        if len(seen) < 3:
            raise Interrupted("interrupted")
        if len(seen) == 3:
            return run("the same token", started=datetime.now(UTC).isoformat())
        return run("the same token" if len(seen) == 4 else "another token", started=datetime.now(UTC).isoformat())

    asked = plan(part(51913, again_after_s=0.0))
    for _ in range(3):
        run_night(asked, history(tmp_path), measuring=measuring)
    assert seen[0] == seen[1] == seen[2], "it goes on where it was interrupted"
    run_night(asked, history(tmp_path), measuring=measuring)
    assert seen[3] == seen[0] != seen[4], "what was finished and kept is not kept again: a new campaign begins"
    monkeypatch.setattr(nights, "STALE_S", -1)
    run_night(asked, history(tmp_path), measuring=measuring)
    assert seen[5] not in seen[:5], "a night does not go on with launches of another"


def test_what_does_not_fit_is_named_and_the_best_value_comes_first(tmp_path: Path) -> None:
    parts = (
        part(51913, minutes=8, value=2),
        part(52078, minutes=5, value=10),
        part(51565, minutes=4, value=1),
        part(55404, "cost", minutes=0.1),
    )
    measuring = Measuring()
    found = night(tmp_path, plan(*parts, budget_s=600), measuring)
    assert measuring.measured == ["pr55404", "pr52078", "pr51913", "pr51565"], "nothing takes time here, so all fit"
    measuring = Measuring()
    found = night(tmp_path / "b", plan(*parts, budget_s=350), measuring)
    assert measuring.measured == ["pr55404", "pr52078", "pr51565"]
    assert states(found) == [LEFT_OUT, MEASURED, MEASURED, MEASURED]
    assert found.outcomes[0].why.startswith("it takes about 8.0 min, and 5.8 min were left")


def test_what_a_part_took_the_last_time_counts_more_than_what_its_plan_says(tmp_path: Path) -> None:
    asked = part(51913, minutes=60, again_after_s=0.0)
    assert states(night(tmp_path, plan(asked, budget_s=7200), Measuring())) == [MEASURED]
    assert states(night(tmp_path, plan(asked, budget_s=60), Measuring())) == [MEASURED]


def test_verdicts_that_are_no_news_are_no_alerts(tmp_path: Path) -> None:
    def worse(asked: Part) -> Run:
        return made(asked, Verdict.REGRESSED)

    asked = plan(part(51913), part(51565, expected=frozenset({Verdict.REGRESSED})), part(52078))
    found = night(tmp_path, asked, Measuring(pr51913=worse, pr51565=worse))
    assert [one.name for one in found.alerts] == ["step pr51913.before -> pr51913.after"]
    again = night(tmp_path, asked, Measuring())
    assert states(again) == [SKIPPED] * 3
    assert [one.name for one in again.alerts] == ["step pr51913.before -> pr51913.after"], "it still stands"
    assert not night(tmp_path, asked, Measuring(), fail_on=frozenset({Verdict.INVALID})).alerts


def test_suspects_are_measured_again_at_most_four_times(tmp_path: Path) -> None:
    asked, measuring = plan(part(51913), part(52078)), Measuring()
    seen: list[tuple[str, ...]] = []

    def suspects(place, runs: tuple[str, ...]) -> tuple[str, ...]:
        seen.append(runs)
        return runs[:1]

    found = night(tmp_path, asked, measuring, suspects=suspects)
    assert measuring.measured == ["pr51913", "pr52078", *["pr51913"] * 4]
    assert [len(runs) for runs in seen] == [2, 3, 4, 5]
    assert len(found.outcomes[0].runs) == 5
    kept = {str(one.name): one for one in history(tmp_path).listing().runs}
    first, *again = (kept[name] for name in found.outcomes[0].runs)
    assert [stamp_of(one).rerun for one in again] == [1, 2, 3, 4]
    assert {one.identity.settings["rerun_of"] for one in again} == {str(first.name)}
    assert "rerun_of" not in first.identity.settings
    assert states(night(tmp_path, asked, Measuring())) == [SKIPPED, SKIPPED]


def steady_nights(place: Path) -> datetime:
    """Forty nights of one series in a history; when they began."""
    began = datetime.now(UTC) - timedelta(days=60)
    for number in range(40):
        steady = point(20 + 0.2 * (number % 5), series=series(variant="pr51913.after"))
        history(place).record(
            run(f"earlier {number}", steady, started=(began + timedelta(days=number)).isoformat(), kind="step")
        )
    return began


def test_what_is_no_night_looks_for_no_shifts_and_puts_none_on_record(tmp_path: Path) -> None:
    began = steady_nights(tmp_path)

    def slower(asked: Part) -> Run:
        found = made(asked, when=began + timedelta(days=41))
        return replace(found, points=(replace(found.points[0], value=24.2),))

    asked = plan(part(51913, again_after_s=0.0))
    for _ in range(2):
        found = night(tmp_path, asked, Measuring(pr51913=slower), shifts=False)
        assert len(found.outcomes[0].runs) == 1 and found.shifts == ()
    assert not (tmp_path / "shifts").exists()


def test_a_step_is_measured_again_in_its_night_and_told_when_a_second_night_has_it(tmp_path: Path) -> None:
    """The rule for shifts asks for the reruns, and what it finds is told once."""
    began = steady_nights(tmp_path)
    values = itertools.cycle((24.2, 24.4, 24.0, 24.6))

    def slower(asked: Part) -> Run:
        found = made(asked, when=began + timedelta(days=41))
        return replace(found, points=(replace(found.points[0], value=next(values)),))

    asked = plan(part(51913, again_after_s=0.0))
    first, second, third = (night(tmp_path, asked, Measuring(pr51913=slower)) for _ in range(3))
    assert len(first.outcomes[0].runs) > 1, "tonight's run was suspect, and measured again"
    assert first.shifts == ()
    (shift,) = second.worse
    assert shift.last_before.startswith("00000040-") and shift.first_after == first.outcomes[0].runs[0]
    assert [one.state for one in (*second.worse, *third.worse)] == ["new", "confirmed"]


def test_a_rerun_that_fails_is_told_and_the_measurement_stands(tmp_path: Path) -> None:
    calls = itertools.count()

    def once(asked: Part) -> Run:
        if next(calls):
            raise EnvironmentMissing("the disk is full")
        return made(asked)

    found = night(tmp_path, plan(part(51913)), Measuring(pr51913=once), suspects=lambda place, runs: runs)
    assert states(found) == [MEASURED]
    assert found.outcomes[0].why == "rerun 4 failed: the disk is full"


def test_reruns_that_were_interrupted_are_gone_on_with(tmp_path: Path) -> None:
    calls = itertools.count()

    def stop(asked: Part) -> Run:
        if next(calls):
            raise KeyboardInterrupt
        return made(asked)

    def suspects(place, runs: tuple[str, ...]) -> tuple[str, ...]:
        return runs if len(runs) == 1 else ()

    found = night(tmp_path, plan(part(51913)), Measuring(pr51913=stop), suspects=suspects)
    assert states(found) == [INTERRUPTED]
    assert found.outcomes[0].why == "rerun 1 interrupted: by Ctrl-C"
    (name,) = found.outcomes[0].runs
    again = night(tmp_path, plan(part(51913)), Measuring(), suspects=suspects)
    assert states(again) == [SKIPPED]
    assert again.outcomes[0].runs[0] == name and len(again.outcomes[0].runs) == 2


def test_a_suspect_waits_where_there_is_no_time(tmp_path: Path) -> None:
    asked = part(51913, minutes=5)
    night(tmp_path, plan(asked), Measuring())
    measuring = Measuring()
    found = night(tmp_path, plan(part(51913, minutes=5), budget_s=1e-6), measuring, suspects=lambda place, runs: runs)
    assert states(found) == [SKIPPED] and not measuring.measured
    assert found.outcomes[0].why == "it is suspect, and there was no time to measure it again"


def test_lines_tell_what_happens(tmp_path: Path) -> None:
    lines: list[str] = []
    telling = Telling(say=lines.append)
    night(tmp_path, plan(part(51913)), Measuring(), telling=telling)
    night(tmp_path, plan(part(51913)), Measuring(), telling=telling)
    assert lines[0].startswith("1 of 1: step pr51913.before -> pr51913.after, about ")
    assert "same, 0 s, kept as 00000001-" in lines[1]
    assert lines[2].startswith("skipped step pr51913.before -> pr51913.after: 00000001-")


def test_measuring_and_alerting_stand_apart_in_json(tmp_path: Path) -> None:
    found = night(tmp_path, plan(part(51913)), Measuring(pr51913=lambda one: made(one, Verdict.REGRESSED))).to_json()
    assert found["measuring"]["measured"] == 1 and found["measuring"]["failed"] == 0
    (one,) = found["measuring"]["parts"]
    assert found["alerting"] == {"alerts": [one], "shifts": []}
    assert (one["state"], one["verdict"]) == ("measured", "regressed")
