"""Drives a real release's consumers of 40654's bound that run everywhere, in that release's environment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torch import Tensor
from vllm.model_executor.layers.attention.cross_attention import create_cross_attention_backend
from vllm.v1.attention.backend import AttentionBackend, AttentionMetadataBuilder, CommonAttentionMetadata
from vllm.v1.attention.backends.utils import split_decodes_prefills_and_extends
from vllm.v1.kv_cache_interface import CrossAttentionSpec
from vllm.v1.worker.ubatch_utils import maybe_create_ubatch_slices, split_attn_metadata

from gdnbench.drivers.bound_consumers import CrossAttentionBase, SlicesBase, SplitBase


class ReleaseSlicesDriver(SlicesBase):
    """The release's micro-batches, cut by the release."""

    common_type = CommonAttentionMetadata

    def make_builder(self) -> None:
        return None

    def inputs(self) -> list[Any]:
        query_lens = self.arrays.query_lens[: len(self.scenario.rows)]
        _, self.slices = maybe_create_ubatch_slices(
            True, query_lens, self.arrays.num_tokens_padded, self.scenario.num_rows, num_ubatches=2
        )
        return super().inputs()

    def consume(self, builder: None, batch: Any) -> Any:
        return split_attn_metadata(self.slices, batch)


class ReleaseSplitDriver(SplitBase):
    """The release's three-way split."""

    common_type = CommonAttentionMetadata

    def make_builder(self) -> None:
        return None

    def consume(self, builder: None, batch: Any) -> Any:
        return split_decodes_prefills_and_extends(batch, 1 + self.scenario.speculation)


class WrappedBuilder(AttentionMetadataBuilder):  # type: ignore[misc]
    """What cross attention wraps: hands on the batch that it gets."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)

    def build(self, common_prefix_len: int, common_attn_metadata: Any, fast_build: bool = False) -> Any:
        return SimpleNamespace(batch=common_attn_metadata, slot_mapping=common_attn_metadata.slot_mapping)


class WrappedBackend(AttentionBackend):  # type: ignore[misc]
    """A backend around that builder."""

    @staticmethod
    def get_name() -> str:
        return "WRAPPED"

    @staticmethod
    def get_builder_cls() -> type[WrappedBuilder]:
        return WrappedBuilder

    @staticmethod
    def get_impl_cls() -> type[Any]:
        return object

    @staticmethod
    def get_kv_cache_shape(*args: Any) -> tuple[int, ...]:
        raise NotImplementedError


class ReleaseCrossAttentionDriver(CrossAttentionBase):
    """The release's cross-attention builder, around one that does nothing."""

    common_type = CommonAttentionMetadata

    def make_builder(self) -> Any:
        kind = create_cross_attention_backend(WrappedBackend).get_builder_cls()
        spec = CrossAttentionSpec(block_size=self.block_size, num_kv_heads=1, head_size=64, dtype=None)
        return kind(spec, ["layer"], SimpleNamespace(), self.device.torch_device)

    def consume(self, builder: Any, batch: Any) -> tuple[Any, Tensor]:
        metadata = builder.build(0, batch)
        return metadata.batch, metadata.slot_mapping
