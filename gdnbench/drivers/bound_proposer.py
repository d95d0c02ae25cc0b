"""Drives the draft proposer, which takes 40654's bound from the runner: its preparation and its loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from gdn_impl.pr40654 import common, proposer
from gdnbench.devices.base import Device
from gdnbench.drivers.base import Value
from gdnbench.drivers.bound_producers import MAX_MODEL_LEN, ProducerDriver, handed, host, refuses_capture
from gdnbench.values.scenarios import Scenario


@dataclass
class DraftStep:
    """The target's step, as the proposer gets it, and what became of its drafts."""

    metadata: Any
    sampled: list[int]
    """Tokens that each row got."""
    drafts: list[int]
    rejected: Tensor | None
    """(n,) int32 on the device, where the batch still holds the rejected tokens."""


class ProposerBase(ProducerDriver):
    """What the proposer's parts share: V1's metadata of a step without padding, and how many drafts were accepted."""

    common_types: ClassVar[Mapping[str, type[Any]]] = {"before": common.Before, "after": common.After}

    @classmethod
    def refuses(cls, scenario: Scenario) -> str | None:
        if scenario.runner != "V1":
            return "V2 has a speculator of its own, which reads no bound in 0.20.0"
        if scenario.padded_rows:
            return "cutting the padding away loses the bound in 0.20.0"
        return refuses_capture(scenario)

    @property
    def has_bound(self) -> bool:
        return self.state not in ("before", "0.19.1")

    def inputs(self) -> DraftStep:
        arrays, asynchronous = self.arrays, self.scenario.asynchronous
        drafts = arrays.drafts.clip(min=0)
        sampled = np.minimum(arrays.accepted, drafts + 1)
        lengths = host(arrays.seq_lens_bound)
        metadata = self.common_type(
            query_start_loc=self.put(arrays.query_start_loc),
            query_start_loc_cpu=host(arrays.query_start_loc),
            seq_lens=self.put(arrays.seq_lens),
            num_reqs=self.rows,
            num_actual_tokens=arrays.num_tokens,
            max_query_len=arrays.max_query_len,
            max_seq_len=arrays.max_seq_len,
            block_table_tensor=self.put(arrays.block_tables[0]),
            slot_mapping=self.put(arrays.slot_mapping),
            _seq_lens_cpu=None if asynchronous else lengths,
            _num_computed_tokens_cpu=None if asynchronous else host(self.believed),
            **({"seq_lens_cpu_upper_bound": lengths} if self.has_bound else {}),
        )
        rejected = self.put(drafts + 1 - sampled) if asynchronous else None
        return DraftStep(metadata, sampled.tolist(), drafts.tolist(), rejected)

    @property
    def common_type(self) -> type[Any]:
        return self.common_types[self.state]


class PreparationBase(ProposerBase):
    """The step cut to its accepted tokens: what happens where padded drafter batches are off."""

    part = "draft proposer"

    @classmethod
    def refuses(cls, scenario: Scenario) -> str | None:
        if scenario.asynchronous:
            return "asynchronous speculation takes the padded path, which hands the bound on as it is"
        if not any(row.drafts > 0 for row in scenario.rows):
            return "no row has drafts that could be rejected"
        return super().refuses(scenario)

    def fields(self, inputs: DraftStep, result: tuple[Any, Tensor]) -> Mapping[str, Value]:
        batch, remaining = result
        return handed(batch) | {"block_table": batch.block_table_tensor, "remaining": remaining}

    def watched(self, inputs: DraftStep) -> Mapping[str, Tensor]:
        step = inputs.metadata
        return {"query_start_loc_cpu": step.query_start_loc_cpu, "seq_lens": step.seq_lens, "host": step._seq_lens_cpu}


class LoopBase(ProposerBase):
    """The drafter's passes after its first. Under asynchronous speculation rejected tokens are subtracted before."""

    part = "draft loop"

    def may_differ(self, field: str) -> bool:
        # Where copy and bound are one tensor, each pass of 0.20.0 lengthens it twice.
        return field == "_seq_lens_cpu" or super().may_differ(field)

    @classmethod
    def refuses(cls, scenario: Scenario) -> str | None:
        if scenario.speculation < 2:
            return "one draft takes one pass"
        return super().refuses(scenario)

    def fields(self, inputs: DraftStep, result: Sequence[int]) -> Mapping[str, Value]:
        """As they are after the last pass."""
        longest: Value = tuple(result)
        return handed(inputs.metadata) | {"slot_mapping": None, "longest_in_each_pass": longest}


def _our_proposer(driver: ProposerBase) -> proposer.Before:
    kind = {"before": proposer.Before, "after": proposer.After}[driver.state]
    return kind(max(driver.arrays.num_tokens, driver.rows), MAX_MODEL_LEN, driver.device.torch_device)


class PreparationDriver(PreparationBase):
    """Ours."""

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        super().__init__(state, scenario, device)
        self.proposer = _our_proposer(self)

    def run(self, inputs: DraftStep) -> tuple[Any, Tensor]:
        return self.proposer.prepare(inputs.metadata, inputs.sampled, inputs.drafts)


class LoopDriver(LoopBase):
    """Ours."""

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        super().__init__(state, scenario, device)
        self.proposer = _our_proposer(self)

    def run(self, inputs: DraftStep) -> list[int]:
        passes = self.proposer.passes(inputs.metadata, inputs.rejected, self.scenario.speculation)
        return [batch.max_seq_len for batch in passes]
