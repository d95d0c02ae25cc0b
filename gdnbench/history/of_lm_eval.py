"""A finished run of lm-eval as a run."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from gdnbench.accuracy.outputs import Output
from gdnbench.history.of_accuracy import score_point
from gdnbench.history.of_serve import model_name
from gdnbench.history.pointing import one_line
from gdnbench.values.runs import Machine, Run, RunIdentity, Source
from gdnbench.values.series import Series, setting

IMPORTED = "lm-eval"

_STAMP = re.compile(r"results_(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)")


def lm_eval_run(output: Output, results: Path, token: str, variant: str | None = None) -> Run:
    """The run of what `accuracy.outputs.read_output` read.

    Args:
        results: the file with its scores, whose name says when it was written.
        token: of that file.
        variant: what answered; default, the model's name.
    """
    given = output.listed.get("model argument model") or output.listed.get("model argument pretrained")
    model = one_line(model_name(str(given or output.listed.get("model") or "")))
    name = one_line(variant or model or IMPORTED)
    how, task = setting(IMPORTED, {**output.setting, "model": model}), one_line(output.task)
    invalid = one_line(output.faults[0].message) if output.faults else ""
    points = []
    for number, (filter_name, score) in enumerate(output.scores.items()):
        series = Series(name, "", "", task, output.metric, one_line(filter_name), how, "", "", "")
        points.append(score_point(series, score, primary=number == 0, invalid=invalid))
    return Run(
        identity=RunIdentity(
            kind="accuracy",
            started=_started(results),
            machine=Machine(host="", device="", libraries=_libraries(output)),
            source=Source(),
            imported=IMPORTED,
            variants={"measured": name},
            loads=(task,),
            model=model,
            settings={**output.setting, "documents": output.documents},
        ),
        points=tuple(points),
        token=token,
        warnings=output.warnings,
    )


def _started(results: Path) -> str:
    """From the name that lm-eval gives the file, in the time of its machine, taken as UTC; else when it was written."""
    match = _STAMP.match(results.name)
    if match is not None:
        return datetime.fromisoformat(f"{match[1]}T{match[2]}:{match[3]}:{match[4]}+00:00").isoformat()
    return datetime.fromtimestamp(results.stat().st_mtime, UTC).isoformat()


def _libraries(output: Output) -> dict[str, str]:
    return {name: one_line(str(output.listed[name])) for name in ("lm_eval", "transformers") if output.listed.get(name)}
