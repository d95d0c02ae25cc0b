"""Answers: lm-eval's folders, its results files, and the tables that it prints, as records of one task each.

Source: the tables of lm-eval 0.4. Its standard error is sqrt(p (1 - p) / (n - 1)), which tells n where nothing else
does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gdnbench.accuracy.outputs import Output, documents_by, output_of, read_output, tasks_of
from gdnbench.ingest.cells import cell_of, rows_of
from gdnbench.ingest.lines import short
from gdnbench.ingest.numbers import convention, number
from gdnbench.ingest.scan import Piece
from gdnbench.values.accuracy import Score
from gdnbench.values.ingested import Record
from gdnbench.values.serving import Fault
from gdnbench.values.verdicts import Caveat

KNOWN_SIZES = {"gsm8k": 1319}
"""Documents of whole test sets that people name without their number."""

_SETTINGS = re.compile(r"\b(limit|num_fewshot|batch_size): ([^,\s]{1,40})")
_STDERR_ROUNDED = 0.07
"""Within which n told by a printed standard error is that of a stated limit: it has four decimals, often two digits."""


@dataclass(frozen=True, slots=True)
class AnswersRecord(Record):
    """A run of lm-eval on one task.

    Attributes:
        output: as `gdnbench.accuracy` judges it; of 0 documents where their number is not known.
    """

    output: Output | None = None


def read_folder(folder: Path, labels: tuple[str, ...]) -> list[Record]:
    """All tasks of a finished run in a folder.

    Raises:
        UserError: no finished run is there, or it cannot be read.
    """
    return [_record(read_output(folder, task), str(folder), labels, "lm-eval's output") for task in tasks_of(folder)]


def is_results(document: Any) -> bool:
    """Whether a JSON document is a results file of lm-eval."""
    if not isinstance(document, dict) or not isinstance(document.get("results"), dict):
        return False
    tasks = document["results"].values()
    return any(isinstance(task, dict) and any("," in str(key) for key in task) for task in tasks)


def read_results(document: Mapping[str, Any], source: str, labels: tuple[str, ...]) -> list[Record]:
    """All tasks of a results file that stands alone: without samples.

    Raises:
        UserError: a task has no metric that says right or wrong, or no number of documents.
    """
    tasks = [name for name, metrics in document["results"].items() if isinstance(metrics, dict)]
    return [_record(output_of(document, task, source), source, labels, "a results file of lm-eval") for task in tasks]


def is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table is one that lm-eval prints."""
    head = {cell.lower() for cell in rows[0]}
    return {"metric", "value"} <= head and bool(head & {"tasks", "task", "groups"})


def read_table(piece: Piece, source: str) -> list[Record]:
    """The tasks of a printed table; a cell that is empty repeats the one above."""
    head, *rows = rows_of(piece)
    places = {cell.lower().strip(): place for place, cell in enumerate(head) if cell.strip()}
    task_at = next(places[name] for name in ("tasks", "task", "groups") if name in places)
    values = [(_cell(row, places, "value"), _cell(row, places, "stderr")) for row in rows]
    sign = convention((text, False) for pair in values for text in pair)
    by_task: dict[str, dict[str, Score]] = {}
    setting: dict[str, dict[str, str]] = {}
    unread: list[str] = []
    last = dict.fromkeys(("task", "version", "n-shot", "filter"), "")
    for row, (value_text, stderr_text) in zip(rows, values, strict=True):
        if row[task_at]:
            last = dict.fromkeys(last, "")
        own = {"task": row[task_at], **{name: _cell(row, places, name) for name in ("version", "n-shot", "filter")}}
        last = {name: own[name] or last[name] for name in last}
        value, stderr = number(value_text, False, sign), number(stderr_text, False, sign)
        metric = _cell(row, places, "metric")
        if value is None or not 0 <= value <= 1 or not last["task"]:
            unread.append(f"{short(last['task'] or '?')} {short(metric)}: {short(value_text) or 'nothing'}")
            continue
        by_task.setdefault(last["task"], {})[f"{metric},{last['filter']}"] = Score(value, stderr)
        setting[last["task"]] = {"version": last["version"], "n_shot": last["n-shot"]}
    found = []
    for task, scores in by_task.items():
        record = of_scores(task, scores, source, piece, setting[task])
        told = (Caveat("unread", f"not read: {'; '.join(unread[:5])}", "paste the table whole"),) if unread else ()
        found.append(replace(record, warnings=(*record.warnings, *told)))
    return found


def settings_in(text: str) -> dict[str, str]:
    """What lm-eval prints above its tables: limit, examples, batch size."""
    return dict(_SETTINGS.findall(text))


def of_scores(
    task: str, scores: Mapping[str, Score], source: str, piece: Piece, setting: Mapping[str, str] | None = None
) -> Record:
    """A record of scores that somebody printed, by `metric,filter`.

    The number of documents is told by a standard error, or by the limit that was stated; else it is not known here.
    """
    metric = Counter(key.partition(",")[0] for key in scores).most_common(1)[0][0]
    own = {key.partition(",")[2]: score for key, score in scores.items() if key.partition(",")[0] == metric}
    told = next((count for score in own.values() if (count := documents_by(score)) is not None), None)
    stated = piece.facts.get("limit", "")
    limit = int(stated) if re.fullmatch(r"[1-9][0-9]{0,6}", stated) else None
    faults: list[Fault] = []
    warnings = [
        Caveat("no-samples", "answers cannot be paired: only scores were printed", "log samples, and give both")
    ]
    documents = told
    if limit is not None:
        if told is not None and abs(told / limit - 1) > _STDERR_ROUNDED:
            says = f"its standard error is that of {told:,} documents, and the limit is {limit:,}"
            faults.append(Fault("standard_error", says))
        documents = limit
    elif told is not None and (size := KNOWN_SIZES.get(task)) and abs(told / size - 1) < _STDERR_ROUNDED:
        documents = size
    output = Output(
        folder=source,
        task=task,
        metric=metric,
        documents=documents or 0,
        scores=own,
        answers={},
        setting={"task": task, **(setting or {}), "limit": stated or None},
        listed={},
        faults=(),
        warnings=(),
    )
    return AnswersRecord(
        source=source,
        kind="accuracy",
        form="scores of lm-eval as printed",
        metrics=_metrics(metric, own),
        labels=piece.labels,
        group=task,
        facts={**piece.facts, **{key: value for key, value in (setting or {}).items() if value}},
        faults=tuple(faults),
        warnings=tuple(warnings),
        output=output,
    )


def _record(output: Output, source: str, labels: tuple[str, ...], form: str) -> Record:
    facts = {key: short(str(value), 80) for key, value in output.setting.items() if value not in (None, {}, "")}
    return AnswersRecord(
        source=source,
        kind="accuracy",
        form=form,
        metrics={**_metrics(output.metric, output.scores), "documents": float(output.documents)},
        labels=labels,
        group=output.task,
        facts=facts,
        faults=output.faults,
        warnings=output.warnings,
        output=output,
    )


def _metrics(metric: str, scores: Mapping[str, Score]) -> dict[str, float]:
    """By lm-eval's own keys."""
    found: dict[str, float] = {}
    for name, score in scores.items():
        found[f"{metric},{name}"] = score.value
        if score.stderr is not None:
            found[f"{metric}_stderr,{name}"] = score.stderr
    return found


def _cell(row: Sequence[str], places: Mapping[str, int], name: str) -> str:
    text = row[places[name]] if name in places else ""
    cell = cell_of(text) if name in ("value", "stderr") else None
    return cell.digits if cell is not None else text
