"""Folders as lm-eval leaves them, made by hand so that each can be damaged in its own way."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

FILTERS = ("strict-match", "flexible-extract")
STAMP = "2026-11-30T02-00-00.000000"

Change = Callable[[dict[str, Any]], None]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def samples_of(right: Sequence[bool], filters: Sequence[str] = FILTERS) -> list[dict[str, Any]]:
    """One line for each document and filter: document i has the question `q i`."""
    return [
        {
            "doc_id": number,
            "doc": {"question": f"q {number}", "answer": f"#### {number}"},
            "target": f"#### {number}",
            "arguments": {"gen_args_0": {"arg_0": f"Question: q {number}\nAnswer:"}},
            "resps": [[f"it is\n#### {number if ok else -1}"]],
            "filtered_resps": [str(number if ok else -1)],
            "filter": name,
            "metrics": ["exact_match"],
            "doc_hash": digest(f"q {number}"),
            "prompt_hash": digest(f"prompt {number}"),
            "target_hash": digest(f"{number}"),
            "exact_match": 1.0 if ok else 0.0,
        }
        for name in filters
        for number, ok in enumerate(right)
    ]


def results_of(right: Sequence[bool], filters: Sequence[str] = FILTERS) -> dict[str, Any]:
    share = sum(right) / len(right)
    stderr = math.sqrt(share * (1 - share) / (len(right) - 1))
    metrics: dict[str, Any] = {"alias": "word-problems"}
    for name in filters:
        metrics |= {f"exact_match,{name}": share, f"exact_match_stderr,{name}": stderr}
    return {
        "results": {"word-problems": metrics},
        "configs": {
            "word-problems": {
                "doc_to_text": "Question: {{question}}\nAnswer:",
                "doc_to_target": "{{answer}}",
                "generation_kwargs": {"until": ["Question:"], "do_sample": False, "temperature": 0.0},
                "filter_list": [{"name": name} for name in filters],
            }
        },
        "versions": {"word-problems": 3.0},
        "n-shot": {"word-problems": 0},
        "n-samples": {"word-problems": {"original": len(right), "effective": len(right)}},
        "config": {
            "model": "local-completions",
            "model_args": {"base_url": "http://127.0.0.1:1/v1/completions", "num_concurrent": 16},
            "batch_size": 1,
            "limit": None,
            "fewshot_seed": 1234,
            "random_seed": 0,
            "gen_kwargs": None,
        },
        "chat_template": None,
        "chat_template_sha": None,
        "system_instruction_sha": None,
        "fewshot_as_multiturn": None,
        "lm_eval_version": "0.4.13",
        "transformers_version": "5.0.0",
    }


def write(
    folder: Path,
    right: Sequence[bool],
    *,
    results: Change = lambda found: None,
    samples: Callable[[list[dict[str, Any]]], list[dict[str, Any]] | None] = lambda found: found,
    filters: Sequence[str] = FILTERS,
) -> Path:
    """A finished run; `results` and `samples` alter what is written. Samples that are None are not."""
    place = folder / "served"
    place.mkdir(parents=True)
    found = results_of(right, filters)
    results(found)
    (place / f"results_{STAMP}.json").write_text(json.dumps(found))
    lines = samples(samples_of(right, filters))
    if lines is not None:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (place / f"samples_word-problems_{STAMP}.jsonl").write_text(text)
    return folder


def answers(documents: int, right: int, lost: int = 0, gained: int = 0) -> tuple[list[bool], list[bool]]:
    """Before and after: `right` before, of which `lost` are wrong after; and `gained` of the wrong ones right after."""
    before = [number < right for number in range(documents)]
    after = list(before)
    for number in range(lost):
        after[number] = False
    for number in range(right, right + gained):
        after[number] = True
    return before, after
