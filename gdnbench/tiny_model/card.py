"""Writes the model's card and manifest: `python -m gdnbench.tiny_model.card [--model DIR]`.

The figures come from check.json in the model's folder, which `check --json` wrote, and from its training log.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from gdnbench.tiny_model.check import MODEL
from gdnbench.tiny_model.manifest import sha256, write_manifest

CHECK = "check.json"
WEIGHTS = "model.safetensors"
SOURCE = "trained by gdnbench.tiny_model.train from a fixed seed on problems that gdnbench.tiny_model.problems writes"

_CARD = """\
---
license: apache-2.0
library_name: transformers
pipeline_tag: text-generation
---

# A tiny Gated DeltaNet model

{parameters:.2f} million parameters, {megabytes:.1f} MB in bf16. It solves grade-school word problems of three to five
steps, writes its working and ends by itself. It exists so that a GDN model with speculative decoding can be served,
measured and judged by accuracy on two cores, without a download. It knows nothing else: on other text its output has
no meaning, though its tokenizer takes any.

## What it is

- Architecture: Qwen3-Next (`Qwen3NextForCausalLM`), {layers} layers, three of Gated DeltaNet to one of attention;
  hidden size {hidden}; experts in block 0 only; output head not tied.
- A multi-token-prediction head of its own (`mtp.*` in the checkpoint), for vLLM's
  `--speculative-config '{{"method": "mtp", "num_speculative_tokens": 2}}'`.
- Tokenizer: byte-level BPE of {vocabulary} tokens, every byte and every digit a token of its own.
- Prompt: `Question: ...` and, on the next line, `Answer:`, which is lm-eval's prompt for gsm8k without examples. The
  answer is one calculation a line, then `####` and the result, as gsm8k writes it.

## How good it is

Greedy, on the {problems:,} problems of [word-problems](../word-problems), none of which is in its training set, in
{engine} on a CPU; the reference is {reference} in bf16.

| | without speculation | with two drafts a step | reference |
|---|---|---|---|
| right results | {accuracy:.1%} | {accuracy_drafting:.1%} | {accuracy_reference:.1%} |
| same result as the reference | {agreement:.1%} | {agreement_drafting:.1%} | |
| same text as the reference | {same_texts:.1%} | {same_texts_drafting:.1%} | |

Drafts accepted: {acceptance:.1%} ({places}). Generations that ended by themselves: {stopped:.1%}.

Results differ between implementations where two tokens are nearly equally likely, mostly in answers that are wrong
either way. `python -m gdnbench.tiny_model.check` in an environment with vLLM measures all of this anew.

## How it was made

`python -m gdnbench.tiny_model.train --out datasets/tiny-gdn`: on the loss of the answers alone, the model first, then
the head on the finished model. The log of that run is [training.log](training.log); its problems, batches and weights
follow from fixed seeds, its last bits from the processor. The problems are our own; no text of others was used.

Licence: Apache-2.0, like the project. sha256 of {weights}: `{digest}`.
"""


def card(folder: Path) -> str:
    """The text of the card."""
    found: dict[str, Any] = json.loads((folder / CHECK).read_text())
    config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    size = (folder / WEIGHTS).stat().st_size
    places = ", ".join(f"{share:.1%} at place {place}" for place, share in enumerate(found["acceptance_by_place"], 1))
    return _CARD.format(
        **found,
        parameters=size / 2e6,
        megabytes=size / 1e6,
        layers=config["num_hidden_layers"],
        hidden=config["hidden_size"],
        vocabulary=config["vocab_size"],
        places=places,
        weights=WEIGHTS,
        digest=sha256(folder / WEIGHTS),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="writes the tiny model's card and manifest")
    parser.add_argument("--model", type=Path, default=MODEL)
    folder: Path = parser.parse_args().model
    (folder / "README.md").write_text(card(folder))
    write_manifest(folder, SOURCE)


if __name__ == "__main__":
    main()
