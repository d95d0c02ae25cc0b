"""The tiny model in the release environment: real vLLM, transformers, and the parts that only training needs."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from gdnbench.oracle.environment import release_python

ROOT = Path(__file__).parents[2]

TRAINED = (ROOT / "datasets" / "tiny-gdn" / "model.safetensors").exists()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not TRAINED, reason="no model yet: python -m gdnbench.tiny_model.train makes it"),
]


def in_release(*command: str) -> str:
    """What a command of the release environment's interpreter prints; its failure is the test's."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    done = subprocess.run([str(release_python()), *command], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.thorough
def test_real_vllm_and_transformers_answer_as_promised(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    print(in_release("-m", "gdnbench.tiny_model.check", "--json", str(figures)))
    assert json.loads(figures.read_text())["stopped"] == 1.0


ROUND_TRIP = """
import random
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("datasets/tiny-gdn")
rng = random.Random(1)
texts = [bytes(range(256)).decode("latin-1"), "", " ", "\\n\\n  x ", "12 345", "na\\u00efve \\u4f60\\u597d \\U0001f600"]
ranges = [(0, 0x80), (0x80, 0x800), (0x800, 0xD800), (0xE000, 0x110000)]
texts += ["".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(50)) for _ in range(200)]
for text in texts:
    tokens = tokenizer(text)["input_ids"]
    assert tokenizer.decode(tokens) == text, text
    assert all(token < 1024 for token in tokens)
assert len(tokenizer("98765")["input_ids"]) == 5
"""


def test_any_text_comes_back_from_the_tokenizer() -> None:
    in_release("-c", ROUND_TRIP)


DELTA_RULE = """
import torch
from transformers.models.qwen3_next import modeling_qwen3_next as theirs
from gdnbench.tiny_model.fast_training import delta_rule
torch.manual_seed(0)
q, k, v = (torch.randn(2, 90, 3, 16, requires_grad=True) for _ in range(3))
g, beta = -torch.rand(2, 90, 3), torch.rand(2, 90, 3)
ours, _ = delta_rule(q, k, v, g=g, beta=beta)
got = torch.autograd.grad(ours.square().sum(), [q, k, v])
for reference in (theirs.torch_chunk_gated_delta_rule, theirs.torch_recurrent_gated_delta_rule):
    expected, _ = reference(q, k, v, g=g, beta=beta, use_qk_l2norm_in_kernel=True)
    torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)
expected, _ = theirs.torch_chunk_gated_delta_rule(q, k, v, g=g, beta=beta, use_qk_l2norm_in_kernel=True)
wanted = torch.autograd.grad(expected.square().sum(), [q, k, v])
torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-4)
"""


def test_the_delta_rule_that_trains_is_transformers_own() -> None:
    in_release("-c", DELTA_RULE)


SECOND_DRAFT = """
import torch
from gdnbench.tiny_model.mtp import second_draft_mask
seen = second_draft_mask(3)[0, 0] == 0
assert seen.int().tolist() == [
    [1, 0, 0, 0, 0, 0],
    [1, 1, 0, 0, 0, 0],
    [1, 1, 1, 0, 0, 0],
    [1, 0, 0, 1, 0, 0],
    [1, 1, 0, 0, 1, 0],
    [1, 1, 1, 0, 0, 1],
]
"""


def test_a_second_draft_sees_the_model_up_to_its_place_and_of_the_drafts_only_itself() -> None:
    in_release("-c", SECOND_DRAFT)
