"""Runner V1: the bound always lay in the runner's own buffer; the change hands it on."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gdn_impl.batch import NULL_BLOCK_ID
from gdn_impl.pr40654 import common

Int32 = npt.NDArray[np.int32]


class Before:
    """What the runner keeps of its batch, r rows at most, and the metadata that it makes of it.

    Under asynchronous speculation the host's counts of computed tokens take every draft of the last step for accepted;
    the device knows better, and the host's copies are withheld.

    Source: `GPUModelRunner` of vLLM 0.19.1, `_prepare_inputs` and `_build_attention_metadata`.
    """

    common_type: type[common.Before] = common.Before

    def __init__(self, max_rows: int, asynchronous: bool, device: torch.device) -> None:
        def host(size: int) -> Tensor:
            return torch.zeros(size, dtype=torch.int32)

        self.asynchronous = asynchronous
        self.computed = host(max_rows)
        self.prompt_lens = host(max_rows)
        self.optimistic_seq_lens = host(max_rows)
        self.query_start_loc_cpu = host(max_rows + 1)
        self.query_start_loc = torch.zeros(max_rows + 1, dtype=torch.int32, device=device)
        self.seq_lens = torch.zeros(max_rows, dtype=torch.int32, device=device)
        """The truth; a kernel writes it."""

    def add_lengths(self, scheduled: Int32) -> None:
        """Computed plus scheduled tokens for each of the batch's rows, 0 beyond them. `scheduled`: (rows,)."""
        rows = len(scheduled)
        torch.add(self.computed[:rows], torch.from_numpy(scheduled), out=self.optimistic_seq_lens[:rows])
        self.optimistic_seq_lens[rows:].fill_(0)

    def metadata(
        self,
        rows: int,
        rows_padded: int,
        tokens_padded: int,
        max_query_len: int,
        block_tables: Sequence[Tensor],
        slot_mapping: Tensor,
    ) -> list[Any]:
        """Common metadata for each KV group, of `common_type`.

        Args:
            rows, rows_padded, tokens_padded: counts of the step, without and with padding.
            max_query_len: tokens of the longest query.
            block_tables: (r, blocks) int32 on the device, one for each group; padded rows get the null block.
            slot_mapping: (tokens_padded,) int64 on the device.
        """
        max_seq_len = int(self.optimistic_seq_lens.numpy()[:rows].max())
        base = self.common_type(
            block_table_tensor=self._padded(block_tables[0], rows, rows_padded),
            slot_mapping=slot_mapping,
            num_reqs=rows_padded,
            num_actual_tokens=tokens_padded,
            max_query_len=max_query_len,
            max_seq_len=max_seq_len,
            **self.lengths(rows_padded),
        )
        groups = []
        for number, table in enumerate(block_tables):
            group = copy(base)
            if number > 0:
                group.block_table_tensor = self._padded(table, rows, rows_padded)
            groups.append(group)
        return groups

    def lengths(self, rows: int) -> dict[str, Any]:
        """The fields that tell how long rows are, each cut to `rows`."""
        computed, prompts = self.computed[:rows], self.prompt_lens[:rows]
        seq_lens: Tensor = self.optimistic_seq_lens[:rows]
        return {
            "is_prefilling": computed < prompts,
            "query_start_loc": self.query_start_loc[: rows + 1],
            "query_start_loc_cpu": self.query_start_loc_cpu[: rows + 1],
            "seq_lens": self.seq_lens[:rows],
            "_seq_lens_cpu": None if self.asynchronous else seq_lens,
            "_num_computed_tokens_cpu": None if self.asynchronous else computed,
        } | self.bound(seq_lens)

    def bound(self, optimistic: Tensor) -> dict[str, Tensor]:
        """What consumers learn of the bound: nothing."""
        return {}

    @staticmethod
    def _padded(table: Tensor, rows: int, rows_padded: int) -> Tensor:
        table = table[:rows_padded]
        table[rows:rows_padded].fill_(NULL_BLOCK_ID)
        return table


class After(Before):
    """The optimistic lengths are handed on, also where the exact copies are withheld.

    Where these are not withheld, bound and copy are one tensor: whoever changes one changes both.
    """

    common_type = common.After

    def bound(self, optimistic: Tensor) -> dict[str, Tensor]:
        return {"seq_lens_cpu_upper_bound": optimistic}
