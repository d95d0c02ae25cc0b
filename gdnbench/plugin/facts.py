"""What the server is, read from the live builder, configuration and worker; part of a run's identity."""

from __future__ import annotations

import dataclasses
from typing import Any

from gdnbench.plugin.reference import left_at_default

V2_RUNNERS = "vllm.v1.worker.gpu."
"""The package of the V2 runner; V1's are modules beside it."""


def facts_of_builder(builder: Any, release: str, metadata_class: type) -> dict[str, Any]:
    """What is known when the first builder is made.

    `release`; `prefix_caching` and `mamba_cache_mode`; `staged`, whether steps that a full graph can replay go into
    persistent buffers; `speculation`, drafts a step at most, and its `method`; `gdn_prefill_backend`; `device`;
    `workers`, of which the first counts; `fields` of the release's metadata, and those `left_at_default` under our
    builders.
    """
    config = builder.vllm_config
    speculative = config.speculative_config
    return {
        "release": release,
        "prefix_caching": bool(config.cache_config.enable_prefix_caching),
        "mamba_cache_mode": config.cache_config.mamba_cache_mode,
        "staged": bool(builder.use_full_cuda_graph),
        "speculation": builder.num_spec,
        "method": None if speculative is None else speculative.method,
        "gdn_prefill_backend": builder.gdn_prefill_backend,
        "device": builder.spec_token_indx.device.type,
        "workers": config.parallel_config.world_size,
        "fields": [field.name for field in dataclasses.fields(metadata_class)],
        "left_at_default": left_at_default(metadata_class),
        "graphs": _graphs(config),
        "runner": None,
    }


def facts_of_worker(worker: Any) -> dict[str, Any]:
    """What is settled by the first step: `runner`, V1 or V2, and `graphs`, the graph mode, NONE if eager."""
    runner = type(worker.model_runner)
    return {
        "runner": "V2" if any(kind.__module__.startswith(V2_RUNNERS) for kind in runner.__mro__) else "V1",
        "graphs": _graphs(worker.vllm_config),
    }


def _graphs(config: Any) -> str:
    return str(config.compilation_config.cudagraph_mode.name)
