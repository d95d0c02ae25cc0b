"""The indexer's decode half at the state of vLLM 0.19.1: kernels see one query token per row, or a fixed number.

40654 does not touch it and no bound is read here; it is part of what a build costs. 0.20.0 rewrote it, beside 40654.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gdn_impl.split import Split

NATIVE_LENGTHS = (1, 2)
"""Query tokens per row that the kernel takes as they are; others are laid out as rows of their own."""

LARGE_CONTEXT = 8192
"""Tokens from which another top-k kernel wins, for batches up to LARGE_CONTEXT_ROWS."""

LARGE_CONTEXT_ROWS = 128


@dataclass
class Decodes:
    """The rows before the prefills, or their query tokens as rows of their own."""

    block_table: Tensor
    seq_lens: Tensor
    """(rows,) int32 on the device: keys that each sees."""
    decode_lens: Tensor
    """(rows,) int32 on the device: query tokens."""
    use_large_context_topk: bool
    offsets: Tensor | None
    """(1 + speculation,) int32 on the device, where the kernel takes several query tokens per row."""


class DecodeHalf:
    """Builds the decodes of a step in persistent buffers.

    Args:
        speculation: drafts per step, at most.
        max_rows: max-num-seqs.
        max_tokens: max-num-batched-tokens.
        max_blocks: blocks of the longest sequence.
    """

    def __init__(self, speculation: int, max_rows: int, max_tokens: int, max_blocks: int, device: torch.device) -> None:
        self.speculation = speculation
        self.flattens = 1 + speculation not in NATIVE_LENGTHS
        self.decode_lens = torch.empty((max_tokens,), dtype=torch.int32, device=device)
        self.offsets = torch.arange(1 + speculation, device=device, dtype=torch.int32)
        self.numbers = torch.arange(max_rows * (1 + speculation), dtype=torch.int32, device=device)
        self.seq_lens = torch.zeros((max_tokens,), dtype=torch.int32, device=device)
        self.block_table = torch.zeros((max_tokens, max_blocks), dtype=torch.int32, device=device)

    def build(self, batch: Any, split: Split) -> Decodes:
        """The decodes of one step. Clamps their part of the batch's block table at 0, in place, as 0.19.1 does."""
        rows, width = split.num_decodes, 1 + self.speculation
        torch.diff(batch.query_start_loc[: rows + 1], out=self.decode_lens[:rows])
        decode_lens = self.decode_lens[:rows]
        lens_cpu = torch.diff(batch.query_start_loc_cpu[: rows + 1])
        seq_lens, block_table = batch.seq_lens[:rows], batch.block_table_tensor[:rows, ...]
        block_table.clamp_(min=0)

        offsets, kernel_rows = None, rows
        longest = int(lens_cpu.max().item())
        if not self.flattens and longest == width and width > 1:
            offsets = self.offsets
        elif longest > 1:
            kernel_rows = split.num_decode_tokens
            tokens = int(lens_cpu.sum().item())
            context = torch.repeat_interleave(seq_lens - decode_lens, decode_lens, output_size=tokens)
            first = torch.repeat_interleave(batch.query_start_loc[:rows], decode_lens, output_size=tokens)
            seq_lens = self._number(context, first, kernel_rows)
            block_table = self._repeat(block_table, decode_lens, tokens, kernel_rows)
            self.decode_lens[:kernel_rows] = 1
            decode_lens = self.decode_lens[:kernel_rows]
        large = kernel_rows <= LARGE_CONTEXT_ROWS and batch.max_seq_len > LARGE_CONTEXT
        return Decodes(block_table, seq_lens, decode_lens, large, offsets)

    def _number(self, context: Tensor, first: Tensor, kernel_rows: int) -> Tensor:
        """(kernel rows,): each query token sees its request's keys up to its own; `first` is its request's first."""
        tokens = len(first)
        place = self.numbers[:tokens] - first
        self.seq_lens[:tokens] = context + place + 1
        self.seq_lens[tokens:] = 0
        return self.seq_lens[:kernel_rows]

    def _repeat(self, block_table: Tensor, decode_lens: Tensor, tokens: int, kernel_rows: int) -> Tensor:
        """(kernel rows, blocks): each query token reads its request's blocks, padding reads block 0."""
        self.block_table[:tokens] = torch.repeat_interleave(block_table, decode_lens, dim=0, output_size=tokens)
        if tokens < kernel_rows:
            self.block_table[tokens:kernel_rows, 0] = 0
        return self.block_table[:kernel_rows]
