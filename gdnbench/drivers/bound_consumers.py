"""Drives the consumers of 40654's bound that run everywhere: micro-batches, the three-way split, cross attention.

Each part has a base that makes the inputs and names the fields, whoever's code is driven, and a driver of ours. The MLA
family is in `bound_mla.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from copy import copy
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from gdn_impl.pr40654 import common, cross_attention, slices, splitter
from gdn_impl.split import split_decodes_and_prefills
from gdnbench.devices.base import Device
from gdnbench.drivers.base import Driver, Value
from gdnbench.drivers.step_arrays import step_arrays
from gdnbench.values.scenarios import Scenario


class ConsumerDriver(Driver):
    """What all consumers share: a shallow copy of the batch for each KV group, built one after the other.

    The host's copies of the lengths are withheld where the runner has none, the bound where the release has none.
    """

    common_types: ClassVar[Mapping[str, type[Any]]] = {"before": common.Before, "after": common.After}
    states_without_bound: ClassVar[tuple[str, ...]] = ("before", "0.19.1")

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        super().__init__(state, scenario, device)
        self.arrays = step_arrays(scenario)
        self.has_bound = state not in self.states_without_bound
        self.longest = max(2048, self.arrays.max_seq_len)
        """max-model-len, tokens."""
        self.builders = [self.make_builder() for _ in range(scenario.kv_groups)]

    def make_builder(self) -> Any:
        """What consumes the batch of one KV group; persistent."""
        raise AssertionError("a driver says how its builder is made")  # pragma: no cover

    def consume(self, builder: Any, batch: Any) -> Any:
        """The measured call for one group."""
        return builder.build(batch)

    def describe(self, result: Any) -> dict[str, Value]:
        """The fields of one group's result."""
        raise AssertionError("a driver names its fields")  # pragma: no cover

    @classmethod
    def refuses(cls, scenario: Scenario) -> str | None:
        return "a capture has no requests behind it" if scenario.capture else None

    @property
    def common_type(self) -> type[Any]:
        return self.common_types[self.state]

    def inputs(self) -> list[Any]:
        arrays, put = self.arrays, self.device.put
        host = torch.from_numpy
        bound = host(arrays.seq_lens_bound.copy())
        known = self.scenario.host_knows_lengths
        batch = self.common_type(
            query_start_loc=put(host(arrays.query_start_loc)),
            query_start_loc_cpu=host(arrays.query_start_loc.copy()),
            seq_lens=put(host(arrays.seq_lens)),
            num_reqs=self.scenario.num_rows,
            num_actual_tokens=arrays.num_tokens_padded,
            max_query_len=arrays.max_query_len,
            max_seq_len=arrays.max_seq_len,
            block_table_tensor=None,
            slot_mapping=put(host(arrays.slot_mapping)),
            is_prefilling=host(arrays.is_prefilling.copy()),
            # In the runner, too, copy and bound are one tensor where it gives both.
            _seq_lens_cpu=bound if known else None,
            _num_computed_tokens_cpu=host(arrays.computed.copy()) if known else None,
            **({"seq_lens_cpu_upper_bound": bound} if self.has_bound else {}),
        )
        self.complete(batch)
        groups = []
        for number in range(self.scenario.kv_groups):
            group = copy(batch)
            group.block_table_tensor = put(self.block_table(number))
            groups.append(group)
        return groups

    def complete(self, batch: Any) -> None:
        """Adds what this part needs besides."""

    def block_table(self, group: int) -> Tensor:
        """(n, blocks) int32 on the host."""
        return torch.from_numpy(self.arrays.block_tables[group])

    def run(self, inputs: list[Any]) -> list[Any]:
        return [self.consume(builder, batch) for builder, batch in zip(self.builders, inputs, strict=True)]

    def fields(self, inputs: list[Any], result: list[Any]) -> Mapping[str, Value]:
        fields: dict[str, Value] = {}
        for number, metadata in enumerate(result):
            prefix = f"group{number}." if len(result) > 1 else ""
            fields |= {prefix + name: value for name, value in self.describe(metadata).items()}
        return fields

    def watched(self, inputs: list[Any]) -> Mapping[str, Tensor]:
        names = ["query_start_loc", "query_start_loc_cpu", "seq_lens", "block_table_tensor", "slot_mapping"]
        if self.scenario.host_knows_lengths:
            names += ["_seq_lens_cpu", "_num_computed_tokens_cpu"]
        if self.has_bound:
            names.append("seq_lens_cpu_upper_bound")
        return {f"group{i}.{name}": getattr(batch, name) for i, batch in enumerate(inputs) for name in names}

    def plans_beyond_truth(self, require_uniform: bool) -> bool:
        """Whether the builder takes a row for a prefill whose bound exceeds its length, as only a decode's can.

        That takes rows of unlike length beside a builder that wants them uniform.
        """
        arrays = self.arrays
        batch = SimpleNamespace(
            query_start_loc_cpu=torch.from_numpy(arrays.query_start_loc),
            num_reqs=self.scenario.num_rows,
            num_actual_tokens=arrays.num_tokens_padded,
            max_query_len=arrays.max_query_len,
            is_prefilling=None,
        )
        split = split_decodes_and_prefills(batch, 1 + self.scenario.speculation, require_uniform)
        exceeds = arrays.seq_lens_bound > arrays.seq_lens
        return bool(exceeds[split.num_decodes :].any())


def pick(source: Any, names: Iterable[str], prefix: str = "") -> dict[str, Value]:
    """Attributes by name; lists of numbers become tuples. None if there is no source."""
    if source is None:
        return {prefix.rstrip("."): None}
    values = {name: getattr(source, name) for name in names}
    return {prefix + name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


class SlicesBase(ConsumerDriver):
    """A step cut into two micro-batches."""

    part = "slices"
    names = (
        *("query_start_loc", "query_start_loc_cpu", "seq_lens", "num_reqs", "num_actual_tokens"),
        *("max_query_len", "max_seq_len", "block_table_tensor", "slot_mapping"),
        *("_seq_lens_cpu", "_num_computed_tokens_cpu", "seq_lens_cpu_upper_bound"),
    )

    @classmethod
    def refuses(cls, scenario: Scenario) -> str | None:
        arrays = step_arrays(scenario)
        half = arrays.num_tokens_padded // 2
        if half == 0 or half >= arrays.num_tokens:
            return "a micro-batch would be empty, and the runner makes none then"
        return super().refuses(scenario)

    def describe(self, result: list[Any]) -> dict[str, Value]:
        fields: dict[str, Value] = {}
        for number, part in enumerate(result):
            fields |= {f"part{number}.{name}": getattr(part, name, None) for name in self.names}
        return fields

    def may_differ(self, field: str) -> bool:
        """The bound is new, copies are no longer made, and the longest row may be a bound."""
        name = field.rpartition(".")[2]
        if name in ("_seq_lens_cpu", "_num_computed_tokens_cpu"):
            return not self.scenario.host_knows_lengths
        return name == "seq_lens_cpu_upper_bound" or (name == "max_seq_len" and self.scenario.asynchronous)


class SlicesDriver(SlicesBase):
    """Ours."""

    def make_builder(self) -> slices.Before:
        return {"before": slices.Before, "after": slices.After}[self.state]()

    def inputs(self) -> list[Any]:
        query_lens = self.arrays.query_lens[: len(self.scenario.rows)]
        self.parts = slices.cut(query_lens, self.arrays.num_tokens_padded, self.scenario.num_rows)
        return super().inputs()

    def consume(self, builder: slices.Before, batch: Any) -> list[Any]:
        return builder.split(self.parts, batch)


class SplitBase(ConsumerDriver):
    """Decodes, extends and prefills of a step."""

    part = "split"

    def describe(self, result: Iterable[Any]) -> dict[str, Value]:
        return {name: int(value) for name, value in zip(splitter.Split._fields, result, strict=True)}


class SplitDriver(SplitBase):
    """Ours."""

    def make_builder(self) -> splitter.Before:
        return {"before": splitter.Before, "after": splitter.After}[self.state]()

    def consume(self, builder: splitter.Before, batch: Any) -> splitter.Split:
        return builder.split(batch, 1 + self.scenario.speculation)


class CrossAttentionBase(ConsumerDriver):
    """Cross attention of a model whose encoder made up to 1,500 tokens a request; the wrapped builder does nothing."""

    part = "cross attention"
    block_size = 16
    most_tokens = 1500
    names = ("causal", "max_seq_len", "seq_lens", "_seq_lens_cpu", "query_start_loc", "num_reqs", "num_actual_tokens")

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        rng = np.random.default_rng(zlib.crc32(scenario.name.encode()))
        self.encoder_lens = np.zeros(scenario.num_rows, np.int32)
        self.encoder_lens[: len(scenario.rows)] = rng.integers(1, self.most_tokens + 1, len(scenario.rows))
        super().__init__(state, scenario, device)

    def complete(self, batch: Any) -> None:
        batch.encoder_seq_lens = self.device.put(torch.from_numpy(self.encoder_lens))
        batch.encoder_seq_lens_cpu = self.encoder_lens.copy()

    def block_table(self, group: int) -> Tensor:
        rows, width = self.scenario.num_rows, -(-self.most_tokens // self.block_size)
        return (1 + group + torch.arange(rows * width, dtype=torch.int32)).view(rows, width)

    def describe(self, result: tuple[Any, Tensor]) -> dict[str, Value]:
        batch, slots = result
        written = torch.from_numpy(np.asarray(batch.encoder_seq_lens_cpu))
        return pick(batch, self.names) | {"encoder_seq_lens_cpu": written, "slot_mapping": slots}


class CrossAttentionDriver(CrossAttentionBase):
    """Ours."""

    def make_builder(self) -> cross_attention.Before:
        kind = {"before": cross_attention.Before, "after": cross_attention.After}[self.state]
        return kind(self.block_size, self.device.torch_device)
