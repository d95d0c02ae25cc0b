"""Recordings: made from the launches of a campaign, written to a file, read from one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from gdnbench.campaign.plan import Plan
from gdnbench.campaign.records import LaunchRecord, Measured
from gdnbench.campaign.turns import BEFORE
from gdnbench.oracle.cache import write_aside
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.metrics import HOST_TIME
from gdnbench.values.recordings import RecordedPair, Recording, RecordingError, WholeCampaign, from_json

MOST_BYTES = 2_000_000
"""No recording is nearly as large; what is larger is something else."""

VALUES = 40
"""Of each side in each launch: enough for other tools' rules, and a hundred launches fit a file that can be committed.

The log ratio comes from all blocks. Blocks next to each other become one value, their median: those tools take values
of ten milliseconds and more, not of a fraction of one.
"""


def recording_of(plan: Plan, launches: Sequence[LaunchRecord], whole: Iterable[WholeCampaign] = ()) -> Recording:
    """The recording of a campaign whose roles but `before` are the comparisons.

    Args:
        plan: with one scenario.
        launches: at least one.
        whole: campaigns that were run besides.

    Raises:
        UserError: sides of the same code gave different metadata, so nothing about them can be compared.
    """
    for launch in launches:
        for scenario, unequal in launch.unequal.items():
            role, fields = next(iter(unequal.items()))
            raise UserError(
                f"launch {launch.number}, {scenario}: the metadata of {role} differs from that of {BEFORE}, "
                f"the same code: {', '.join(fields[:3])}; see `gdnbench doctor`"
            )
    measured = [_host_time(launch) for launch in launches]
    return Recording(
        variant=plan.sides[BEFORE],
        scenario=plan.scenarios[0],
        metric=HOST_TIME.tag,
        launches=tuple(_pairs(one) for one in measured),
        environment=_environment(plan, launches, measured),
        seconds=tuple(launch.seconds for launch in launches),
        whole=tuple(whole),
    )


def save(recording: Recording, path: Path) -> None:
    """Write it as JSON, a line for each launch: aside, then renamed.

    Raises:
        EnvironmentMissing: the disk does not take it.
    """
    data = recording.to_json()
    launches = ",\n".join(_compact(launch) for launch in data.pop("launches"))
    text = f'{_compact(data)[:-1]},"launches":[\n{launches}\n]}}\n'
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_aside(path, text)
    except OSError as error:
        raise EnvironmentMissing(f"cannot write {path} ({error.strerror or error})") from None


def load(path: Path) -> Recording:
    """The recording that `save` wrote.

    Raises:
        RecordingError: there is none, or it is damaged: one line that names the file and the place.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise RecordingError(f"cannot read the recording {path}: {error.strerror or error}") from None
    if len(content) > MOST_BYTES:
        raise RecordingError(f"{path}: more than {MOST_BYTES:,} bytes: no recording")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{path}: a damaged recording: no JSON ({error}); record it anew") from None
    try:
        return from_json(data)
    except RecordingError as error:
        raise RecordingError(f"{path}: {error}") from None


def _compact(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def _host_time(launch: LaunchRecord) -> Measured:
    return next(one for one in launch.measured if one.metric == HOST_TIME.tag)


def _pairs(measured: Measured) -> Mapping[str, RecordedPair]:
    values = {role: _thinned(us) for role, us in measured.blocks_us.items()}
    return {
        role: RecordedPair(round(log_ratio, 6), values[BEFORE], values[role])
        for role, log_ratio in measured.log_ratios.items()
    }


def _thinned(blocks: Sequence[float]) -> tuple[float, ...]:
    size = math.ceil(len(blocks) / VALUES)
    return tuple([round(median(blocks[at : at + size]), 3) for at in range(0, len(blocks), size)])


def _environment(plan: Plan, launches: Sequence[LaunchRecord], measured: Sequence[Measured]) -> dict[str, str]:
    own = next(iter(launches[0].environment.values()))
    loads = [one["load_average"][0] for launch in launches for one in launch.environment.values()]
    names = ("cpu", "cores", "governor", "gpu", "system", "python", "torch", "numpy", "threads", "clock_read_ns")
    return {
        "device": plan.device,
        **{name: str(own[name]) for name in names if own.get(name) is not None},
        "load_average": f"{min(loads):g} to {max(loads):g}",
        "rounds": str(plan.rounds),
        "steps": str(measured[0].steps),
        "recorded": f"{launches[0].started} to {launches[-1].started}",
    }
