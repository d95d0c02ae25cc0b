"""Drives the MLA family's consumers of 40654's bound: chunked context, FlashMLA-sparse's workspace, the indexer.

Each part has a base that makes the inputs and names the fields, whoever's code is driven, and a driver of ours.
Workspaces are small, so that steps of a few thousand tokens need several chunks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gdn_impl.pr40654 import flashmla_sparse, indexer, indexer_decode, mla
from gdn_impl.split import Split
from gdnbench.drivers.base import Value
from gdnbench.drivers.bound_consumers import ConsumerDriver, pick

PAGE = 64
"""Tokens per cache block."""


class MLAFamilyDriver(ConsumerDriver):
    """What the three share."""

    require_uniform = True
    """Whether the builder takes rows for decodes only while they are of one length."""

    @property
    def decode_threshold(self) -> int:
        return 1 + self.scenario.speculation

    @property
    def max_rows(self) -> int:
        return max(64, self.scenario.num_rows)

    @property
    def max_tokens(self) -> int:
        return max(8192, self.arrays.num_tokens_padded)

    def may_differ(self, field: str) -> bool:
        return ".prefill" in f".{field}" and self.plans_beyond_truth(self.require_uniform)


class MLABase(MLAFamilyDriver):
    """MLA's build under a backend whose decodes may have any length up to the threshold, such as FlashAttention's."""

    part = "mla"
    require_uniform = False
    names = (
        *("num_reqs", "max_query_len", "max_seq_len", "num_actual_tokens", "query_start_loc", "slot_mapping"),
        *("num_decodes", "num_decode_tokens", "num_prefills"),
    )
    context_names = (
        *("cu_seq_lens", "starts", "seq_tot", "max_seq_lens", "seq_lens", "token_to_seq", "chunk_total_token"),
    )

    @property
    def workspace_tokens(self) -> int:
        return max(4096, self.max_rows * PAGE)

    def describe(self, result: Any) -> dict[str, Value]:
        prefill, decode = result.prefill, result.decode
        fields = pick(result, self.names) | pick(decode, ("block_table", "seq_lens"), "decode.")
        fields |= pick(prefill, ("block_table", "query_start_loc", "max_query_len"), "prefill.")
        if prefill is not None:
            fields |= pick(prefill.chunked_context, self.context_names, "prefill.chunked_context.")
        return fields


class MLADriver(MLABase):
    """Ours."""

    def make_builder(self) -> mla.Before:
        kind = {"before": mla.Before, "after": mla.After}[self.state]
        return kind(self.decode_threshold, self.workspace_tokens, PAGE, self.device.torch_device)


class FlashMLASparseBase(MLAFamilyDriver):
    """The fp8 build with prefills and decodes apart; a workspace of five of the longest sequence."""

    part = "flashmla sparse"

    def describe(self, result: Any) -> dict[str, Value]:
        split, prefill, decode = self.parts(result)
        fields = pick(result, ("query_start_loc", "slot_mapping", "block_table", "req_id_per_token"))
        fields |= pick(split, Split._fields) | decode
        fields |= pick(prefill, ("seq_lens", "request_ids", "workspace_starts"), "prefill.")
        for number, chunk in enumerate(prefill.chunks if prefill is not None else ()):
            prefix = f"prefill.chunk{number}."
            names = ("seq_lens", "block_table", "req_start_idx", "workspace_starts", "chunk_tot_seqlen")
            fields |= pick(chunk, names, prefix)
            fields[f"{prefix}tokens"] = (chunk.tokens_slice.start, chunk.tokens_slice.stop)
        return fields

    def parts(self, result: Any) -> tuple[Any, Any, dict[str, Value]]:
        """The counts of the split, the prefills, and the decodes' fields."""
        raise AssertionError("a driver knows its metadata")  # pragma: no cover


class FlashMLASparseDriver(FlashMLASparseBase):
    """Ours."""

    def make_builder(self) -> flashmla_sparse.Before:
        kind = {"before": flashmla_sparse.Before, "after": flashmla_sparse.After}[self.state]
        device = self.device.torch_device
        return kind(self.decode_threshold, self.longest, self.max_rows, self.max_tokens, device)

    def parts(self, result: flashmla_sparse.SparseMetadata) -> tuple[Any, Any, dict[str, Value]]:
        names = ("cache_lens", "decode_query_len")
        return result.split, result.prefill, pick(result.decode, names, "decode.")


class IndexerBase(MLAFamilyDriver):
    """The sparse indexer's build. The decode half, which no bound touches and 0.20.0 rewrote, has no fields here."""

    part = "indexer"
    names = ("cu_seqlen_ks", "cu_seqlen_ke", "cu_seq_lens", "block_table", "token_start", "token_end", "num_reqs")

    @property
    def require_uniform(self) -> bool:  # type: ignore[override]
        return self.decode_threshold in indexer_decode.NATIVE_LENGTHS

    @property
    def max_keys(self) -> int:
        return 40 * self.longest

    @property
    def max_scores_mb(self) -> int:
        """MiB of scores, 4 bytes each: in small steps so few that a prompt of 2,048 is cut between its queries."""
        return 4 if self.arrays.num_tokens <= 16384 else 512

    @property
    def blocks(self) -> int:
        """Blocks of the longest sequence, the width of the tables."""
        return int(self.arrays.block_tables[0].shape[1])

    def describe(self, result: Any) -> dict[str, Value]:
        split, chunks = self.parts(result)
        fields = pick(result, ("seq_lens", "max_seq_len", "slot_mapping")) | pick(split, Split._fields)
        fields["prefill.chunks"] = None if chunks is None else len(chunks)
        for number, chunk in enumerate(chunks or ()):
            prefix = f"prefill.chunk{number}."
            fields |= pick(chunk, self.names, prefix)
            fields[f"{prefix}skip_kv_gather"] = bool(chunk.skip_kv_gather)
            fields[f"{prefix}total_seq_lens"] = int(chunk.total_seq_lens)
            # Beyond the keys that there are, a workspace planned by the bound holds anything.
            fields[f"{prefix}token_to_seq"] = chunk.token_to_seq[: self._keys(chunk)]
        return fields

    def _keys(self, chunk: Any) -> int:
        """Tokens of the chunk's sequences, in truth."""
        first = int(np.searchsorted(self.arrays.query_start_loc, chunk.token_start, side="right")) - 1
        return int(self.arrays.seq_lens[first : first + chunk.num_reqs].sum())

    def parts(self, result: Any) -> tuple[Any, Any]:
        """The counts of the split, and the chunks."""
        raise AssertionError("a driver knows its metadata")  # pragma: no cover


class IndexerDriver(IndexerBase):
    """Ours."""

    def make_builder(self) -> indexer.Before:
        kind = {"before": indexer.Before, "after": indexer.After}[self.state]
        device, speculation = self.device.torch_device, self.scenario.speculation
        decode = indexer_decode.DecodeHalf(speculation, self.max_rows, self.max_tokens, self.blocks, device)
        return kind(decode, self.max_keys, self.max_scores_mb * 2**20 // 4, device)

    def parts(self, result: indexer.IndexerMetadata) -> tuple[Any, Any]:
        return result.split, result.prefill
