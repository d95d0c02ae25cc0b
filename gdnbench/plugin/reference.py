"""A reference builder in a live server: driven on vLLM's own batch and buffers, its result in the release's class.

Field names are the interface between vLLM and us, so nothing is translated and nothing copied; but each release must be
held against what our builders read and give before one of them may take over.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from torch import Tensor

from gdn_impl.builder import BuilderConfig, GraphBuffers
from gdn_impl.catalog import CATALOG, Level
from gdn_impl.faults import builder_class
from gdn_impl.limit import LimitMetadata
from gdn_impl.metadata import GDNMetadata
from gdnbench.drivers.registry import GDN_CHANGES
from gdnbench.values.errors import UserError
from gdnbench.values.variants import Variant

READ_OF_COMMON = (
    "query_start_loc",
    "query_start_loc_cpu",
    "seq_lens",
    "num_reqs",
    "num_actual_tokens",
    "max_query_len",
    "block_table_tensor",
    "is_prefilling",
    "seq_lens_cpu_upper_bound",
    "compute_num_computed_tokens",
    "replace",
)
"""What our builders read of a release's `CommonAttentionMetadata`."""

BUFFERS = {
    "size": "decode_cudagraph_max_bs",
    "spec_state_indices": "spec_state_indices_tensor",
    "non_spec_state_indices": "non_spec_state_indices_tensor",
    "spec_sequence_masks": "spec_sequence_masks",
    "spec_token_indx": "spec_token_indx",
    "non_spec_token_indx": "non_spec_token_indx",
    "spec_query_start_loc": "spec_query_start_loc",
    "non_spec_query_start_loc": "non_spec_query_start_loc",
    "num_accepted_tokens": "num_accepted_tokens",
}
"""Our names of the persistent buffers, and those on a release's builder."""

READ_OF_BUILDER = ("num_spec", "use_full_cuda_graph", "vllm_config", "gdn_prefill_backend")

CHUNKED_BACKENDS = ("triton", "flashinfer")
"""Prefill kernels that take chunk indices, which is what our builders give."""


class Lent(GraphBuffers):
    """A vLLM builder's own persistent buffers under our names."""

    def __init__(self, builder: Any) -> None:
        for ours, theirs in BUFFERS.items():
            setattr(self, ours, getattr(builder, theirs))


class Reference:
    """One of our builders in the place of one vLLM builder.

    Args:
        variant: `prN.before` or `prN.after` of a GDN change, `limit`, or `fault:NAME`.
        builder: vLLM's.
        metadata_class: the release's `GDNAttentionMetadata`.
        common_class: its `CommonAttentionMetadata`.

    Raises:
        UserError: our builder does not fit the release or its configuration; the line lists why.
    """

    def __init__(self, variant: Variant, builder: Any, metadata_class: type, common_class: type) -> None:
        if reasons := misfits(variant, builder, metadata_class, common_class):
            raise UserError(f"{variant} does not fit this server: {'; '.join(reasons)}")
        ours = builder_class(variant.change, variant.state)
        config = BuilderConfig(builder.num_spec, builder.use_full_cuda_graph)
        self._build = ours(config, builder.spec_token_indx.device, Lent(builder)).build
        self._class = metadata_class

    def build(
        self,
        common_prefix_len: int,
        common_attn_metadata: Any,
        num_accepted_tokens: Tensor | None = None,
        num_decode_draft_tokens_cpu: Tensor | None = None,
        fast_build: bool = False,
    ) -> Any:
        """What the release's `build` would be asked for and give."""
        metadata: Any = self._build(
            common_prefix_len, common_attn_metadata, num_accepted_tokens, num_decode_draft_tokens_cpu, fast_build
        )
        # Both are plain dataclasses with the same names: no field is copied, and those that only the release has are
        # at the defaults that stand on its class.
        metadata.__class__ = self._class
        return metadata


def misfits(variant: Variant, builder: Any, metadata_class: type, common_class: type) -> list[str]:
    """Why a reference builder cannot stand in for a vLLM builder, one line each; empty if it can."""
    if variant.change is not None and variant.change not in GDN_CHANGES:
        return [CATALOG[variant.change].not_judged_at[Level.SERVER]]
    theirs = {field.name: field for field in dataclasses.fields(metadata_class)}
    ours = {field.name for field in dataclasses.fields(LimitMetadata if variant.kind == "limit" else GDNMetadata)}
    lacking = sorted(ours - theirs.keys())
    required = sorted(name for name in theirs.keys() - ours if theirs[name].default is dataclasses.MISSING)
    unread = sorted(name for name in READ_OF_COMMON if not _offers(common_class, name))
    unknown = sorted(name for name in (*BUFFERS.values(), *READ_OF_BUILDER) if not hasattr(builder, name))
    reasons = [
        f"{what} {', '.join(names)}"
        for what, names in (
            ("its metadata lacks", lacking),
            ("its metadata requires what ours lacks:", required),
            ("its batch lacks", unread),
            ("its builder lacks", unknown),
        )
        if names
    ]
    if not reasons:
        reasons = [*_misfits_of_configuration(variant, builder), *_misfits_of_class(metadata_class)]
    return reasons


def left_at_default(metadata_class: type) -> list[str]:
    """Fields of a release's metadata that our builders do not know."""
    ours = {field.name for field in dataclasses.fields(GDNMetadata)}
    return [field.name for field in dataclasses.fields(metadata_class) if field.name not in ours]


def _misfits_of_configuration(variant: Variant, builder: Any) -> list[str]:
    reasons = []
    mode = builder.vllm_config.cache_config.mamba_cache_mode
    if mode != "none":
        reasons.append(f"mamba cache mode is {mode}, and ours knows none alone: start with --no-enable-prefix-caching")
    if builder.gdn_prefill_backend not in CHUNKED_BACKENDS:
        reasons.append(f"GDN prefill backend is {builder.gdn_prefill_backend}, and ours builds for triton's kernels")
    if variant.kind != "limit" and builder.num_spec and getattr(builder, "supports_update_block_table", False):
        reasons.append(
            "further KV groups update block tables, for which speculation needs spec_sequence_masks_cpu, and ours "
            "gives none: start with the V1 runner or without speculation"
        )
    return reasons


def _misfits_of_class(metadata_class: type) -> list[str]:
    sample = GDNMetadata(0, 0, 0, 0, 0, 0, 0)
    try:
        sample.__class__ = metadata_class
    except TypeError as error:
        return [f"its metadata class is of another make ({error})"]
    return []


def _offers(common_class: type, name: str) -> bool:
    fields = {field.name for field in dataclasses.fields(common_class)}
    return name in fields or inspect.isfunction(getattr(common_class, name, None))
