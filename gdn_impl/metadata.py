"""What a GDN builder gives to the layers of one KV group for one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass
class GDNMetadata:
    """One step of one KV group. n rows, d of them with drafts, k = 1 + speculation depth; tensors live on the device.

    Field names are those of vLLM's `GDNAttentionMetadata`: the kernels read them. "Spec" rows take the speculative
    path, "non-spec" rows the decode or prefill path. In a staged step the tensors are views of persistent buffers.
    """

    num_prefills: int
    num_prefill_tokens: int
    num_decodes: int
    num_decode_tokens: int
    num_spec_decodes: int
    num_spec_decode_tokens: int
    num_actual_tokens: int

    has_initial_state: Tensor | None = None
    """(non-spec rows,) bool: the row had tokens before this step."""
    spec_query_start_loc: Tensor | None = None
    """(d + 1,) int32."""
    non_spec_query_start_loc: Tensor | None = None
    """(n - d + 1,) int32."""
    spec_state_indices_tensor: Tensor | None = None
    """(d, k) int32: cache blocks of the states before and after each draft."""
    non_spec_state_indices_tensor: Tensor | None = None
    """(n - d,) int32."""
    spec_sequence_masks: Tensor | None = None
    """(n,) bool."""
    spec_token_indx: Tensor | None = None
    """(tokens of spec rows,) where they stand among all tokens."""
    non_spec_token_indx: Tensor | None = None
    num_accepted_tokens: Tensor | None = None
    """(d,) int32: tokens that the last step accepted, which says which state to go on from."""

    chunk_indices: Tensor | None = None
    """(chunks, 2) int32: row and number within the row, of each chunk of 64 tokens of the prefills."""
    chunk_offsets: Tensor | None = None
    """(prefills + 1,) int64: chunks before each prefill."""
    prefill_query_start_loc: Tensor | None = None
    prefill_state_indices: Tensor | None = None
    prefill_has_initial_state: Tensor | None = None

    nums_dict: dict[int, dict[str, Any]] | None = None
    """Programs of the convolution kernel by block size: see `gdn_impl.prefill.convolution_programs`."""
    batch_ptr: Tensor | None = None
    token_chunk_offset_ptr: Tensor | None = None
