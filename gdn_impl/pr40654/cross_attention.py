"""Cross attention: in a row's first step the encoder's keys are written to the cache; later steps only read them.

Source: `CrossAttentionBuilder` of vLLM 0.19.1 and 0.20.0, without the builder that it wraps.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gdn_impl.pr40654 import common


class CrossMetadata(NamedTuple):
    """What the wrapped builder gets as its batch, and the slots of the encoder tokens that this step writes."""

    batch: Any
    slot_mapping: Tensor


class Before:
    """Rows past their first step are found by the host copy of the computed tokens."""

    def __init__(self, block_size: int, device: torch.device) -> None:
        self.block_size = block_size
        self.device = device

    def build(self, batch: Any) -> CrossMetadata:
        """The metadata of one step; `batch.encoder_seq_lens` and its host copy must be set."""
        cross = copy(batch)
        cross.causal = False
        cross.max_seq_len = int(cross.encoder_seq_lens_cpu.max())
        to_write = cross.encoder_seq_lens_cpu
        computed = self.computed(batch)
        if (computed > 0).sum().item() > 0:
            to_write = np.where(computed.numpy() > 0, 0, to_write)
        # Attention reads as many tokens as the encoder made, whoever wrote them.
        cross.seq_lens = batch.encoder_seq_lens
        cross._seq_lens_cpu = torch.from_numpy(batch.encoder_seq_lens_cpu)
        cross.encoder_seq_lens_cpu = to_write
        return CrossMetadata(cross, self._slots(to_write, batch.block_table_tensor))

    def computed(self, batch: Any) -> Tensor:
        """(n,) int32 on the host: tokens computed before this step."""
        computed: Tensor = batch.num_computed_tokens_cpu
        return computed

    def _slots(self, to_write: npt.NDArray[Any], block_table: Tensor) -> Tensor:
        """(sum of to_write,) int64 on the device, row after row."""
        slots = []
        for row in np.nonzero(to_write)[0]:
            tokens = int(to_write[row])
            blocks = block_table[row][: -(-tokens // self.block_size)]
            numbers = torch.arange(tokens, dtype=torch.int64, device=self.device)
            block, offset = numbers // self.block_size, numbers % self.block_size
            slots.append(blocks[block] * self.block_size + offset)
        return torch.cat(slots) if slots else torch.empty(0, dtype=torch.int64, device=self.device)


class After(Before):
    """By the bound less the query: exact enough, since only whether it is above 0 matters, and that it never alters."""

    def computed(self, batch: Any) -> Tensor:
        query_lens = common.lengths(batch.query_start_loc_cpu)
        computed: Tensor = batch.bound - query_lens
        return computed
