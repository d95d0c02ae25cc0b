"""Run inside a release's process: a real engine with the tiny model, told line by line what to do.

Every answer is one line of JSON on standard output: the texts of a generation, or the number of GDN builders that the
runner holds.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import chain

import vllm

PROMPTS = [f"Tom has {n} apples and buys {n * 7 % 23} more. How many apples does Tom have?" for n in range(16)]


def gdn_builders(worker) -> int:
    """How many GDN builders a V1 runner holds."""
    found = [group.get_metadata_builder() for groups in worker.model_runner.attn_groups for group in groups]
    return sum(type(builder).__name__ == "GDNAttentionMetadataBuilder" for builder in found)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever vLLM prints is no answer
    engine = vllm.LLM(
        model=sys.argv[1],
        dtype="bfloat16",
        enforce_eager=True,
        max_model_len=512,
        max_num_seqs=16,
        **json.loads(sys.argv[2]),
    )
    for line in chain(["null"], sys.stdin):
        asked = json.loads(line)
        if asked is None:
            answer = engine.collective_rpc(gdn_builders)
        else:
            sampling = vllm.SamplingParams(temperature=0.0, max_tokens=asked, ignore_eos=True)
            answer = [one.outputs[0].text for one in engine.generate(PROMPTS, sampling, use_tqdm=False)]
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
