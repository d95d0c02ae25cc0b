"""Drives the producers of 40654's bound: the two runners. The draft proposer is next door, in `bound_proposer`.

Each part has a base that makes the inputs and names the fields, whoever's code is driven, and a driver of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gdn_impl.pr40654 import runner_v1, runner_v2
from gdnbench.devices.base import Device
from gdnbench.drivers.base import Driver, Value
from gdnbench.drivers.step_arrays import step_arrays
from gdnbench.values.scenarios import Scenario

Int32 = npt.NDArray[np.int32]

MAX_MODEL_LEN = 32768
"""Tokens that a sequence can have."""

HANDED = (
    "query_start_loc",
    "query_start_loc_cpu",
    "seq_lens",
    "_seq_lens_cpu",
    "_num_computed_tokens_cpu",
    "seq_lens_cpu_upper_bound",
    "num_reqs",
    "num_actual_tokens",
    "max_query_len",
    "max_seq_len",
    "slot_mapping",
    "is_prefilling",
)


def handed(metadata: Any) -> dict[str, Value]:
    """The common metadata's fields, NumPy's numbers as Python's; what its release does not have is None."""
    values = {name: getattr(metadata, name, None) for name in HANDED}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}


def host(array: npt.NDArray[Any]) -> Tensor:
    """A host tensor with values of its own."""
    return torch.from_numpy(array.copy())


class ProducerDriver(Driver):
    """What all of them share."""

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        super().__init__(state, scenario, device)
        self.arrays = step_arrays(scenario)
        self.rows = len(scenario.rows)
        self.max_rows = max(64, scenario.num_rows)
        self.believed = self.arrays.seq_lens_bound - self.arrays.query_lens
        """(n,) int32: computed tokens as the host has them."""

    def may_differ(self, field: str) -> bool:
        return field == "seq_lens_cpu_upper_bound"

    def put(self, array: npt.NDArray[Any]) -> Tensor:
        return self.device.put(torch.from_numpy(array))


def refuses_capture(scenario: Scenario) -> str | None:
    return "a capture has no requests behind it" if scenario.capture else None


@dataclass
class V1Step:
    """A runner that is ready to make its metadata, and what it is told of the step."""

    runner: Any
    tables: list[Tensor]
    slots: Tensor


class V1RunnerBase(ProducerDriver):
    """The metadata that V1 makes of its batch. Lengths were added before: the preparation is the same on both sides."""

    part = "v1 runner"

    @classmethod
    def refuses(cls, scenario: Scenario) -> str | None:
        return "it runs under V2" if scenario.runner != "V1" else refuses_capture(scenario)

    def inputs(self) -> V1Step:
        tables = [self.put(table) for table in self.arrays.block_tables]
        return V1Step(self.make_runner(tables), tables, self.put(self.arrays.slot_mapping))

    def make_runner(self, tables: list[Tensor]) -> Any:
        raise AssertionError("a driver says how its runner is made")  # pragma: no cover

    def buffer(self, values: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
        """A persistent buffer's content: `values`, and 0 beyond."""
        content = np.zeros(size, values.dtype)
        content[: len(values)] = values
        return content

    def starts(self) -> Int32:
        """(max_rows + 1,), flat beyond the batch."""
        starts = np.full(self.max_rows + 1, self.arrays.num_tokens, np.int32)
        starts[: self.rows + 1] = self.arrays.query_start_loc[: self.rows + 1]
        return starts

    def fields(self, inputs: V1Step, result: list[Any]) -> Mapping[str, Value]:
        # Padded rows point at block -1 in 0.19.1 and at block 0 in 0.20.0, which is another change.
        tables = {f"block_table.{i}": group.block_table_tensor[: self.rows] for i, group in enumerate(result)}
        return handed(result[0]) | tables


class V1RunnerDriver(V1RunnerBase):
    """Ours."""

    def make_runner(self, tables: list[Tensor]) -> runner_v1.Before:
        kind = {"before": runner_v1.Before, "after": runner_v1.After}[self.state]
        runner = kind(self.max_rows, self.scenario.asynchronous, self.device.torch_device)
        runner.computed.copy_(host(self.buffer(self.believed, self.max_rows)))
        runner.prompt_lens.copy_(host(self.buffer(self.arrays.prompt_lens, self.max_rows)))
        runner.query_start_loc_cpu.copy_(host(self.starts()))
        runner.query_start_loc = self.put(self.starts())
        runner.seq_lens = self.put(self.buffer(self.arrays.seq_lens, self.max_rows))
        runner.add_lengths(self.arrays.query_lens[: self.rows])
        return runner

    def run(self, inputs: V1Step) -> list[Any]:
        arrays = self.arrays
        rows, padded = self.rows, self.scenario.num_rows
        metadata: list[Any] = inputs.runner.metadata(
            rows, padded, arrays.num_tokens_padded, arrays.max_query_len, inputs.tables, inputs.slots
        )
        return metadata


@dataclass
class V2Step:
    """A runner that knows its requests, and what the scheduler asks of it."""

    runner: Any
    tables: tuple[Tensor, ...]
    slots: tuple[Tensor, ...]


class V2Base(ProducerDriver):
    """What V2's parts share: requests in their slots, and the order into which it brings a step's rows."""

    @classmethod
    def refuses(cls, scenario: Scenario) -> str | None:
        return "it runs under V1" if scenario.runner != "V2" else refuses_capture(scenario)

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        super().__init__(state, scenario, device)
        longest = max(row.query_len for row in scenario.rows)
        self.full_graph = scenario.staged and longest <= 1 + scenario.speculation
        self.rows_padded = scenario.num_rows if self.full_graph else self.rows
        self.tokens = self.arrays.num_tokens_padded if self.full_graph else self.arrays.num_tokens
        order = np.arange(scenario.num_rows)
        order[: self.rows] = self.arrays.query_lens[: self.rows].argsort(kind="stable")
        self.order = order
        """(n,): the scenario's row in each row of the batch; fewest tokens first, padding last."""

    def slot(self, row: int) -> int:
        """Where the request of a scenario's row lives: slots are given out from the last one down."""
        return self.max_rows - 1 - row

    def inputs(self) -> V2Step:
        tables = tuple(self.put(table[self.order][: self.rows_padded]) for table in self.arrays.block_tables)
        slots = self.put(self.arrays.slot_mapping[: self.tokens])
        return V2Step(self.make_runner(), tables, tuple(slots for _ in tables))

    def make_runner(self) -> Any:
        raise AssertionError("a driver says how its runner is made")  # pragma: no cover

    def lengths_on_device(self) -> Tensor:
        """(max_rows,), what the kernel has written for the batch's rows."""
        lengths = np.zeros(self.max_rows, np.int32)
        lengths[: self.scenario.num_rows] = self.arrays.seq_lens[self.order]
        return self.put(lengths)


class V2PreparationBase(V2Base):
    """Preparation of a step's inputs, up to the metadata that builders are handed."""

    part = "v2 preparation"

    def may_differ(self, field: str) -> bool:
        return field == "max_seq_len" or super().may_differ(field)  # before, as many as the model can hold

    def fields(self, inputs: V2Step, result: tuple[Any, Any, Int32, list[Any]]) -> Mapping[str, Value]:
        slots, logits_starts, scheduled, groups = result
        tables = {f"block_table.{i}": group.block_table_tensor for i, group in enumerate(groups)}
        batch = {"request_slots": slots, "logits_starts": logits_starts, "scheduled": tuple(scheduled.tolist())}
        return batch | handed(groups[0]) | tables


class V2PostProcessingBase(V2Base):
    """After a step: once of a model that generates, once of one that pools. All of it is NumPy."""

    part = "v2 post-processing"

    def may_differ(self, field: str) -> bool:
        return field.endswith(".computed")

    def inputs(self) -> list[Any]:  # type: ignore[override]
        return [self.ready(), self.ready()]

    def ready(self) -> Any:
        raise AssertionError("a driver says what its step was")  # pragma: no cover

    def counts(self, step: Any) -> tuple[Int32, Int32 | None]:
        """Tokens computed of prefills, and of all: (max_rows,) each; None where the host does not count."""
        raise AssertionError("a driver knows where the counts are")  # pragma: no cover

    def fields(self, inputs: list[Any], result: None) -> Mapping[str, Value]:
        fields: dict[str, Value] = {}
        for name, step in zip(("generation", "pooling"), inputs, strict=True):
            prefill, mirror = self.counts(step)
            fields[f"{name}.computed_prefill"] = host(prefill)
            fields[f"{name}.computed"] = None if mirror is None else host(mirror)
        return fields


def _our_v2_runner(driver: V2Base) -> runner_v2.Before:
    kind = {"before": runner_v2.Before, "after": runner_v2.After}[driver.state]
    runner = kind(driver.max_rows, driver.tokens, MAX_MODEL_LEN, driver.device.torch_device)
    for row, (computed, prompt) in enumerate(
        zip(driver.believed[: driver.rows].tolist(), driver.arrays.prompt_lens.tolist(), strict=False)
    ):
        runner.requests.add(driver.slot(row), computed, prompt)
    runner.seq_lens = driver.lengths_on_device()
    return runner


def _scheduled(driver: V2Base) -> tuple[dict[int, int], dict[int, int]]:
    """Tokens and drafts by slot."""
    rows = driver.scenario.rows
    tokens = {driver.slot(i): row.query_len for i, row in enumerate(rows)}
    return tokens, {driver.slot(i): row.drafts for i, row in enumerate(rows) if row.drafts > 0}


class V2PreparationDriver(V2PreparationBase):
    """Ours."""

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        super().__init__(state, scenario, device)
        self.scheduled, self.drafts = _scheduled(self)

    def make_runner(self) -> runner_v2.Before:
        return _our_v2_runner(self)

    def run(self, inputs: V2Step) -> tuple[Any, Any, Int32, list[Any]]:
        batch = inputs.runner.prepare(self.scheduled, self.drafts, self.rows_padded, self.tokens)
        metadata = inputs.runner.metadata(batch, inputs.tables, inputs.slots)
        return batch.slots_device, batch.logits_starts, batch.scheduled, metadata


class V2PostProcessingDriver(V2PostProcessingBase):
    """Ours."""

    def ready(self) -> tuple[runner_v2.Before, runner_v2.Batch]:
        runner = _our_v2_runner(self)
        return runner, runner.prepare(*_scheduled(self), self.rows_padded, self.tokens)

    def run(self, inputs: list[Any]) -> None:
        (generates, batch), (pools, other) = inputs
        generates.postprocess(batch)
        pools.postprocess_pooling(other)

    def counts(self, step: Any) -> tuple[Int32, Int32 | None]:
        requests = step[0].requests
        return requests.computed_prefill, getattr(requests, "computed", None)
