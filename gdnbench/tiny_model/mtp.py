"""The model's multi-token-prediction head: one more block, which guesses the token after the next.

It sees the model's final hidden state of a position and the embedding of the token that follows, and is read by the
model's own output head. vLLM drafts two tokens with it: the second from the first draft and the head's own hidden
state, while the keys and values of all earlier positions come from the model's hidden states. Training does the same.
"""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as functional
from torch import Tensor, nn
from transformers import Qwen3NextConfig, Qwen3NextForCausalLM
from transformers.models.qwen3_next.modeling_qwen3_next import (
    Qwen3NextDecoderLayer,
    Qwen3NextRMSNorm,
    Qwen3NextRotaryEmbedding,
)

from gdnbench.tiny_model.batches import IGNORED, Batch


class MultiTokenHead(nn.Module):
    """Named as vLLM's Qwen3NextMTP expects its weights below `mtp.`."""

    def __init__(self, config: Qwen3NextConfig) -> None:
        super().__init__()
        own = copy.deepcopy(config)
        own.layer_types = ["full_attention"]
        own.num_hidden_layers = 1
        own._attn_implementation = "eager"
        own._experts_implementation = "eager"
        self.fc = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False)
        self.layers = nn.ModuleList([Qwen3NextDecoderLayer(own, 0)])
        self.norm = Qwen3NextRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.pre_fc_norm_embedding = Qwen3NextRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.pre_fc_norm_hidden = Qwen3NextRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self._rotary = [Qwen3NextRotaryEmbedding(own)]  # in a list: it has no weights, and is no module of the head
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=config.initializer_range)
            elif "norm" in name:
                nn.init.zeros_(parameter)

    def forward(self, embedded: Tensor, hidden: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """The head's hidden states.

        Args:
            embedded: [batch, length, hidden size], the embeddings of the tokens that follow.
            hidden: [batch, length, hidden size], the model's hidden states, or the head's own for a second draft.
            positions: [1, length], int64.
            mask: [1, 1, length, length], added to the attention's scores.

        Returns:
            [batch, length, hidden size].
        """
        both = torch.cat([self.pre_fc_norm_embedding(embedded), self.pre_fc_norm_hidden(hidden)], dim=-1)
        mixed = self.fc(both)
        angles = self._rotary[0](mixed, positions)
        normed: Tensor = self.norm(self.layers[0](mixed, position_embeddings=angles, attention_mask=mask))
        return normed


def draft_loss(model: Qwen3NextForCausalLM, head: MultiTokenHead, batch: Batch) -> Tensor:
    """The mean cross entropy of the first draft and of the second, added; the model itself learns nothing from it."""
    with torch.autocast("cpu", torch.bfloat16):
        with torch.no_grad():
            hidden = model.model(batch.tokens, use_cache=False).last_hidden_state
            embedded = model.model.embed_tokens(batch.tokens)
        length = batch.tokens.shape[1] - 3
        inputs, states = embedded[:, 1 : length + 1], hidden[:, :length]
        positions = torch.arange(length)[None]
        first = head(inputs, states, positions, _causal(length))
        both_inputs = torch.cat([inputs, embedded[:, 2 : length + 2]], dim=1)
        both_states = torch.cat([states, first], dim=1)
        both_positions = torch.cat([positions, positions + 1], dim=1)
        second = head(both_inputs, both_states, both_positions, second_draft_mask(length))[:, length:]
        drafts = [(first, batch.labels[:, 2 : length + 2]), (second, batch.labels[:, 3:])]
        logits = [(model.lm_head(states[wanted != IGNORED]), wanted[wanted != IGNORED]) for states, wanted in drafts]
    return torch.stack([functional.cross_entropy(scores.float(), wanted) for scores, wanted in logits]).sum()


def second_draft_mask(length: int) -> Tensor:
    """[1, 1, 2 * length, 2 * length]: the mask with which both drafts of every position are computed at once.

    Row i of the first half is the first draft at position i, and sees the first half up to itself. Row i of the second
    half is the second draft, at position i + 1: it sees the first half up to i, and of the second half only itself.
    """
    seen = torch.tril(torch.ones(length, length, dtype=torch.bool))
    none = torch.zeros(length, length, dtype=torch.bool)
    own = torch.eye(length, dtype=torch.bool)
    return _scores(torch.cat([torch.cat([seen, none], dim=1), torch.cat([seen, own], dim=1)]))


def _causal(length: int) -> Tensor:
    return _scores(torch.tril(torch.ones(length, length, dtype=torch.bool)))


def _scores(seen: Tensor) -> Tensor:
    return torch.zeros(seen.shape).masked_fill(~seen, -torch.inf)[None, None]
