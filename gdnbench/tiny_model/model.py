"""The model's shape: Qwen3-Next at its smallest, three Gated DeltaNet layers to one of attention."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer
from transformers import Qwen3NextConfig, Qwen3NextForCausalLM

from gdnbench.tiny_model.tokenizer import END, MAX_TOKENS, PADDING, VOCABULARY

_FORGETTING = (0.004, 0.05)
"""How strongly each GDN head forgets at the start. transformers draws up to 16, which forgets a question at once."""


def configuration(tokenizer: Tokenizer) -> Qwen3NextConfig:
    """The configuration.

    Only block 0 has experts: vLLM's class wants one such block, and looks the multi-token-prediction head's block up
    as number 0. The output head is not tied to the embedding, since vLLM's class would not load it.
    """
    return Qwen3NextConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        full_attention_interval=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        linear_key_head_dim=64,
        linear_value_head_dim=64,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=64,
        shared_expert_intermediate_size=256,
        mlp_only_layers=[1, 2, 3],
        max_position_embeddings=MAX_TOKENS,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.25},
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.token_to_id(END),
        pad_token_id=tokenizer.token_to_id(PADDING),
        num_nextn_predict_layers=1,
    )


def new_model(tokenizer: Tokenizer) -> Qwen3NextForCausalLM:
    """A model to train, its weights drawn from torch's generator."""
    model = Qwen3NextForCausalLM(configuration(tokenizer))
    model.set_attn_implementation("eager")
    model.set_experts_implementation("eager")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("A_log"):
                parameter.copy_(torch.tensor(_FORGETTING).log())
    return model
