"""A small site made by hand: twelve nights, one of them missing, two devices, shifts, releases, and hostile texts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from gdnbench.dashboard.build import build
from gdnbench.dashboard.data import SiteData
from gdnbench.dashboard.gather import gather
from gdnbench.values.releases import ReleaseHistory, ReleaseLoad, ReleaseStep
from gdnbench.values.runs import Machine, Source
from gdnbench.values.series import Series
from gdnbench.values.shifts import Blame, Changed, Shift, Suspect
from gdnbench.values.verdicts import Verdict
from kept import MACHINE, history, point, run

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> </script> \u00e9"
FIRST = datetime(2026, 11, 1, 2, tzinfo=UTC)
MADE = datetime(2026, 11, 12, 8, tzinfo=UTC)
GPU = Machine("gpu-1", "cuda", "A Xeon", "NVIDIA H200", 16, "Linux", {"torch": "2.13.0", "vllm": "0.31.0"})
MISSING, SILENT, SPOILT, SHIFTED = 4, 9, 6, 8
"""By number of the night: without any run; from which the GPU has none; with an invalid figure; the first shifted."""

LOAD = "16q1s1k"
COUNTS = {"syncs": 0.0, "device_ops": 8.0, "alloc_bytes": 4096.0}


def step_series(machine: Machine, variant: str = "pr51913.after", against: str = "", load: str = LOAD) -> Series:
    setting = "in one process 1234abcd"
    where = (machine.device, machine.hardware, machine.host)
    return Series(variant, against, "build", load, "host_time", "median", setting, *where)


def count_series(metric: str) -> Series:
    return Series("pr51913.after", "", "build", LOAD, metric, "count", "", "traced", "", "any")


def keep(place: Path) -> None:
    """The runs of all nights."""
    opened = history(place)
    for night in range(12):
        if night == MISSING:
            continue
        started = (FIRST + timedelta(days=night)).isoformat()
        source = Source(f"{night // 4:040x}")
        level = (12.0 if night < SHIFTED else 13.0) + (night % 3 - 1) * 0.1
        for machine in (MACHINE, GPU):
            if machine is GPU and night >= SILENT:
                continue
            invalid = "the metadata of before and after differ" if (machine, night) == (MACHINE, SPOILT) else ""
            verdict = Verdict.INVALID if invalid else Verdict.IMPROVED
            shared = {"launches": 10, "invalid": invalid}
            points = [
                point(level, series=step_series(machine), interval=(level - 0.2, level + 0.3), **shared),
                point(
                    level / 15,
                    series=step_series(machine, against="pr51913.before"),
                    unit="ratio",
                    interval=(level / 15 - 0.01, level / 15 + 0.01),
                    verdict=verdict,
                    primary=True,
                    **shared,
                ),
            ]
            libraries = {**machine.libraries, "torch": "2.13.0" if night < SHIFTED else "2.14.0"}
            where = replace(machine, libraries=libraries)
            opened.record(run(f"step {night} {machine.host}", *points, started=started, machine=where, source=source))
        counts = [
            point(value + (metric == "device_ops" and night >= SHIFTED), series=count_series(metric), unit="count",
                  assumption="exact")
            for metric, value in COUNTS.items()
        ]  # fmt: skip
        counts = [replace(one, interval=(one.value, one.value)) for one in counts]
        opened.record(run(f"cost {night}", *counts, kind="cost", started=started, source=source))
    hostile = point(
        3.5, series=step_series(MACHINE, HOSTILE, load="q<b>1"), interval=(3.0, 4.0), invalid=f"{HOSTILE}\u2028\u2029"
    )
    opened.record(run("hostile", hostile, started=started, model=HOSTILE, variants={"measured": HOSTILE}))


def site(place: Path) -> SiteData:
    """The same as a site shows it."""
    opened = history(place)
    listing = opened.listing()
    return gather(listing, opened.tables(listing.runs), MADE)


def shifts(data: SiteData) -> list[Shift]:
    """A confirmed shift of step time on the CPU, one of its exact costs, and one on the GPU that somebody explained."""

    def shift(series: Series, levels: tuple[float, float], state: str, reason: str = "") -> Shift:
        one = data.by_id[series.id]
        after = next(
            run for run in data.column(one, "run") if data.runs[run].position >= FIRST + timedelta(days=SHIFTED)
        )
        before = [run for run in data.column(one, "run") if run < after][-1]
        exact = one.assumption == "exact"
        low, high = levels
        names = str(data.runs[before].name), str(data.runs[after].name)
        blame = Blame(names, ("1" * 40, "2" * 40), (Changed("torch", "2.13.0", "2.14.0"),))
        return Shift(
            series, one.unit, one.direction, low, high, high / low - 1, None if exact else (0.06, 0.1), high > low,
            *names, data.runs[after].position, state, reason, 2, blame,
        )  # fmt: skip

    return [
        shift(step_series(MACHINE), (12.0, 13.0), "confirmed"),
        shift(count_series("device_ops"), (8.0, 9.0), "new"),
        shift(step_series(GPU), (12.0, 13.0), "acknowledged", f"torch 2.14 {HOSTILE}"),
    ]


def suspects() -> list[Suspect]:
    """The ratio on the CPU."""
    return [Suspect(step_series(MACHINE, against="pr51913.before"), "a run", 0.031, 2.9, 4.8, 1)]


RELEASES = tuple(f"0.{minor}.0" for minor in range(28, 33))


def releases(data: SiteData) -> ReleaseHistory:
    """Five releases; of the second load one pair is missing."""

    def step(before: str, after: str, ratio: float, verdict: Verdict) -> ReleaseStep:
        ends = (ratio * 0.99, ratio * 1.01)
        return ReleaseStep(before, after, ratio, ends, verdict, "", 10, 0.011, str(data.runs[0].name))

    ratios = (0.99, 0.8, 3.9, 1.0)
    verdicts = (Verdict.SAME, Verdict.IMPROVED, Verdict.REGRESSED, Verdict.SAME)
    decode = tuple(step(*pair, *found) for pair, *found in zip(pairwise(RELEASES), ratios, verdicts, strict=True))
    whole = step(RELEASES[0], RELEASES[-1], 3.1, Verdict.REGRESSED)
    counts = {"device_ops": dict(zip(RELEASES, (8, 8, 8, 22, 22), strict=True))}
    loads = (
        ReleaseLoad(LOAD, "build", "decode", decode, whole, counts),
        ReleaseLoad("4q512s2k", "build", "prefill", decode[:1], None, {}),
    )
    return ReleaseHistory(RELEASES, "A Processor, 2 cores, Linux, torch 2.13.0", loads, ("4q512s2k: 0.29.0 to 0.30.0",))


def make(place: Path, out: Path, asv: bool = False) -> SiteData:
    """Keep the runs, and build the site."""
    keep(place)
    data = site(place)
    build(out, data, shifts(data), suspects(), releases(data), asv)
    return data
