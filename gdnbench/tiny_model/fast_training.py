"""The gated delta rule for training on short sequences: one triangular system over the whole sequence, no chunks.

transformers' reference goes chunk by chunk and keeps a state, which generation needs. A training sequence of about a
hundred tokens starts from an empty state and ends with it, so the recurrence collapses into one system. With keys k,
values v, gates beta and decays g, and D[i, j] the decay between positions j and i (none above the diagonal):

    (I + strictly_lower(beta k k' D)) u = beta v        what each position writes
    o = (q k' D) u                                      what each position reads
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers.models.qwen3_next import modeling_qwen3_next


def delta_rule(query: Tensor, key: Tensor, value: Tensor, g: Tensor, beta: Tensor, **_: Any) -> tuple[Tensor, None]:
    """As transformers' chunked function with its defaults for training: normalised queries and keys, no states.

    Args:
        query, key: [batch, length, heads, key size].
        value: [batch, length, heads, value size].
        g: [batch, length, heads], the logarithm of the decay, at most zero.
        beta: [batch, length, heads], between zero and one.

    Returns:
        [batch, length, heads, value size] in the dtype of `query`, and no state.
    """
    q, k = (_unit(x.transpose(1, 2).float()) for x in (query, key))
    v, beta, decay = value.transpose(1, 2).float(), beta.transpose(1, 2).float(), g.transpose(1, 2).float().cumsum(-1)
    above = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).triu(1)
    between = (decay[..., :, None] - decay[..., None, :]).masked_fill(above, -torch.inf).exp()
    keys = k.transpose(-1, -2).contiguous()
    gate = beta[..., None]
    system = ((k * gate) @ keys) * between
    written = torch.linalg.solve_triangular(system.float(), v * gate, upper=False, unitriangular=True)
    read = (((q * q.shape[-1] ** -0.5) @ keys) * between) @ written
    return read.transpose(1, 2).to(query.dtype), None


@contextmanager
def fast_training() -> Iterator[None]:
    """Lets transformers' Qwen3-Next use `delta_rule`; only for whole sequences without a cache."""
    slow = modeling_qwen3_next.torch_chunk_gated_delta_rule
    modeling_qwen3_next.torch_chunk_gated_delta_rule = delta_rule
    try:
        yield
    finally:
        modeling_qwen3_next.torch_chunk_gated_delta_rule = slow


def _unit(x: Tensor) -> Tensor:
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)
