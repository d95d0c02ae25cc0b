"""`gdnbench calibrate`: how well this machine can judge step time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdnbench.cli import exits
from gdnbench.values.errors import EnvironmentMissing, UserError

EXAMPLE = "Example: gdnbench calibrate --launches 100 --whole 10 --save recording.json"


def calibrate(
    launches: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Launches to record, at least one campaign. Default: 100.")
    ] = None,
    whole: Annotated[
        int | None, typer.Option(min=0, max=99, help="Whole campaigns to run besides, of either kind. Default: none.")
    ] = None,
    recording: Annotated[Path | None, typer.Option(help="Replay this recording; nothing is measured.")] = None,
    save: Annotated[Path | None, typer.Option(help="Write the recording to this file.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the calibration in this directory.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> int:
    """Record launches of one variant against itself and against handicaps, and judge campaigns drawn from them."""
    from gdnbench.campaign import calibration
    from gdnbench.campaign.progress import progress
    from gdnbench.campaign.recordings import load
    from gdnbench.campaign.recordings import save as write
    from gdnbench.report.calibration import calibration_report, show

    if recording is not None:
        if any(given is not None for given in (launches, whole, save, resume)):
            raise UserError("--recording replays a recording and measures nothing: leave the other options out")
        show(calibration_report(load(recording), calibration.PER_CAMPAIGN), None, as_json)
        return exits.DONE
    if resume is None:
        if save is not None and save.is_dir():
            raise UserError(f"--save {save} is a directory: name the file in it")
        journals = calibration.begin(calibration.LAUNCHES if launches is None else launches, whole or 0)
    else:
        if launches is not None or whole is not None:
            raise UserError("--resume goes on with the calibration as it was begun: leave --launches and --whole out")
        journals = calibration.resume(resume)
    with journals.resumable():
        with progress("launches", journals.launches) as done:
            recorded = calibration.run(journals, done)
        if save is not None:
            try:
                write(recorded, save)
            except EnvironmentMissing as error:
                raise EnvironmentMissing(f"{error}: --resume {journals.directory} --save somewhere else") from None
        show(calibration_report(recorded, calibration.PER_CAMPAIGN), journals.directory, as_json)
    return exits.DONE


calibrate.__doc__ = f"{calibrate.__doc__}\n\n{EXAMPLE}"
