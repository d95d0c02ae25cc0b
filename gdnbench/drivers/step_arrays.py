"""The numbers of a scenario's step as host arrays, from which every driver, ours or vLLM's, makes its inputs."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdnbench.values.scenarios import Scenario

Int32 = npt.NDArray[np.int32]

NULL_BLOCK = 0
"""Block 0 is reserved: padded rows point at it (vLLM 0.20.0 and newer)."""


@dataclass(frozen=True)
class StepArrays:
    """Host arrays of one step; n = rows with padding, t = tokens with padding, g = KV groups. All int32 unless said."""

    query_lens: Int32
    """(n,), 0 for padded rows."""
    computed: Int32
    """(n,), tokens computed before this step: the truth."""
    seq_lens: Int32
    """(n,), computed + query; 0 for padded rows: the truth, which the device holds."""
    seq_lens_bound: Int32
    """(n,), what the host believes: every draft of the last step accepted. Equals seq_lens unless asynchronous."""
    prompt_lens: Int32
    """(n,), 0 for padded rows."""
    query_start_loc: Int32
    """(n + 1,), flat after the real rows."""
    is_prefilling: npt.NDArray[np.bool_]
    """(n,), False for padded rows."""
    drafts: Int32
    """(n,), -1 where not speculative and for padded rows."""
    accepted: Int32
    """(n,), tokens accepted in the last step, 1 to speculation + 1; 1 where there was no speculation."""
    block_tables: tuple[Int32, ...]
    """g tables of (n, 1 + speculation); padded rows hold NULL_BLOCK."""
    slot_mapping: npt.NDArray[np.int64]
    """(t,), -1 for padding."""
    num_tokens: int
    """Tokens of the real rows."""
    num_tokens_padded: int
    """Tokens with padding: a padded row of a graph batch holds 1 + speculation tokens of padding (1 without drafts)."""

    @property
    def max_query_len(self) -> int:
        return int(self.query_lens.max())

    @property
    def max_seq_len(self) -> int:
        return int(self.seq_lens_bound.max())


def step_arrays(scenario: Scenario) -> StepArrays:
    """The arrays of a scenario, the same in every process: their random part is seeded by the scenario's name."""
    rng = np.random.default_rng(zlib.crc32(scenario.name.encode()))
    pad = np.zeros(scenario.padded_rows, np.int32)

    def column(values: list[int], padding: int = 0) -> Int32:
        return np.concatenate([np.array(values, np.int32), pad + np.int32(padding)])

    rows = scenario.rows
    query_lens = column([row.query_len for row in rows])
    computed = column([row.computed for row in rows])
    prompt_lens = column([row.prompt_len for row in rows])
    drafts = column([row.drafts for row in rows], padding=-1)
    seq_lens = computed + query_lens
    most = np.array([min(scenario.speculation, row.computed) for row in rows] + [0] * len(pad), np.int32)
    decoding = (computed >= prompt_lens) & (query_lens > 0)
    rejected = np.where(decoding, rng.integers(0, most + 1), 0).astype(np.int32)
    accepted = np.where(decoding, rng.integers(0, most + 1) + 1, 1).astype(np.int32)
    width = 1 + scenario.speculation
    tables = []
    for _ in range(scenario.kv_groups):
        table = 1 + rng.permutation(scenario.num_rows * width).astype(np.int32).reshape(scenario.num_rows, width)
        table[len(rows) :] = NULL_BLOCK
        tables.append(table)
    num_tokens = int(query_lens.sum())
    per_padded_row = max((row.query_len for row in rows), default=1) if scenario.padded_rows else 0
    num_tokens_padded = num_tokens + scenario.padded_rows * per_padded_row
    slots = np.full(num_tokens_padded, -1, np.int64)
    slots[:num_tokens] = rng.permutation(num_tokens)
    return StepArrays(
        query_lens=query_lens,
        computed=computed,
        seq_lens=seq_lens,
        seq_lens_bound=seq_lens + (rejected if scenario.asynchronous else 0),
        prompt_lens=prompt_lens,
        query_start_loc=np.concatenate([np.zeros(1, np.int32), query_lens.cumsum(dtype=np.int32)]),
        is_prefilling=computed < prompt_lens,
        drafts=drafts,
        accepted=accepted,
        block_tables=tuple(tables),
        slot_mapping=slots,
        num_tokens=num_tokens,
        num_tokens_padded=num_tokens_padded,
    )
