"""What the model runner hands to every metadata builder, and the copy that brings host values to the device.

Field names are those of vLLM's `CommonAttentionMetadata`: they are the interface that a builder is written against.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

NULL_BLOCK_ID = 0
"""The cache block that padding points at."""

PAD_SLOT_ID = -1
"""Marks an unused program of a convolution kernel."""


@dataclass
class CommonMetadata:
    """One step's batch, n rows (with padding) of t tokens; each KV group gets a shallow copy with its own block table.

    Source: `CommonAttentionMetadata` of vLLM 0.27.0, the part that GDN builders read.
    """

    query_start_loc: Tensor
    """(n + 1,) int32 on the device: where each row's tokens start."""
    query_start_loc_cpu: Tensor
    """The same on the host."""
    seq_lens: Tensor
    """(n,) int32 on the device: computed plus scheduled tokens, 0 for padded rows."""
    num_reqs: int
    """n, padding included."""
    num_actual_tokens: int
    """t, padded for a captured graph."""
    max_query_len: int
    max_seq_len: int
    block_table_tensor: Tensor
    """(n, blocks) int32 on the device."""
    slot_mapping: Tensor
    """(t,) int64 on the device."""
    is_prefilling: Tensor | None = None
    """(n,) bool on the host: computed < prompt."""
    seq_lens_cpu_upper_bound: Tensor | None = None
    """(n,) int32 on the host: at least seq_lens; exact for prefill rows."""
    positions: Tensor | None = None
    """(t,) int64 on the device: each token's place in its sequence. GDN and Mamba builders do not read it."""
    _computed: Tensor | None = None

    def compute_num_computed_tokens(self) -> Tensor:
        """(n,) int32 on the device: tokens computed before this step. Derived once per copy, then remembered."""
        if self._computed is None:
            starts = self.query_start_loc
            self._computed = self.seq_lens - (starts[1:] - starts[:-1])
        return self._computed

    def replace(self, **changes: Any) -> CommonMetadata:
        """A copy with some fields changed; what was remembered is kept."""
        return dataclasses.replace(self, **changes)


def pins(device: torch.device) -> bool:
    """Whether host memory is pinned on the way to `device`: always, but for the CPU itself."""
    return device.type != "cpu"


def pinned(host: Tensor, device: torch.device) -> Tensor:
    """`host` in memory from which a copy to `device` does not block."""
    return host.pin_memory() if pins(device) else host


def pinned_array(array: npt.NDArray[Any], device: torch.device) -> Tensor:
    """A NumPy array as a host tensor from which a copy to `device` does not block."""
    return pinned(torch.from_numpy(array), device)


def send(host: Tensor, device: torch.device) -> Tensor:
    """`host` copied to `device` without waiting, by way of pinned memory.

    Source: `async_tensor_h2d` of vLLM 0.27.0 to 0.29.0.
    """
    return pinned(host, device).to(device=device, dtype=None, non_blocking=True)


def repeated_row_numbers(counts: Tensor, device: torch.device) -> Tensor:
    """(sum of counts,) int64, pinned: row i stands counts[i] times."""
    return pinned_array(np.repeat(np.arange(len(counts)), counts.numpy()), device)
