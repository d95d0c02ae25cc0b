"""Common metadata: host copies fetched from the device on demand, and the bound that makes them needless."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from torch import Tensor


@dataclass
class Before:
    """One step's batch, n rows (with padding) of t tokens; each KV group holds a shallow copy.

    Source: `CommonAttentionMetadata` of vLLM 0.19.1, the part that the consumers here read.
    """

    query_start_loc: Tensor
    """(n + 1,) int32 on the device: where each row's tokens start."""
    query_start_loc_cpu: Tensor
    """The same on the host."""
    seq_lens: Tensor
    """(n,) int32 on the device: computed plus scheduled tokens, 0 for padded rows."""
    num_reqs: int
    num_actual_tokens: int
    max_query_len: int
    max_seq_len: int
    """Tokens of the longest row, or more."""
    block_table_tensor: Tensor
    """(n, blocks) int32 on the device."""
    slot_mapping: Tensor
    """(t,) int64 on the device."""
    causal: bool = True
    encoder_seq_lens: Tensor | None = None
    """(n,) int32 on the device: encoder tokens that a row's cross attention sees."""
    encoder_seq_lens_cpu: npt.NDArray[Any] | None = None
    """The same on the host."""
    is_prefilling: Tensor | None = None
    """(n,) bool on the host: computed < prompt."""
    _seq_lens_cpu: Tensor | None = None
    """(n,) int32: the runner's exact host copy. V2 has none, nor V1 under asynchronous speculation."""
    _num_computed_tokens_cpu: Tensor | None = None
    """(n,) int32: the same for the computed tokens."""
    _computed: Tensor | None = None

    @property
    def seq_lens_cpu(self) -> Tensor:
        """(n,) int32 on the host. Where the runner gave none, this waits for the device; then it is remembered."""
        if self._seq_lens_cpu is None:
            self._seq_lens_cpu = self.seq_lens.to("cpu")
        return self._seq_lens_cpu

    @property
    def num_computed_tokens_cpu(self) -> Tensor:
        """(n,) int32 on the host. Waits where `seq_lens_cpu` does."""
        if self._num_computed_tokens_cpu is None:
            query_lens = lengths(self.query_start_loc_cpu)
            self._num_computed_tokens_cpu = self.seq_lens_cpu - query_lens
        return self._num_computed_tokens_cpu

    def compute_num_computed_tokens(self) -> Tensor:
        """(n,) int32 on the device; derived once, then remembered."""
        if self._computed is None:
            self._computed = self.seq_lens - lengths(self.query_start_loc)
        return self._computed


@dataclass
class After(Before):
    """The runner also hands over what it knows without asking the device."""

    seq_lens_cpu_upper_bound: Tensor | None = None
    """(n,) int32 on the host: at least `seq_lens`, exact for rows that prefill. Sizes things; is never an index."""

    @property
    def bound(self) -> Tensor:
        """The bound, which every runner of 0.20.0 gives."""
        assert self.seq_lens_cpu_upper_bound is not None, "the runner gave no bound of the sequence lengths"
        return self.seq_lens_cpu_upper_bound


def lengths(starts: Tensor) -> Tensor:
    """(n,) from the (n + 1,) starts."""
    return starts[1:] - starts[:-1]
