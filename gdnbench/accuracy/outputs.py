"""Reads what lm-eval left in a folder, whoever ran it: scores, settings, and each document's answer by filter.

Source: the output of lm-eval 0.4.13 (`results_TIME.json`, and `samples_TASK_TIME.jsonl` with one line for each document
and filter) and of releases since 0.4.3. The folder is data from outside: limited in size, checked, never executed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gdnbench.accuracy.settings import listed_of, mapping, setting_of
from gdnbench.values.accuracy import Score
from gdnbench.values.errors import UserError
from gdnbench.values.serving import Fault
from gdnbench.values.verdicts import Caveat

MOST_RESULTS_BYTES = 64 << 20
MOST_SAMPLES_BYTES = 2 << 30
MOST_LINE_BYTES = 16 << 20

METRICS = ("exact_match", "acc", "acc_norm", "mc2")
"""The metric that is judged: the first of these that a task has; each document is right or wrong by it."""

MATCHES = 1e-9
"""Within which a score and the mean of its samples are the same."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One document's answer under one filter.

    Attributes:
        number: `doc_id`, for display only: it is a place in a list, and lists differ.
        right: whether it counts as right.
        given: what the filter took out of the answer.
        text: the whole answer.
        question, target: of the document.
        prompt: digest of the whole prompt; empty in old releases.
    """

    number: int
    right: bool
    given: str
    text: str
    question: str
    target: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Output:
    """One finished run of lm-eval on one task.

    Attributes:
        folder: where it was read from.
        task, metric: by lm-eval's names.
        documents: that it answered.
        scores: by filter, as lm-eval prints them.
        answers: by filter and document (its `doc_hash`); empty where there are no samples that can be told apart.
        setting: what must be the same for two scores to be comparable, by the name of the fault that a difference is.
        listed: what may differ, and a reader should see.
        faults: what is wrong with this folder alone.
        warnings: what a reader must know of it.
    """

    folder: str
    task: str
    metric: str
    documents: int
    scores: Mapping[str, Score]
    answers: Mapping[str, Mapping[str, Answer]]
    setting: Mapping[str, Any]
    listed: Mapping[str, Any]
    faults: tuple[Fault, ...]
    warnings: tuple[Caveat, ...]


def read_output(folder: Path, task: str | None = None) -> Output:
    """The run that lies in a folder, or in the folder that lm-eval makes in it for the model.

    Args:
        task: which of several tasks.

    Raises:
        UserError: no finished run is there, or it cannot be read; the line names the file.
    """
    path, others = _results_file(folder)
    results = _json(path)
    name = _task(results, task, path)
    warnings = []
    if others:
        warnings.append(
            Caveat("several-runs", f"{folder} holds {others + 1} runs; the newest, {path.name}, was read", "name one")
        )
    samples = path.with_name(path.name.replace("results_", f"samples_{name}_", 1)).with_suffix(".jsonl")
    return output_of(results, name, str(folder), path, samples if samples.is_file() else None, warnings)


def tasks_of(folder: Path) -> list[str]:
    """The tasks of the newest run in a folder.

    Raises:
        UserError: no finished run is there, or it cannot be read.
    """
    return [
        str(name) for name, metrics in _json(_results_file(folder)[0])["results"].items() if isinstance(metrics, dict)
    ]


def output_of(
    results: Mapping[str, Any],
    task: str,
    source: str,
    path: Path | None = None,
    samples: Path | None = None,
    warnings: Sequence[Caveat] = (),
) -> Output:
    """The run that a results file tells of, with its answers where there are samples.

    Args:
        results: the whole file, loaded.
        task: one that it has.
        source: where it was read from, for messages.
        path: the file; default, `source`.
        warnings: what is known of it already.

    Raises:
        UserError: the task has no metric that says right or wrong, or no number of documents; samples are damaged.
    """
    name, place = task, path or Path(source)
    warnings = list(warnings)
    scores = _scores(results, name, place)
    metric = next(iter(scores)).partition(",")[0]
    documents, faults = _documents(results, name, place)
    answers: dict[str, dict[str, Answer]] = {}
    if samples is not None:
        reader = _Samples(samples, metric)
        answers = reader.answers
        faults += reader.faults
        warnings += reader.warnings
    else:
        warnings.append(
            Caveat(
                "no-samples", f"{source} has no samples, so answers cannot be paired", "run lm-eval with --log_samples"
            )
        )
    by_filter = {key.partition(",")[2]: score for key, score in scores.items()}
    faults += _against_samples(by_filter, answers, documents)
    faults += _against_stderr(by_filter, documents)
    return Output(
        folder=source,
        task=name,
        metric=metric,
        documents=documents,
        scores=by_filter,
        answers=answers,
        setting=setting_of(results, name),
        listed=listed_of(results),
        faults=tuple(faults),
        warnings=tuple(warnings),
    )


def find_results(folder: Path) -> Path:
    """The file with the scores that `read_output` reads.

    Raises:
        UserError: no finished run is there.
    """
    return _results_file(folder)[0]


def _results_file(folder: Path) -> tuple[Path, int]:
    """The newest results file of a folder, and how many others there are."""
    if folder.is_file() and folder.name.startswith("results_"):
        return folder, 0
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder of lm-eval's output")
    found = sorted([*folder.glob("results_*.json"), *folder.glob("*/results_*.json")], key=lambda path: path.name)
    if not found:
        samples = [*folder.glob("samples_*.jsonl"), *folder.glob("*/samples_*.jsonl")]
        why = "samples but no results_*.json: the run was interrupted" if samples else "no results_*.json"
        raise UserError(f"{folder} holds {why}; give the --output_path of a finished lm-eval run")
    return found[-1], len(found) - 1


def _json(path: Path) -> dict[str, Any]:
    if path.stat().st_size > MOST_RESULTS_BYTES:
        raise UserError(f"{path} has more than {MOST_RESULTS_BYTES >> 20} MB: it is no results file of lm-eval")
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read ({_short(error)}): is it cut off?") from None
    if not isinstance(found, dict) or not isinstance(found.get("results"), dict) or not found["results"]:
        raise UserError(f"{path} is no results file of lm-eval: it has no results")
    return found


def _task(results: Mapping[str, Any], asked: str | None, path: Path) -> str:
    known = [name for name, metrics in results["results"].items() if isinstance(metrics, dict)]
    if asked is not None:
        if asked not in known:
            raise UserError(f"{path} has no task {asked}: it has {', '.join(known)}")
        return asked
    if len(known) != 1:
        raise UserError(f"{path} has {len(known)} tasks ({', '.join(known[:8])}): choose one by --task")
    return str(known[0])


def _scores(results: Mapping[str, Any], task: str, path: Path) -> dict[str, Score]:
    """By `metric,filter`, of the one metric that is judged."""
    metrics = results["results"][task]
    for metric in METRICS:
        found = {}
        for key, value in metrics.items():
            name, comma, filter_name = str(key).partition(",")
            if name == metric and comma and _is_share(value):
                stderr = metrics.get(f"{metric}_stderr,{filter_name}")
                found[key] = Score(float(value), float(stderr) if _is_number(stderr) else None)
        if found:
            return found
    raise UserError(f"{path}: {task} has no metric that says right or wrong ({', '.join(METRICS)})")


def _documents(results: Mapping[str, Any], task: str, path: Path) -> tuple[int, list[Fault]]:
    """How many documents were answered: said by the file, or told from the standard error in old releases."""
    counts = mapping(results.get("n-samples")).get(task)
    if isinstance(counts, dict) and isinstance(counts.get("effective"), int) and counts["effective"] > 0:
        return counts["effective"], []
    for score in _scores(results, task, path).values():
        if (told := documents_by(score)) is not None:
            return told, []
    raise UserError(f"{path} does not say how many documents {task} has")


def documents_by(score: Score) -> int | None:
    """How many documents a score and its standard error tell: lm-eval's is p (1 - p) / (n - 1), square root."""
    spread = score.value * (1 - score.value)
    if not score.stderr or spread <= 0:
        return None
    return round(spread / score.stderr**2) + 1


def _against_stderr(scores: Mapping[str, Score], documents: int) -> Iterator[Fault]:
    """A standard error that belongs to another number of documents: figures of two runs were mixed."""
    for name, score in scores.items():
        if score.stderr is None or not 0 < score.value < 1:
            continue
        expected = math.sqrt(score.value * (1 - score.value) / max(documents - 1, 1))
        if abs(score.stderr / expected - 1) > 0.05 and documents > 1:
            told = documents_by(score)
            yield Fault(
                "standard_error",
                f"{name}: {score.value:.4f} +- {score.stderr:.4f} is that of {told:,} documents, and there are "
                f"{documents:,}",
            )
            return


def _against_samples(
    scores: Mapping[str, Score], answers: Mapping[str, Mapping[str, Answer]], documents: int
) -> Iterator[Fault]:
    """Samples that are not those of the score."""
    for name, by_document in answers.items():
        if len(by_document) != documents:
            yield Fault("missing_documents", f"{len(by_document):,} of {documents:,} documents have a {name} answer")
            return
        if name in scores and by_document:
            mean = sum(answer.right for answer in by_document.values()) / len(by_document)
            if abs(mean - scores[name].value) > MATCHES:
                stated = scores[name].value
                yield Fault(
                    "samples", f"{name}: the samples give {mean:.4f} and the results say {stated:.4f}: two runs mixed?"
                )


class _Samples:
    """The answers in one samples file, and what is wrong with it."""

    def __init__(self, path: Path, metric: str) -> None:
        self.path = path
        self.metric = metric
        self.answers: dict[str, dict[str, Answer]] = {}
        self.faults: list[Fault] = []
        self.warnings: list[Caveat] = []
        self._doubled = 0
        self._contradicting = 0
        self._without_filter = 0
        self._read()

    def _read(self) -> None:
        if self.path.stat().st_size > MOST_SAMPLES_BYTES:
            raise UserError(f"{self.path} has more than {MOST_SAMPLES_BYTES >> 30} GB: too large for samples")
        with self.path.open("rb") as stream:
            for number, line in enumerate(iter(lambda: stream.readline(MOST_LINE_BYTES + 1), b""), 1):
                if len(line) > MOST_LINE_BYTES:
                    raise UserError(f"{self.path}, line {number}: longer than {MOST_LINE_BYTES >> 20} MB")
                if line.strip():
                    self._take(number, line)
        self._conclude()

    def _take(self, number: int, line: bytes) -> None:
        try:
            sample = json.loads(line)
            filter_name = sample.get("filter")
            if filter_name is None:
                self._without_filter += 1
                return
            name, answer = str(sample["doc_hash"]), self._answer(sample)
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise UserError(
                f"{self.path}, line {number}: no sample of lm-eval ({_short(error)}): is it cut off?"
            ) from None
        known = self.answers.setdefault(str(filter_name), {})
        twin = 1
        key = name
        while key in known:
            if known[key].number == answer.number:
                self._doubled += 1
                self._contradicting += known[key] != answer
                return
            twin += 1  # the task has this very document twice
            key = f"{name}#{twin}"
        known[key] = answer

    def _answer(self, sample: Mapping[str, Any]) -> Answer:
        value = sample[self.metric]
        if value not in (0, 1):
            raise ValueError(f"{self.metric} is {value}, neither right nor wrong")
        document = sample.get("doc")
        question = document.get("question") or document.get("query") or "" if isinstance(document, dict) else ""
        return Answer(
            number=int(sample["doc_id"]),
            right=bool(value),
            given=_first(sample.get("filtered_resps")),
            text=_first(sample.get("resps")),
            question=str(question),
            target=str(sample.get("target", "")),
            prompt=str(sample.get("prompt_hash", "")),
        )

    def _conclude(self) -> None:
        if self._without_filter:
            self.answers = {}
            self.warnings.append(
                Caveat(
                    "no-filter",
                    f"{self.path.name} does not say which filter its lines belong to, so answers cannot be paired",
                    "run lm-eval 0.4.3 or newer with --log_samples",
                )
            )
        if self._contradicting:
            what = f"{self._contradicting:,} documents have two different answers in {self.path.name}"
            self.faults.append(Fault("contradicting", f"{what}: two runs wrote to one file"))
        elif self._doubled:
            what = f"{self._doubled:,} lines of {self.path.name} stand there twice; each document counts once"
            self.warnings.append(Caveat("doubled", what, "nothing: they are equal"))


def _first(value: Any) -> str:
    while isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else json.dumps(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:120]
