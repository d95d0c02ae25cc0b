"""The V1 runner's attention metadata for a step that is padded to the size of a captured graph.

Source: `GPUModelRunner._build_attention_metadata`, and of `_prepare_inputs` what it reads, vLLM 0.21.0 and 0.22.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gdn_impl.batch import NULL_BLOCK_ID, CommonMetadata
from gdn_impl.pr41873.input_batch import InputBatch


@dataclass(frozen=True)
class PaddedStep:
    """The sizes of one step, and where its tokens go in the cache."""

    num_reqs: int
    """Requests at work."""
    num_reqs_padded: int
    """Rows with padding: the size of the captured graph."""
    num_tokens_padded: int
    max_query_len: int
    slot_mappings: list[Tensor]
    """For each KV group (tokens with padding,) int64 on the device."""


class Before:
    """Padded rows are described by whatever their slots of the batch hold.

    Args:
        batch: the requests at work; read, never changed.
        max_tokens: the most tokens of a step, padding included.
        device: where builders and kernels read.
    """

    def __init__(self, batch: InputBatch, max_tokens: int, device: torch.device) -> None:
        slots = batch.slots

        def zeros(*size: int, on: torch.device | str = device) -> Tensor:
            return torch.zeros(size, dtype=torch.int32, device=on)

        self.batch = batch
        self.starts, self.starts_host = zeros(slots + 1), zeros(slots + 1, on="cpu")
        self.seq_lens, self.seq_lens_bound = zeros(slots), zeros(slots, on="cpu")
        self.block_tables = [zeros(*table.shape) for table in batch.blocks]
        self.positions = torch.zeros(max_tokens, dtype=torch.int64, device=device)
        self.accepted, self.drafts_host = zeros(slots), zeros(slots, on="cpu")

    def prepare(
        self,
        query_lens: npt.NDArray[np.int32],
        seq_lens: npt.NDArray[np.int32] | None = None,
        accepted: npt.NDArray[np.int32] | None = None,
        drafts: npt.NDArray[np.int32] | None = None,
    ) -> None:
        """Stages a step's requests. Lengths and offsets of padded rows are neutral here: 0, and flat.

        Args:
            query_lens: (requests,) tokens to compute.
            seq_lens: (requests,) the truth, where the host knows a bound only.
            accepted: (requests,) tokens that the last step accepted; 1 without speculation.
            drafts: (requests,) tokens drafted; -1 where a row is not speculative.
        """
        live = len(self.batch)
        starts = self.starts_host.numpy()
        starts[1 : live + 1] = query_lens.cumsum()
        starts[live + 1 :] = starts[live]
        self.starts.copy_(self.starts_host)
        bound = self.seq_lens_bound.numpy()
        bound[:live] = self.batch.computed[:live] + query_lens
        bound[live:] = 0
        lengths = bound.copy()
        if seq_lens is not None:
            lengths[:live] = seq_lens
        self.seq_lens.copy_(torch.from_numpy(lengths))
        firsts = np.repeat(lengths[:live] - query_lens - starts[:live], query_lens)
        self.positions[: len(firsts)].copy_(torch.from_numpy(firsts + np.arange(len(firsts))))
        self.accepted.fill_(1)
        if accepted is not None:
            self.accepted[:live].copy_(torch.from_numpy(accepted))
        self.drafts_host.fill_(-1)
        if drafts is not None:
            self.drafts_host[:live].copy_(torch.from_numpy(drafts))
        self.commit_blocks(live)

    def commit_blocks(self, rows: int) -> None:
        """Copies the first rows of every block table to the device; those behind stay as an earlier step left them."""
        for table, blocks in zip(self.block_tables, self.batch.blocks, strict=True):
            table[:rows].copy_(torch.from_numpy(blocks[:rows]))

    def is_prefilling(self, step: PaddedStep) -> Tensor:
        """(rows with padding,) bool on the host: computed < prompt, in vacated slots too."""
        rows = step.num_reqs_padded
        flags: Tensor = self.batch.computed_tensor[:rows] < self.batch.prompt_tensor[:rows]
        return flags

    def common_metadata(self, step: PaddedStep) -> Iterator[CommonMetadata]:
        """The batch as builders see it, for one KV group after the other: a builder runs before the next is made."""
        rows = step.num_reqs_padded
        longest = int(self.seq_lens_bound.numpy()[: step.num_reqs].max())
        table = self._block_table(0, step)
        common = CommonMetadata(
            seq_lens_cpu_upper_bound=self.seq_lens_bound[:rows],
            is_prefilling=self.is_prefilling(step),
            query_start_loc=self.starts[: rows + 1],
            query_start_loc_cpu=self.starts_host[: rows + 1],
            seq_lens=self.seq_lens[:rows],
            num_reqs=rows,
            num_actual_tokens=step.num_tokens_padded,
            max_query_len=step.max_query_len,
            max_seq_len=longest,
            block_table_tensor=table,
            slot_mapping=step.slot_mappings[0],
            positions=self.positions[: step.num_tokens_padded],
        )
        for group, slots in enumerate(step.slot_mappings):
            of_group = copy(common)
            if group:
                of_group.block_table_tensor, of_group.slot_mapping = self._block_table(group, step), slots
            yield of_group

    def speculative_arguments(self, step: PaddedStep) -> tuple[Tensor, Tensor]:
        """What Mamba's and GDN's builders get besides in a step with drafts: accepted tokens, and drafts (host)."""
        return self.accepted[: step.num_reqs_padded], self.drafts_host[: step.num_reqs_padded]

    def _block_table(self, group: int, step: PaddedStep) -> Tensor:
        table = self.block_tables[group][: step.num_reqs_padded]
        table[step.num_reqs : step.num_reqs_padded].fill_(NULL_BLOCK_ID)
        return table


class After(Before):
    """A padded row never prefills."""

    def is_prefilling(self, step: PaddedStep) -> Tensor:
        flags = super().is_prefilling(step)
        flags[step.num_reqs :] = False
        return flags
