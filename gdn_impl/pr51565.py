"""51565: a first chunk of one token is a prefill. vLLM 0.30.0 -> 0.31.0.

A correctness fix: decode kernels read the recurrent state of a row without asking whether it has one, and cache blocks
are not cleared when reused, so a new request whose first chunk was one token went on from its predecessor's state.
"""

from __future__ import annotations

import torch

from gdn_impl import pr55404
from gdn_impl.batch import CommonMetadata
from gdn_impl.split import Split, split_decodes_and_prefills


class Before(pr55404.After):
    """One token means decode."""


class After(Before):
    """A row without prior state that still prefills is a prefill, however short; padding leaves the counts."""

    def split(self, common: CommonMetadata) -> Split:
        assert common.seq_lens_cpu_upper_bound is not None
        starts = common.query_start_loc_cpu
        lengths = starts.diff()
        stateless = (lengths > 0) & (common.seq_lens_cpu_upper_bound <= lengths)
        if common.is_prefilling is not None:
            stateless &= common.is_prefilling
        else:
            # A batch for capture has rows as long as their sequences, and they are decodes.
            stateless = torch.zeros_like(stateless)
        split = split_decodes_and_prefills(
            common.replace(is_prefilling=stateless), decode_threshold=1, treat_short_extends_as_decodes=False
        )
        if not split.num_prefills:
            return split
        decodes, decode_tokens = split.num_decodes, split.num_decode_tokens
        prefills = split.num_prefills - int((lengths[decodes:] == 0).sum())
        return Split(decodes, prefills, decode_tokens, int(starts[decodes + prefills]) - decode_tokens)
