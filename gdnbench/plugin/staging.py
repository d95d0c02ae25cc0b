"""Whether a build was staged, told from its counts as the builders decide it (vLLM 0.27.0 to 0.32.0)."""

from __future__ import annotations

from typing import Any


def is_staged(builder: Any, metadata: Any) -> bool:
    """Whether metadata lies in the persistent buffers that captured graphs read."""
    if not builder.use_full_cuda_graph or metadata.num_prefills:
        return False
    most: int = builder.decode_cudagraph_max_bs
    if metadata.num_spec_decodes:
        return bool(metadata.num_spec_decodes <= most and metadata.num_spec_decode_tokens <= most)
    return bool(metadata.num_decodes <= most)
