"""Where decodes end and prefills begin in a batch whose decodes come first.

Source: `split_decodes_and_prefills` of vLLM 0.27.0 (unchanged from 0.22.0 to 0.30.0; while short extends are decodes,
from 0.19.1).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class Split(NamedTuple):
    """Counts of rows and tokens on either side of the boundary."""

    num_decodes: int
    num_prefills: int
    num_decode_tokens: int
    num_prefill_tokens: int


class SplitBatch(Protocol):
    """What the split reads of a batch's common metadata, whichever release's."""

    query_start_loc_cpu: Tensor
    num_reqs: int
    num_actual_tokens: int
    max_query_len: int
    is_prefilling: Tensor | None


def split_decodes_and_prefills(
    common: SplitBatch,
    decode_threshold: int = 1,
    require_uniform: bool = False,
    treat_short_extends_as_decodes: bool = True,
) -> Split:
    """The split of one batch, from host values alone.

    Args:
        common: rows ordered decode, short extend, long extend, prefill.
        decode_threshold: the longest query that still decodes.
        require_uniform: decodes must all be as long as the first row; rows of length 0 are padding and may differ.
        treat_short_extends_as_decodes: False lets a row that still prefills be a prefill, however short. Mamba asks
            for that, which makes `is_prefilling` of padded rows matter (issue 41841).
    """
    rows, tokens = common.num_reqs, common.num_actual_tokens
    all_decodes = Split(rows, 0, tokens, 0)
    uniform_by_length = not require_uniform or decode_threshold <= 1
    if common.max_query_len <= decode_threshold and uniform_by_length and treat_short_extends_as_decodes:
        return all_decodes

    starts = common.query_start_loc_cpu
    lengths = starts[1:] - starts[:-1]
    if lengths[0].item() > decode_threshold:
        return Split(0, rows, 0, tokens)

    if require_uniform:
        if treat_short_extends_as_decodes and torch.all((lengths == lengths[0]) | (lengths == 0)):
            return all_decodes
        prefills = lengths != lengths[0]
    else:
        prefills = lengths > decode_threshold
    if not treat_short_extends_as_decodes:
        assert common.is_prefilling is not None
        prefills |= common.is_prefilling
    if not torch.any(prefills):
        return all_decodes

    boundary = int(prefills.int().argmax(dim=-1).item())
    decode_tokens = int(starts[boundary].item())
    return Split(boundary, rows - boundary, decode_tokens, tokens - decode_tokens)
