"""Drives the parts of 41873: the input batch, the V1 runner's attention metadata, and the Mamba build, its victim.

Every scenario gets a past (`batch_past`), and graph buffers hold another step before its own is built.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import torch

from gdn_impl import pr41873
from gdn_impl.batch import CommonMetadata
from gdnbench.devices.base import Device
from gdnbench.drivers.base import Driver, Value
from gdnbench.drivers.batch_past import Batch, Past
from gdnbench.drivers.step_arrays import step_arrays
from gdnbench.values.scenarios import Scenario

RUNNERS = {"before": pr41873.Before, "after": pr41873.After}


class PaddingDriver(Driver):
    """What the parts of 41873 share, whoever's code they drive."""

    common_type: ClassVar[type[Any]] = CommonMetadata

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        super().__init__(state, scenario, device)
        self.arrays = step_arrays(scenario)
        self.past = Past(scenario, self.arrays)
        self.slots = self.past.slots

    @classmethod
    def refuses(cls, scenario: Scenario) -> str | None:
        if scenario.runner != "V1":
            return "runner V2 fills its flags anew in every step and never had the fault"
        return "a capture has no requests behind its rows" if scenario.capture else None

    @property
    def drafted(self) -> bool:
        """Whether any row carries drafts: only then does the runner hand accepted tokens to Mamba."""
        return any(row.drafts > 0 for row in self.scenario.rows)

    def step(self) -> pr41873.PaddedStep:
        """Fresh sizes and slot mappings of the scenario's step."""
        arrays = self.arrays
        slots = self.device.put(torch.from_numpy(arrays.slot_mapping))
        return pr41873.PaddedStep(
            num_reqs=len(self.scenario.rows),
            num_reqs_padded=self.scenario.num_rows,
            num_tokens_padded=arrays.num_tokens_padded,
            max_query_len=arrays.max_query_len,
            slot_mappings=[slots] * self.scenario.kv_groups,
        )

    def earlier_step(self) -> tuple[Any, torch.Tensor | None]:
        """The step before, which filled the graph buffers: every slot a decode of some request that is gone by now.

        Returns:
            Its common metadata, and accepted tokens if rows carried drafts.
        """
        slots, length = self.slots, self.past.width if self.drafted else 1
        put, host = self.device.put, torch.arange
        starts = host(slots + 1, dtype=torch.int32) * length
        lengths = torch.full((slots,), 1000, dtype=torch.int32)
        states = 1_000_000 + host(slots * self.past.width, dtype=torch.int32).view(slots, -1)
        common = self.common_type(
            query_start_loc=put(starts),
            query_start_loc_cpu=starts,
            seq_lens=put(lengths),
            num_reqs=slots,
            num_actual_tokens=slots * length,
            max_query_len=length,
            max_seq_len=1000,
            block_table_tensor=put(states),
            slot_mapping=put(torch.arange(slots * length)),
            is_prefilling=torch.zeros(slots, dtype=torch.bool),
            seq_lens_cpu_upper_bound=lengths,
        )
        accepted = put(torch.full((slots,), length, dtype=torch.int32)) if self.drafted else None
        return common, accepted


class InputBatchPart(PaddingDriver):
    """Replays the past on a new batch, from the first joiner to the step's rows."""

    part = "input batch"
    devices = ("cpu",)
    """Tables of NumPy and lists, on the host."""

    def run(self, inputs: Batch) -> Batch:
        self.past.replay(inputs)
        return inputs

    def fields(self, inputs: Batch, result: Batch) -> Mapping[str, Value]:
        tables = {"computed": result.computed, "prompt": result.prompt}
        tables |= {f"group{number}.blocks": table for number, table in enumerate(result.blocks)}
        by_slot = sorted(result.slot_of.items(), key=lambda item: item[1])
        slots: dict[str, Value] = {"requests": tuple(int(request) for request, _ in by_slot)}
        return slots | {name: torch.from_numpy(table.copy()) for name, table in tables.items()}


class InputBatchDriver(InputBatchPart):
    """Our input batch."""

    def inputs(self) -> Batch:
        return pr41873.InputBatch(self.slots, [self.past.width] * self.scenario.kv_groups)


class AttentionMetadataPart(PaddingDriver):
    """The common metadata of a padded step, for each KV group."""

    part = "attention metadata"

    def fields(self, inputs: Any, result: Any) -> Mapping[str, Value]:
        names = [field.name for field in dataclasses.fields(CommonMetadata) if not field.name.startswith("_")]
        fields: dict[str, Value] = {}
        for group, common in enumerate(result):
            fields |= {f"group{group}.{name}": getattr(common, name) for name in names}
        return fields


class MambaBuildPart(PaddingDriver):
    """The Mamba metadata of a padded step, for each KV group, and what a graph that is replayed now would read."""

    part = "mamba build"
    builders: list[Any]

    @classmethod
    def refuses(cls, scenario: Scenario) -> str | None:
        if any(row.query_len == 1 and row.computed and row.is_prefilling for row in scenario.rows):
            return "0.22.0 makes a resumed chunk of one token a decode, which is foreign to 41873"
        return super().refuses(scenario)

    def fields(self, inputs: Any, result: Any) -> Mapping[str, Value]:
        fields: dict[str, Value] = {}
        for group, (builder, metadata) in enumerate(zip(self.builders, result, strict=True)):
            fields |= {f"group{group}.{name}": value for name, value in self._fields(builder, metadata).items()}
        return fields

    def _fields(self, builder: Any, metadata: Any) -> dict[str, Value]:
        """One group's metadata, and what a graph replayed now would read of its builder's buffers."""
        names = [field.name for field in dataclasses.fields(pr41873.MambaMetadata) if field.name != "nums_dict"]
        fields: dict[str, Value] = {name: getattr(metadata, name) for name in names}
        for size, programs in (metadata.nums_dict or {}).items():
            fields |= {f"nums_dict.{size}.{name}": value for name, value in programs.items()}
        if self.scenario.staged:
            rows = self.scenario.num_rows
            fields["replay.state_indices"] = builder.state_indices_tensor_d[:rows]
            if self.drafted:
                fields["replay.accepted"] = builder.decode_num_accepted_tokens[:rows]
        return fields


class OurRunnerMixin(PaddingDriver):
    """The runner of one side over our batch, brought to the scenario's step."""

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        super().__init__(state, scenario, device)
        batch = pr41873.InputBatch(self.slots, [self.past.width] * scenario.kv_groups)
        self.past.replay(batch)
        self.runner = RUNNERS[state](batch, self.arrays.num_tokens_padded, device.torch_device)
        rows, arrays = len(scenario.rows), self.arrays
        self.runner.commit_blocks(self.slots)
        live = (arrays.query_lens, arrays.seq_lens, arrays.accepted, arrays.drafts)
        self.runner.prepare(*(values[:rows] for values in live))

    def inputs(self) -> pr41873.PaddedStep:
        return self.step()

    def watched(self, inputs: Any) -> Mapping[str, torch.Tensor]:
        runner = self.runner
        return {
            "computed": runner.batch.computed_tensor,
            "prompt": runner.batch.prompt_tensor,
            "query_start_loc": runner.starts,
            "query_start_loc_cpu": runner.starts_host,
            "seq_lens": runner.seq_lens,
            "seq_lens_cpu_upper_bound": runner.seq_lens_bound,
            "slot_mapping": inputs.slot_mappings[0],
        }


class AttentionMetadataDriver(OurRunnerMixin, AttentionMetadataPart):
    """Our runner's common metadata."""

    def run(self, inputs: pr41873.PaddedStep) -> list[CommonMetadata]:
        return list(self.runner.common_metadata(inputs))


class MambaBuildDriver(OurRunnerMixin, MambaBuildPart):
    """Our Mamba builders behind our runner. The builder is the same on both sides: the flags alone differ."""

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        super().__init__(state, scenario, device)
        self.builders = [
            pr41873.MambaBuilder(scenario.speculation, scenario.staged, self.slots, device.torch_device)
            for _ in range(scenario.kv_groups)
        ]
        for builder in self.builders:
            builder.build(*self.earlier_step())

    def run(self, inputs: pr41873.PaddedStep) -> list[pr41873.MambaMetadata]:
        built: list[pr41873.MambaMetadata] = []
        for builder, common in zip(self.builders, self.runner.common_metadata(inputs), strict=True):
            if built and builder.updates_block_tables:
                built.append(builder.update_block_table(built[0], common.block_table_tensor))
            else:
                # Drafts per row matter to GDN alone.
                accepted, _ = self.runner.speculative_arguments(inputs) if self.drafted else (None, None)
                built.append(builder.build(common, accepted))
        return built
