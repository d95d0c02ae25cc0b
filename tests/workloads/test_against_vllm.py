"""The same file, tokenizer, seed and number give the prompts that vLLM's own benchmark gives, release by release."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from gdnbench.oracle.environment import release_process
from gdnbench.values.errors import EnvironmentMissing
from gdnbench.workloads import choose
from gdnbench.workloads.generator import SharegptLike
from gdnbench.workloads.tokens import Tokens

TOKENIZER = Path(__file__).parents[2] / "datasets" / "tiny-gdn"
SAMPLE = """
import json, sys
from vllm.benchmarks.datasets import ShareGPTDataset
from vllm.tokenizers import get_tokenizer
asked = json.load(sys.stdin)
tokenizer = get_tokenizer(asked["tokenizer"])
answers = []
for one in asked["samples"]:
    data = ShareGPTDataset(dataset_path=asked["dataset"], random_seed=one["seed"])
    found = data.sample(tokenizer=tokenizer, num_requests=one["prompts"], output_len=one["output_len"],
                        no_oversample=not one["oversample"])
    answers.append([[request.prompt, request.prompt_len, request.expected_output_len] for request in found])
print(json.dumps(answers))
"""
FEW, MANY = 40, 10_000
SAMPLES = [
    {"seed": seed, "prompts": prompts, "output_len": output_len, "oversample": oversample}
    for seed in (0, 1, 7, 20_260_101)
    for output_len in (None, 2, 300, 1500)
    for prompts, oversample in ((FEW, False), (MANY, False), (700, True))
]


def conversations() -> list[object]:
    """Entries such as ShareGPT has: of all lengths, languages and speakers, some without an exchange."""
    entries: list[object] = []
    for index, one in enumerate(SharegptLike(Tokens(TOKENIZER).count, 3, 400)):
        first, second = ("human", "gpt") if index % 3 else ("gpt", "human")
        turns = [{"from": first, "value": one.prompt}, {"from": second, "value": one.answer}]
        entries.append({"id": str(index), "conversations": [*turns, *turns[: index % 3]]})
    odd = [
        "",
        "Hi",
        "\u4f60\u597d\uff0c\u4e16\u754c\u3002 \U0001f600 na\u00efve\n\n\tcode()",
        "<|endoftext|> and <|padding|>",
        "x" * 9000,
        "a " * 1200,
    ]
    pairs = [(prompt, answer) for prompt in odd for answer in odd]
    entries += [{"conversations": [{"from": "human", "value": a}, {"from": "gpt", "value": b}]} for a, b in pairs]
    return [{"id": "none"}, {"conversations": []}, {"conversations": [{"from": "human", "value": "alone"}]}, *entries]


@pytest.mark.slow
@pytest.mark.parametrize("release", ["0.29.0", "0.32.0"])
def test_the_prompts_are_vllms(release: str, tmp_path: Path) -> None:
    try:
        process = release_process(release)
    except EnvironmentMissing as missing:
        pytest.skip(str(missing))
    dataset = tmp_path / "conversations.json"
    dataset.write_text(json.dumps(conversations(), ensure_ascii=False), "utf-8")
    asked = {"tokenizer": str(TOKENIZER), "dataset": str(dataset), "samples": SAMPLES}
    command = [str(process.python), "-c", SAMPLE]
    run = subprocess.run(
        command, env=process.env, input=json.dumps(asked), capture_output=True, text=True, timeout=280, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]

    for sample, theirs in zip(SAMPLES, json.loads(run.stdout.splitlines()[-1]), strict=True):
        ours = choose(dataset, TOKENIZER, **sample)
        assert [[one.prompt, one.prompt_len, one.output_len] for one in ours.requests] == theirs, sample
        kept = ours.identity["counts"]["kept"]
        assert kept == FEW if sample["prompts"] == FEW else 100 < kept < 500
        assert len(theirs) == (700 if sample["oversample"] else kept)
