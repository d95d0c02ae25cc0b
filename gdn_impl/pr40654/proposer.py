"""Draft proposer of runner V1: from the target's step to the drafter's first pass, and through its further passes.

Where padded drafter batches are off, the batch is first cut to the tokens that were accepted; where they are on, it is
taken as it is, and rejected tokens are subtracted on the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gdn_impl.batch import pins
from gdn_impl.pr40654 import common
from gdn_impl.pr40654.common import lengths


class Before:
    """Reads the host copy of the lengths, which waits for the device where the runner gave none.

    Source: `SpecDecodeBaseProposer.prepare_inputs` and the loop of `.propose` of vLLM 0.19.1.

    Args:
        max_tokens: of a step.
        max_model_len: tokens that a sequence can have.
    """

    common_type: type[common.Before] = common.Before

    def __init__(self, max_tokens: int, max_model_len: int, device: torch.device) -> None:
        self.max_model_len = max_model_len
        self.device = device
        self.count = np.arange(max_tokens + 1)
        self.count_device = torch.arange(max_tokens + 1, device=device, dtype=torch.int32)

    def prepare(self, step: Any, sampled: Sequence[int], drafts: Sequence[int]) -> tuple[Any, Tensor]:
        """The batch without its rejected tokens, and which of the step's tokens remain: (tokens,) on the device.

        Args:
            step: the target's common metadata, of `common_type`, without padding.
            sampled: tokens that each row got, accepted drafts and one more.
            drafts: drafts that each row had.
        """
        counts = [had + 1 - got if had > 0 else 0 for got, had in zip(sampled, drafts, strict=True)]
        rejected = torch.tensor(counts, dtype=torch.int32)
        seq_lens = self.host_lengths(step) - rejected

        query_lens = lengths(step.query_start_loc_cpu)
        kept = (query_lens - rejected).numpy()
        starts_cpu = torch.zeros(step.query_start_loc_cpu.shape, dtype=torch.int32, pin_memory=pins(self.device))
        starts = starts_cpu.numpy()
        np.cumsum(kept, out=starts[1:])
        tokens = int(starts[-1])
        cut = step.query_start_loc_cpu[:-1].numpy() - starts[:-1]
        remaining = torch.from_numpy(self.count[:tokens] + np.repeat(cut, kept))
        remaining = remaining.to(self.device, non_blocking=True)

        batch = self.common_type(
            query_start_loc=starts_cpu.to(self.device, non_blocking=True),
            query_start_loc_cpu=starts_cpu,
            seq_lens=seq_lens.to(self.device, non_blocking=True),
            num_reqs=step.num_reqs,
            num_actual_tokens=tokens,
            max_query_len=int(query_lens.max().item()),
            max_seq_len=int(seq_lens.max().item()),
            block_table_tensor=step.block_table_tensor,
            slot_mapping=step.slot_mapping[remaining],
            _seq_lens_cpu=seq_lens,
            _num_computed_tokens_cpu=step._num_computed_tokens_cpu,
            **self.bound(seq_lens),
        )
        return batch, remaining

    def passes(self, batch: Any, rejected: Tensor | None, depth: int) -> Iterator[Any]:
        """The batch in each of the `depth` - 1 passes after the first, one token a row; always the same object.

        Args:
            batch: common metadata of the first pass; changed in place.
            rejected: (n,) int32 on the device where the batch still holds the rejected tokens, else None.
            depth: drafts to propose.
        """
        rows = batch.num_reqs
        batch.num_actual_tokens = rows
        batch.max_query_len = 1
        batch.query_start_loc = self.count_device[: rows + 1]
        batch.query_start_loc_cpu = torch.from_numpy(self.count[: rows + 1]).clone()
        if depth > 1 and rejected is not None:
            batch.seq_lens -= rejected
            batch._seq_lens_cpu = None
            batch._num_computed_tokens_cpu = None
        for _ in range(depth - 1):
            self._lengthen_on_device(batch.seq_lens)
            batch.max_seq_len = min(batch.max_seq_len + 1, self.max_model_len)
            self.lengthen_on_host(batch)
            yield batch

    def host_lengths(self, step: Any) -> Tensor:
        """(n,) int32: the lengths from which rejected tokens are subtracted."""
        seq_lens: Tensor = step.seq_lens_cpu
        return seq_lens

    def bound(self, seq_lens: Tensor) -> dict[str, Any]:
        """What the drafter learns of the bound: nothing."""
        return {}

    def lengthen_on_host(self, batch: Any) -> None:
        """One token more in each row, in the copies that the host holds."""
        if batch._seq_lens_cpu is not None:
            batch._seq_lens_cpu += 1
        if batch._num_computed_tokens_cpu is not None:
            batch._num_computed_tokens_cpu += 1

    def _lengthen_on_device(self, seq_lens: Tensor) -> None:
        """The same on the device; rows that the model cannot lengthen start anew. A kernel in the release."""
        seq_lens.copy_(torch.where(seq_lens < self.max_model_len, seq_lens + 1, 1))


class After(Before):
    """Starts from the bound, which does not wait, and is exact here: asynchronous speculation never cuts the batch.

    Copy and bound are one tensor after `prepare`, as they are in the runner wherever it gives the copy. In such a batch
    each further pass adds 2 to both, not 1: still a bound, but the copy is no longer exact. 0.20.0 does the same.
    """

    common_type = common.After

    def host_lengths(self, step: Any) -> Tensor:
        bound: Tensor = step.bound
        return bound

    def bound(self, seq_lens: Tensor) -> dict[str, Any]:
        return {"seq_lens_cpu_upper_bound": seq_lens}

    def lengthen_on_host(self, batch: Any) -> None:
        super().lengthen_on_host(batch)
        if batch.seq_lens_cpu_upper_bound is not None:
            batch.seq_lens_cpu_upper_bound += 1
