"""Finished results of other tools as runs: which tool wrote a file, and the run that it makes.

Known are result files of asv, results of `vllm bench serve --save-result`, and folders of lm-eval.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gdnbench.accuracy.outputs import find_results, read_output
from gdnbench.history.asv_files import MOST_BYTES, read_asv
from gdnbench.history.of_asv import asv_run
from gdnbench.history.of_bench import bench_run, is_bench
from gdnbench.history.of_lm_eval import lm_eval_run
from gdnbench.ingest.asv import is_asv
from gdnbench.values.errors import UserError
from gdnbench.values.runs import Run

MOST_FILES = 100_000
NOT_RESULTS = ("benchmarks.json", "machine.json")
"""What asv keeps beside its results."""

KNOWN = "a result file of asv, a result of vllm bench serve, or a folder of lm-eval"


@dataclass(frozen=True, slots=True)
class Importable:
    """A file that makes a run, or why it does not."""

    path: Path
    run: Run | None
    reason: str = ""


def importable(path: Path, variant: str | None = None) -> Iterator[Importable]:
    """Everything in a file or folder that makes a run. In a folder what makes none is told; a file must make one.

    Args:
        variant: what was measured, where the files do not say.

    Raises:
        UserError: the file makes none, nothing in the folder does, or there is no such path.
    """
    if path.is_dir() and not _is_lm_eval(path):
        yield from _in_folder(path, variant)
    elif path.exists():
        yield Importable(path, _run(path, variant))
    else:
        raise UserError(f"{path}: there is no such file or folder")


def _in_folder(folder: Path, variant: str | None) -> Iterator[Importable]:
    paths = [path for path in sorted(folder.rglob("*.json"))[: MOST_FILES + 1] if path.name not in NOT_RESULTS]
    if len(paths) > MOST_FILES:
        raise UserError(f"{folder} holds more than {MOST_FILES:,} files: name a folder in it")
    if not paths:
        raise UserError(f"{folder} holds nothing that is {KNOWN}")
    for path in paths:
        try:
            yield Importable(path, _run(path, variant))
        except UserError as error:
            yield Importable(path, None, str(error))


def _is_lm_eval(folder: Path) -> bool:
    return any(True for pattern in ("results_*.json", "*/results_*.json") for _ in folder.glob(pattern))


def _run(path: Path, variant: str | None) -> Run:
    if path.is_dir() or path.name.startswith("results_"):
        results = find_results(path)
        return lm_eval_run(read_output(results), results, _token(_content(results)), variant)
    content = _content(path)
    try:
        data: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is no whole JSON ({str(error)[:100]}): is it cut off?") from None
    if is_asv(data):
        return asv_run(read_asv(path, data), _token(content), variant)
    if is_bench(data):
        return bench_run(path, data, _token(content), variant)
    raise UserError(f"{path} is not {KNOWN}")


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    if len(content) > MOST_BYTES:
        raise UserError(f"{path} has more than {MOST_BYTES >> 20} MiB: it is not {KNOWN}")
    return content


def _token(content: bytes) -> str:
    """Of a file's bytes: imported twice, it is one run."""
    return f"file {hashlib.sha256(content).hexdigest()}"
