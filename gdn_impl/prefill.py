"""What prefill kernels need besides offsets: chunks of the delta rule, and programs of the causal convolution.

Everything is computed on the host and sent over, so that nothing waits for the device.
Source: vLLM 0.28.0, `prepare_chunk_indices`, `prepare_chunk_offsets` and `compute_causal_conv1d_metadata`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from gdn_impl.batch import PAD_SLOT_ID, pins, repeated_row_numbers

CHUNK = 64
"""Tokens per chunk of the gated delta rule."""

CONVOLUTION_BLOCK = 8
"""Tokens per program of the causal convolution."""

LEAST_PROGRAMS = 1024

REMEMBERED = 8
"""Results kept per function."""

Remembered = tuple[tuple[Tensor, ...], dict[str, object], Tensor]
"""Arguments, named arguments, result."""

_all_kept: list[list[Remembered]] = []


def forget() -> None:
    """Drops all that is remembered here, so that a builder that takes over in a live server starts afresh."""
    for kept in _all_kept:
        kept.clear()


def remember_by_identity(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Keeps the latest results by the identity of the arguments, as flash-linear-attention's kernels come with it.

    Further KV groups of a step bring the very same host tensor and get the result for nothing; any other call pays for
    a search through all that is kept. Both are part of what a step costs, so the reference does the same.
    """
    kept: list[Remembered] = []
    _all_kept.append(kept)

    @wraps(function)
    def remembered(*arguments: Tensor, **named: object) -> Tensor:
        for place, (known, known_named, result) in enumerate(kept):
            same = len(known) == len(arguments) and len(known_named) == len(named)
            if (
                same
                and all(one is other for one, other in zip(known, arguments, strict=True))
                and all(known_named.get(name) is value for name, value in named.items())
            ):
                kept.append(kept.pop(place))
                return result
        result = function(*arguments, **named)
        del kept[: len(kept) - REMEMBERED + 1]
        kept.append((arguments, named, result))
        return result

    return remembered


@remember_by_identity
def _lengths(starts: Tensor) -> Tensor:
    return starts[1:] - starts[:-1]


def _chunk_counts(starts: Tensor) -> Tensor:
    # Rounded up by two negations, as vLLM does where it cannot import Triton; Triton's own way is one operation longer.
    return -(_lengths(starts) // -CHUNK)


@remember_by_identity
def chunk_indices(starts: Tensor) -> Tensor:
    """(chunks, 2), on the host, in the dtype of `starts`: for each chunk its row and its number within that row."""
    numbers = torch.cat([torch.arange(count) for count in _chunk_counts(starts).tolist()])
    rows = numbers.eq(0).cumsum(0) - 1
    return torch.stack([rows, numbers], 1).to(dtype=starts.dtype)


@remember_by_identity
def chunk_offsets(starts: Tensor) -> Tensor:
    """(rows + 1,) int64, on the host: chunks before each row, and in all."""
    return torch.cat([starts.new_zeros(1), _chunk_counts(starts)]).cumsum(-1)


def convolution_programs(
    starts: Tensor, device: torch.device, *, pin: bool = True
) -> tuple[dict[int, dict[str, Any]], Tensor, Tensor]:
    """The programs of the convolution kernel: which row each works on, and which block of that row.

    Args:
        starts: (rows + 1,) int32 on the host.
        device: where the kernel runs.
        pin: False copies from pageable memory, as vLLM 0.21.0 and 0.22.0 do.

    Returns:
        A table by block size (names as the kernel's launcher reads them), and the two device arrays in it, int32,
        twice as long as there are programs (at least 2,048), filled up with PAD_SLOT_ID.
    """
    staging = device if pin else torch.device("cpu")
    programs = -(-starts.diff() // CONVOLUTION_BLOCK)
    total = programs.sum().item()
    rows = repeated_row_numbers(programs, staging)
    blocks: list[int] = []
    for count in programs:
        blocks.extend(range(count))  # a tensor of one integer is an index
    offsets = torch.tensor(blocks, dtype=torch.int32, pin_memory=pins(staging))
    size = 2 * max(LEAST_PROGRAMS, len(rows))
    batch_ptr = torch.full((size,), PAD_SLOT_ID, dtype=torch.int32, device=device)
    offset_ptr = torch.full((size,), PAD_SLOT_ID, dtype=torch.int32, device=device)
    batch_ptr[0 : len(rows)].copy_(rows, non_blocking=True)
    offset_ptr[0 : len(rows)].copy_(offsets, non_blocking=True)
    table = {
        "nums": programs,
        "tot": total,
        "mlist": rows,
        "mlist_len": len(rows),
        "offsetlist": offsets,
        "batch_ptr": batch_ptr,
        "token_chunk_offset_ptr": offset_ptr,
    }
    return {CONVOLUTION_BLOCK: table}, batch_ptr, offset_ptr
