"""Our rule for shifts beside other methods, on series whose steps are known: how late, and how often in vain.

`python -m gdnbench.history.shift_methods` prints a table in Markdown. Every method is asked every night, as a nightly
measurement would ask it, about all nights so far. It reports a change point once: one within a few nights of an earlier
report is the same. Change points of less than 1 % are left out, whoever found them.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np

from gdnbench.history import otava_points
from gdnbench.stats.shifts import Watch
from gdnbench.stats.simulated_nights import FLOOR, MOST_RERUNS, Nights, follow
from gdnbench.stats.student import Floats
from gdnbench.values.errors import EnvironmentMissing

STEPS, NOISES = (0.02, 0.05, 0.12), (0.01, 0.02)
BEFORE, AFTER = 80, 14
FIRST_ASKED = 40
"""The first night of series without a step that is asked about: until then methods have little to go by."""
SAME = 5
"""Nights within which a change point is the same as one that was reported."""

OURS = 2000
"""Series of each kind that our rule is asked about, since that takes no time; over them it splits a night's error."""

Points = list[int]
Method = Callable[[list[list[float]]], list[Points]]
"""Change points of each of some series: the places of the first values after them."""


def rolling(series: Iterable[Sequence[float]]) -> list[Points]:
    """The newest night is more than three standard deviations from the mean of the twenty before it."""
    found = []
    for values in series:
        before = np.array(values[-21:-1])
        far = abs(values[-1] - before.mean()) > max(3 * before.std(ddof=1), FLOOR * before.mean())
        found.append([len(values) - 1] if far else [])
    return found


def asv(series: Iterable[Sequence[float]]) -> list[Points]:
    """asv's step detection: a piecewise constant fit, its penalty by an information criterion."""
    from asv.step_detect import detect_steps

    return [_steps([(first, level) for first, _, level, _, _ in detect_steps(values)]) for values in series]


def ruptures(series: Iterable[Sequence[float]]) -> list[Points]:
    """ruptures' PELT by its linear kernel, which is squared error; penalty 3 log n times the variance."""
    import ruptures

    found = []
    for values in series:
        signal = np.array(values)
        scatter = 1.4826 * float(np.median(np.abs(np.diff(signal)))) / math.sqrt(2)
        penalty = 3 * math.log(len(signal)) * max(scatter, 1e-9) ** 2
        ends = ruptures.KernelCPD(kernel="linear", min_size=2).fit(signal).predict(pen=penalty)
        bounds = [0, *ends]
        levels = [float(signal[start:end].mean()) for start, end in zip(bounds, ends, strict=False)]
        found.append(_steps(list(zip(bounds, levels, strict=False))))
    return found


def otava(python: str) -> Method:
    """apache-otava, by the Python of an environment that has it; its own settings, and at least 1 %."""

    def ask(series: list[list[float]]) -> list[Points]:
        script = str(Path(otava_points.__file__))
        done = subprocess.run([python, script], input=json.dumps(series), capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise EnvironmentMissing(f"--otava {python}: {last}")
        answer: list[Points] = json.loads(done.stdout)
        return answer

    return ask


def _steps(parts: Sequence[tuple[int, float]]) -> Points:
    """Where parts of at least 1 % difference meet."""
    return [start for (_, before), (start, after) in pairwise(parts) if abs(after / before - 1) >= 0.01]


def reports(method: Method, values: Floats, first: int) -> list[list[int]]:
    """The nights in which a method reports something, for each series that is asked about from a night on."""
    count, nights = values.shape
    prefixes = [list(map(float, row[: night + 1])) for row in values for night in range(first, nights)]
    answers = iter(method(prefixes))
    found = []
    for _ in range(count):
        known: list[int] = []
        told = []
        for night in range(first, nights):
            new = [place for place in next(answers) if all(abs(place - one) > SAME for one in known)]
            # What lies further back than a method was asked about is of no night that we count.
            if [place for place in new if place >= first - SAME]:
                told.append(night)
            known += new
        found.append(told)
    return found


def our_reports(values: Floats, first: int) -> list[list[int]]:
    """The same by our rule, without any reruns."""
    watch = Watch(np.full(len(values), FLOOR))
    found: list[list[int]] = [[] for _ in values]
    for night, column in enumerate(np.log(values).T):
        standing = watch.night(column, OURS)
        for row in standing.rows[standing.found]:
            if night >= first:
                found[row].append(night)
    return found


Asked = Callable[[Floats, int], list[list[int]]]


def row_of(ask: Asked, series: int) -> list[str]:
    """False shifts a week in 2,000 series for both noises, then for each step how many are found in time."""
    cells = []
    for noise in NOISES:
        told = ask(drawn(noise, 0.0, series), FIRST_ASKED)
        nights = series * (BEFORE + AFTER - FIRST_ASKED)
        cells.append(_weekly(sum(map(len, told)) / nights))
    for noise in NOISES:
        for step in STEPS:
            told = ask(drawn(noise, step, series), BEFORE)
            cells.append(_found([nights[0] - BEFORE + 1 if nights else math.inf for nights in told]))
    return cells


def drawn(noise: float, step: float, series: int) -> Floats:
    """So many series around 20, the same every time."""
    lot = np.random.default_rng([round(1000 * noise), round(1000 * step)])
    levels = np.where(np.arange(BEFORE + AFTER) < BEFORE, 0.0, math.log1p(step))
    found: Floats = 20 * np.exp(levels + noise * lot.standard_normal((series, BEFORE + AFTER)))
    return found


def with_reruns(series: int = OURS) -> list[str]:
    """Our rule with up to four reruns of a suspect night."""
    cells, at = [], np.full(series, BEFORE)
    for noise in NOISES:
        outcome = follow(Nights(series, BEFORE + AFTER, noise, seed=1))
        told = sum(night >= FIRST_ASKED for night in outcome.night)
        cells.append(_weekly(told / (series * (BEFORE + AFTER - FIRST_ASKED))))
    for noise in NOISES:
        for step in STEPS:
            outcome = follow(Nights(series, BEFORE + AFTER, noise, step, at, seed=2))
            cells.append(_found([float(delay) for delay in outcome.delays(at)]))
    return cells


def _weekly(rate: float) -> str:
    """Of one series and night, for 2,000 series and a week."""
    weekly = 7 * 2000 * rate
    return f"{weekly:,.0f}" if weekly >= 10 else f"{weekly:.2g}"


def _found(delays: Sequence[float]) -> str:
    """How many within three nights, and the median night."""
    middle = median(delays)
    night = "later" if math.isinf(middle) else f"night {middle:.0f}"
    return f"{sum(delay <= 3 for delay in delays) / len(delays):.0%}, {night}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=60, help="of each kind, that every method is asked about")
    parser.add_argument("--otava", metavar="PYTHON", help="of an environment that has apache-otava; default: left out")
    asked = parser.parse_args()
    heads = [f"false a week, {noise:.0%}" for noise in NOISES]
    heads += [f"{step:.0%} at {noise:.0%}" for noise in NOISES for step in STEPS]
    print("| method |", " | ".join(heads), "|", flush=True)
    print("|---|" + "---|" * len(heads), flush=True)
    others: dict[str, Method] = {
        "rolling, 3 deviations of 20": rolling,
        "asv step detection": asv,
        "ruptures PELT": ruptures,
    }
    if asked.otava:
        others["apache-otava"] = otava(asked.otava)
    for name, method in others.items():
        _print(name, row_of(partial(reports, method), asked.series))
    _print("ours, no reruns", row_of(our_reports, OURS))
    _print(f"ours, up to {MOST_RERUNS} reruns", with_reruns())


def _print(name: str, cells: Sequence[str]) -> None:
    print(f"| {name} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
