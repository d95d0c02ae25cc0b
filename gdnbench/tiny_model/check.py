"""Checks the tiny GDN model in real vLLM: `python -m gdnbench.tiny_model.check [--model DIR] [--json FILE]`.

The installed vLLM answers the test problems without speculation and with two drafts a step, transformers answers them
as well, each in a process of its own, and the figures are held against what the model promises. To check another
release, put its whole unpacked wheel first on PYTHONPATH. Needs the release environment. Exit code 1: a promise is
broken.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gdnbench.tiny_model.answering import Answers
from gdnbench.tiny_model.problems import Problem, from_jsonl, result

MODEL = Path("datasets/tiny-gdn")
PROBLEMS = Path("datasets/word-problems/test.jsonl")
DRAFTS = 2

ACCURACY = (0.60, 0.95)
ACCEPTANCE = (0.50, 0.90)
AGREEMENT = 0.98

_SETTINGS = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
}


def accuracy(answers: Answers, problems: Sequence[Problem]) -> float:
    """The share of problems whose result is right."""
    pairs = zip(answers.texts, problems, strict=True)
    return sum(result(text) == result(problem.answer) for text, problem in pairs) / len(problems)


def agreement(one: Answers, other: Answers) -> float:
    """The share of problems to which both give the same result, right or wrong."""
    pairs = list(zip(one.texts, other.texts, strict=True))
    return sum(result(a) == result(b) for a, b in pairs) / len(pairs)


def same_texts(one: Answers, other: Answers) -> float:
    """The share of problems that both answer with the very same text."""
    return sum(a == b for a, b in zip(one.texts, other.texts, strict=True)) / len(one.texts)


def figures(plain: Answers, drafting: Answers, reference: Answers, problems: Sequence[Problem]) -> dict[str, Any]:
    """What is known about the model after all three have answered."""
    return {
        "engine": plain.engine,
        "reference": reference.engine,
        "problems": len(problems),
        "accuracy": accuracy(plain, problems),
        "accuracy_drafting": accuracy(drafting, problems),
        "accuracy_reference": accuracy(reference, problems),
        "agreement": agreement(plain, reference),
        "agreement_drafting": agreement(drafting, reference),
        "agreement_drafting_plain": agreement(drafting, plain),
        "same_texts": same_texts(plain, reference),
        "same_texts_drafting": same_texts(drafting, reference),
        "acceptance": drafting.accepted / drafting.drafted if drafting.drafted else 0.0,
        "acceptance_by_place": [n * DRAFTS / drafting.drafted for n in drafting.accepted_at],
        "stopped": min(sum(answers.stopped) / len(problems) for answers in (plain, drafting)),
    }


def broken_promises(found: dict[str, Any]) -> list[str]:
    """The promises that the figures do not keep, a line each."""
    broken = []
    for name in ("accuracy", "accuracy_drafting"):
        if not ACCURACY[0] <= found[name] <= ACCURACY[1]:
            broken.append(f"{name} {found[name]:.3f} is outside {ACCURACY[0]:.2f} to {ACCURACY[1]:.2f}")
    for name in ("agreement", "agreement_drafting"):
        if found[name] < AGREEMENT:
            broken.append(f"{name} {found[name]:.4f} is below {AGREEMENT}")
    if not ACCEPTANCE[0] <= found["acceptance"] <= ACCEPTANCE[1]:
        broken.append(f"acceptance {found['acceptance']:.3f} is outside {ACCEPTANCE[0]:.2f} to {ACCEPTANCE[1]:.2f}")
    return broken


def answer(engine: str, model: Path, problems: Path, drafts: int = 0) -> Answers:
    """The answers of one engine, from a process of its own with this interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answers.json"
        command = [sys.executable, "-m", "gdnbench.tiny_model.answering", engine]
        command += ["--model", str(model), "--problems", str(problems), "--out", str(out), "--drafts", str(drafts)]
        done = subprocess.run(command, env=os.environ | _SETTINGS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            print(done.stdout.decode(errors="replace"), file=sys.stderr)
            raise SystemExit(f"{engine} could not answer: its output is above")
        return Answers(**json.loads(out.read_text()))


def main() -> None:
    parser = argparse.ArgumentParser(description="checks the tiny GDN model in real vLLM")
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--problems", type=Path, default=PROBLEMS)
    parser.add_argument("--json", type=Path, help="write the figures there")
    options = parser.parse_args()
    problems = from_jsonl(options.problems.read_text())
    plain = answer("vllm", options.model, options.problems)
    drafting = answer("vllm", options.model, options.problems, DRAFTS)
    reference = answer("transformers", options.model, options.problems)
    found = figures(plain, drafting, reference, problems)
    text = json.dumps(found, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")
    if broken := broken_promises(found):
        raise SystemExit("\n".join(broken))


if __name__ == "__main__":
    main()
