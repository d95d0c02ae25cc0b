"""Answers the test problems with one engine, in a process of its own.

`python -m gdnbench.tiny_model.answering vllm --model DIR --problems FILE --out FILE [--drafts 2]` writes the texts that
the engine generated, greedily, and under speculation how many drafts it proposed and accepted.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from gdnbench.tiny_model.problems import from_jsonl, prompt

MAX_NEW_TOKENS = 96
"""The longest right answer takes 58."""

_CONTEXT = 512


@dataclass(frozen=True)
class Answers:
    engine: str
    """Such as `vllm 0.32.0`."""
    texts: list[str]
    stopped: list[bool]
    """Whether the generation ended by itself."""
    drafted: int = 0
    accepted: int = 0
    accepted_at: list[int] = field(default_factory=list)
    """How many drafts were accepted at each place in a step."""


def with_vllm(model: Path, prompts: list[str], drafts: int) -> Answers:
    """The answers of the vLLM that is installed; all prompts are in flight at once, as its scheduler likes."""
    import vllm

    settings = {"method": "mtp", "num_speculative_tokens": drafts} if drafts else None
    engine = vllm.LLM(
        model=str(model),
        dtype="bfloat16",
        enforce_eager=True,
        max_model_len=_CONTEXT,
        max_num_seqs=64,
        enable_prefix_caching=False,
        disable_log_stats=False,
        speculative_config=settings,
    )
    sampling = vllm.SamplingParams(temperature=0.0, max_tokens=MAX_NEW_TOKENS)
    outputs = [request.outputs[0] for request in engine.generate(prompts, sampling, use_tqdm=False)]
    drafted, accepted, places = 0, 0, []
    for metric in engine.get_metrics():
        if metric.name == "vllm:spec_decode_num_draft_tokens":
            drafted += metric.value
        elif metric.name == "vllm:spec_decode_num_accepted_tokens":
            accepted += metric.value
        elif metric.name == "vllm:spec_decode_num_accepted_tokens_per_pos":
            places = list(metric.values)
    texts, stopped = [output.text for output in outputs], [output.finish_reason == "stop" for output in outputs]
    return Answers(f"vllm {vllm.__version__}", texts, stopped, drafted, accepted, places)


def with_transformers(model: Path, prompts: list[str]) -> Answers:
    """The answers of transformers in bf16, in batches of equal prompt length, so that nothing is padded."""
    import torch
    import transformers

    network = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.bfloat16)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    encoded = [tokenizer(prompt)["input_ids"] for prompt in prompts]
    texts, stopped = [""] * len(prompts), [False] * len(prompts)
    for length in sorted({len(tokens) for tokens in encoded}):
        rows = [row for row, tokens in enumerate(encoded) if len(tokens) == length]
        tokens = torch.tensor([encoded[row] for row in rows])
        generated = network.generate(
            tokens, attention_mask=torch.ones_like(tokens), do_sample=False, max_new_tokens=MAX_NEW_TOKENS
        )
        for row, output in zip(rows, generated[:, length:], strict=True):
            texts[row] = tokenizer.decode(output, skip_special_tokens=True)
            stopped[row] = tokenizer.eos_token_id in output.tolist()
    return Answers(f"transformers {transformers.__version__}", texts, stopped)


def main() -> None:
    parser = argparse.ArgumentParser(description="answers word problems with one engine")
    parser.add_argument("engine", choices=["vllm", "transformers"])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--problems", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--drafts", type=int, default=0, help="tokens to draft a step with the model's own head")
    options = parser.parse_args()
    prompts = [prompt(problem.question) for problem in from_jsonl(options.problems.read_text())]
    if options.engine == "vllm":
        answers = with_vllm(options.model, prompts, options.drafts)
    else:
        answers = with_transformers(options.model, prompts)
    options.out.write_text(json.dumps(asdict(answers)) + "\n")


if __name__ == "__main__":
    main()
