"""Writes a finished model as Hugging Face's loaders and vLLM read it, in bf16."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor
from transformers import GenerationConfig, Qwen3NextForCausalLM

from gdnbench.tiny_model import tokenizer as text
from gdnbench.tiny_model.mtp import MultiTokenHead

WEIGHTS = "model.safetensors"


def write(model: Qwen3NextForCausalLM, head: MultiTokenHead, tokenizer: Tokenizer, folder: Path) -> None:
    """Writes configuration, tokenizer and weights to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    model.config.architectures = ["Qwen3NextForCausalLM"]
    model.config.dtype = torch.bfloat16
    model.config.save_pretrained(folder)
    GenerationConfig(eos_token_id=model.config.eos_token_id, pad_token_id=model.config.pad_token_id).save_pretrained(
        folder
    )
    text.save(tokenizer, folder)
    named = {**dict(model.named_parameters()), **{f"mtp.{name}": p for name, p in head.named_parameters()}}
    weights = {name: tensor for fused in named.items() for name, tensor in _by_expert(*fused)}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})


def _by_expert(name: str, parameter: Tensor) -> Iterator[tuple[str, Tensor]]:
    """transformers keeps a block's experts in one tensor; checkpoints hold one of each kind per expert."""
    tensor = parameter.detach().to(torch.bfloat16)
    stem, _, kind = name.rpartition(".")
    if not stem.endswith(".experts"):
        yield name, tensor.contiguous()
        return
    for expert, matrix in enumerate(tensor):
        if kind == "gate_up_proj":
            gate, up = matrix.chunk(2)
            yield f"{stem}.{expert}.gate_proj.weight", gate.contiguous()
            yield f"{stem}.{expert}.up_proj.weight", up.contiguous()
        else:
            yield f"{stem}.{expert}.{kind}.weight", matrix.contiguous()
