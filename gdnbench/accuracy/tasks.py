"""The tasks that lm-eval is given: its own gsm8k, on files that lie on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.workloads.manifests import manifest

STOCK = "gsm8k"
"""lm-eval's task that all of ours include: its prompt, its stops and its two filters."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    Attributes:
        name: as a user types it.
        about: one line.
        shots: examples in front of each question.
        max_new_tokens: of an answer.
        test: the questions, in gsm8k's file format.
        train: where examples come from; None if none are given.
    """

    name: str
    about: str
    shots: int
    max_new_tokens: int
    test: Path
    train: Path | None

    def to_yaml(self) -> str:
        """The task file for lm-eval. JSON strings are YAML strings, so paths need no care."""
        import json

        files = {"test": str(self.test), **({} if self.train is None else {"train": str(self.train)})}
        lines = [
            f"include: {STOCK}.yaml",
            f"task: {self.lm_eval_name}",
            "tag: null",
            "dataset_path: json",
            "dataset_name: null",
            "dataset_kwargs:",
            f"  data_files: {json.dumps(files)}",
            f"num_fewshot: {self.shots}",
        ]
        if self.train is None:
            lines += ["training_split: null", "fewshot_split: null"]
        return "\n".join(lines) + "\n"

    @property
    def lm_eval_name(self) -> str:
        """lm-eval knows a gsm8k already."""
        return f"{self.name}-local" if self.name == STOCK else self.name


def find_task(name: str, data: Path | None = None, shots: int | None = None) -> Task:
    """A task, its files where they lie.

    Args:
        name: `word-problems` or `gsm8k`.
        data: a directory with gsm8k's `test.jsonl` and `train.jsonl`; default, what `gdnbench data fetch gsm8k` made.
        shots: instead of the task's own.

    Raises:
        UserError: no such task.
        EnvironmentMissing: its files are not here.
    """
    if name == "word-problems":
        if data is not None:
            raise UserError("--data is for gsm8k: word-problems come with the checkout")
        files = {file.name: file.path for file in manifest("word-problems").files}
        if shots:
            raise UserError("--shots is for gsm8k: word-problems has no examples to give")
        return Task(
            name, "1,319 problems of our own that the tiny model was trained for", 0, 256, files["test.jsonl"], None
        )
    if name == STOCK:
        folder = data or manifest(STOCK).files[0].path.parent
        test, train = folder / "test.jsonl", folder / "train.jsonl"
        for path in (test, train):
            if not path.is_file():
                how = (
                    "name a directory that has it"
                    if data
                    else "gdnbench data fetch gsm8k, or name a copy by --data DIR"
                )
                raise EnvironmentMissing(f"no {path}: {how}")
        return Task(name, "grade-school problems (Cobbe et al. 2021)", 5 if shots is None else shots, 256, test, train)
    raise UserError(f"--task {name}: there are word-problems and gsm8k")
