"""What prefill kernels need besides offsets, computed on the host in one pass: chunks, and convolution programs.

The values are those of `gdn_impl.prefill`, which follows the release operation by operation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gdn_impl.batch import PAD_SLOT_ID
from gdn_impl.limit_pack import Pack
from gdn_impl.prefill import CHUNK, CONVOLUTION_BLOCK, LEAST_PROGRAMS

Ints = npt.NDArray[np.int32]

PROGRAMS = ("batch_ptr", "token_chunk_offset_ptr")
"""For each program its row, and the number of its block within the row."""


def offsets(lengths: Ints) -> Ints:
    """(n + 1,) where each of n stretches begins, and where the last one ends."""
    found = np.empty(len(lengths) + 1, np.int32)
    found[0] = 0
    lengths.cumsum(out=found[1:])
    return found


def add_pieces(pack: Pack, chunked: Ints, convolved: Ints) -> dict[str, Any]:
    """Chunks of the delta rule and programs of the causal convolution: both are rows cut into pieces of one length.

    Args:
        pack: takes what the device needs.
        chunked, convolved: tokens of the rows that are cut for either; rows without any, padding, stand last.

    Returns:
        What of the convolution's table stays on the host.
    """
    rows = len(chunked)
    counts = np.empty(rows + len(convolved), np.int32)
    np.floor_divide(chunked + (CHUNK - 1), CHUNK, out=counts[:rows])
    np.floor_divide(convolved + (CONVOLUTION_BLOCK - 1), CONVOLUTION_BLOCK, out=counts[rows:])
    before = offsets(counts)
    chunks = int(before[rows])
    row = np.arange(len(counts), dtype=np.int32).repeat(counts)
    number = np.arange(len(row), dtype=np.int32) - before[:-1].repeat(counts)

    indices = np.empty((chunks, 2), np.int32)
    indices[:, 0], indices[:, 1] = row[:chunks], number[:chunks]
    pack.add("chunk_indices", indices)
    pack.add("chunk_offsets", before[: rows + 1].astype(np.int64))

    total = len(row) - chunks
    programs = np.empty((2, 2 * max(LEAST_PROGRAMS, total)), np.int32)
    np.subtract(row[chunks:], rows, out=programs[0, :total])
    programs[1, :total] = number[chunks:]
    programs[:, total:] = PAD_SLOT_ID
    pack.add(PROGRAMS[0], programs[0])
    pack.add(PROGRAMS[1], programs[1])
    return {
        "nums": torch.from_numpy(counts[rows:]),
        "tot": total,
        "mlist": torch.from_numpy(programs[0, :total].astype(np.int64)),
        "mlist_len": total,
        "offsetlist": torch.from_numpy(number[chunks:]),
    }


def programs_table(programs: dict[str, Any], sent: dict[str, Tensor]) -> dict[int, dict[str, Any]]:
    """The table as the kernel's launcher reads it, by block size."""
    return {CONVOLUTION_BLOCK: programs | {name: sent[name] for name in PROGRAMS}}
