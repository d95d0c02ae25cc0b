"""Puts the sides of a comparison into the builders of this process, and the switch around its steps."""

from __future__ import annotations

import dataclasses
import inspect
import os
from functools import wraps
from pathlib import Path
from typing import Any

from gdn_impl import limit, prefill
from gdnbench.plugin.comparison import Comparison
from gdnbench.plugin.control import AFTER, BEFORE, Control
from gdnbench.plugin.facts import facts_of_builder, facts_of_worker
from gdnbench.plugin.settings import PluginSettings
from gdnbench.plugin.sides import make_sides
from gdnbench.plugin.switch import Switch
from gdnbench.plugin.witness import Witness
from gdnbench.values.errors import UserError

ARGUMENTS = (
    "self",
    "common_prefix_len",
    "common_attn_metadata",
    "num_accepted_tokens",
    "num_decode_draft_tokens_cpu",
    "fast_build",
)
"""Of `GDNAttentionMetadataBuilder.build`, vLLM 0.27.0 to 0.32.0."""

SIDES = "gdnbench_sides"
"""The attribute of a vLLM builder that holds its sides."""


def _forget() -> None:
    """Drops what our builders remember between steps, when another side takes over."""
    prefill.forget()
    limit.forget()


def patch(settings: PluginSettings) -> None:
    """Patches the builder's own class, and the step. Called once, in a process that has imported the builders.

    Raises:
        UserError: the release's `build` is asked for otherwise than ours.
        OSError: no control file.
    """
    import vllm
    from vllm.v1.attention.backend import CommonAttentionMetadata
    from vllm.v1.attention.backends.gdn_attn import GDNAttentionMetadata, GDNAttentionMetadataBuilder
    from vllm.v1.worker.worker_base import WorkerWrapperBase

    control = Control.open(Path(settings.control))
    release = vllm.__version__.partition("+")[0]
    before, after = (control.roles.index(role) if role in control.roles else -1 for role in (BEFORE, AFTER))
    fields = [field.name for field in dataclasses.fields(GDNAttentionMetadata)]
    switch = Switch(control, Comparison(before, after, fields), _forget)
    witness = None if settings.witness is None else Witness(Path(settings.witness))
    original_init, original_build = GDNAttentionMetadataBuilder.__init__, GDNAttentionMetadataBuilder.build
    original_step = WorkerWrapperBase.execute_model
    asked = tuple(inspect.signature(original_build).parameters)

    @wraps(original_init)
    def init(self: Any, *arguments: Any, **named: Any) -> None:
        original_init(self, *arguments, **named)
        parallel = self.vllm_config.parallel_config
        try:
            if asked != ARGUMENTS:
                raise UserError(f"vLLM {release} asks builders for {', '.join(asked)}: the plugin knows another way")
            if parallel.data_parallel_size > 1:
                raise UserError("a data-parallel server has several engines: start it with --data-parallel-size 1")
            bound = original_build.__get__(self)
            sides = make_sides(settings, self, bound, release, GDNAttentionMetadata, CommonAttentionMetadata)
        except UserError as error:
            control.refuse(str(error))
            raise
        setattr(self, SIDES, sides)
        if parallel.rank:
            switch.count_aside()
            return
        control.tell(facts_of_builder(self, release, GDNAttentionMetadata))
        control.start(os.getpid())

    @wraps(original_build)
    def build(
        self: Any,
        common_prefix_len: int,
        common_attn_metadata: Any,
        num_accepted_tokens: Any = None,
        num_decode_draft_tokens_cpu: Any = None,
        fast_build: bool = False,
    ) -> Any:
        arguments = (
            common_prefix_len,
            common_attn_metadata,
            num_accepted_tokens,
            num_decode_draft_tokens_cpu,
            fast_build,
        )
        metadata = switch.build(self, self.gdnbench_sides, arguments)
        if witness is not None:
            witness.see(self, arguments, metadata)
        return metadata

    worker_told = False

    @wraps(original_step)
    def execute_model(self: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal worker_told
        if not worker_told:
            worker_told = True
            control.tell({**control.facts(), **facts_of_worker(self.worker)})
        if witness is not None:
            witness.begin(self.worker.model_runner)
        switch.begin()
        result = original_step(self, *arguments, **named)
        switch.end()
        return result

    GDNAttentionMetadataBuilder.__init__ = init
    GDNAttentionMetadataBuilder.build = build
    WorkerWrapperBase.execute_model = execute_model
