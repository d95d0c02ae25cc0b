"""Drives our GDN builders: one build for each KV group of a step, or the metadata of a graph capture."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from gdn_impl.batch import CommonMetadata
from gdn_impl.builder import BuilderConfig
from gdn_impl.faults import builder_class
from gdnbench.devices.base import Device
from gdnbench.drivers.base import Driver, Value
from gdnbench.drivers.step_arrays import step_arrays
from gdnbench.values.scenarios import Scenario

MAX_ROWS = 64
MAX_CAPTURE_SIZE = 512


@dataclass
class GDNStep:
    """The inputs of one step: a shallow copy of the batch for each group, and what drafts add."""

    groups: list[Any]
    accepted: torch.Tensor | None
    drafts: torch.Tensor | None


class GDNDriver(Driver):
    """What every GDN driver shares, whoever's builder it drives: inputs, and fields by group."""

    common_type: ClassVar[type[Any]] = CommonMetadata

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        super().__init__(state, scenario, device)
        self.arrays = step_arrays(scenario)
        self.builders = [self.make_builder() for _ in range(scenario.kv_groups)]

    def make_builder(self) -> Any:
        raise AssertionError("a driver says how its builder is made")  # pragma: no cover

    def inputs(self) -> GDNStep:
        arrays, device = self.arrays, self.device
        host = torch.from_numpy
        capture = self.scenario.capture
        tables = [device.put(host(table)) for table in arrays.block_tables]
        slots = device.put(host(arrays.slot_mapping))
        common = self.common_type(
            query_start_loc=device.put(host(arrays.query_start_loc)),
            query_start_loc_cpu=host(arrays.query_start_loc.copy()),
            seq_lens=device.put(host(arrays.seq_lens)),
            num_reqs=self.scenario.num_rows,
            num_actual_tokens=arrays.num_tokens_padded,
            max_query_len=arrays.max_query_len,
            max_seq_len=arrays.max_seq_len,
            block_table_tensor=tables[0],
            slot_mapping=slots,
            is_prefilling=None if capture else host(arrays.is_prefilling.copy()),
            seq_lens_cpu_upper_bound=host(arrays.seq_lens_bound.copy()),
        )
        groups = []
        for table in tables:
            group = copy(common)
            group.block_table_tensor = table
            groups.append(group)
        speculative = self.scenario.speculation > 0 and not capture
        return GDNStep(
            groups,
            accepted=device.put(host(arrays.accepted)) if speculative else None,
            drafts=host(arrays.drafts.copy()) if speculative else None,
        )

    def fields(self, inputs: GDNStep, result: list[Any]) -> Mapping[str, Value]:
        fields: dict[str, Value] = {}
        for number, metadata in enumerate(result):
            prefix = f"group{number}." if len(result) > 1 else ""
            for field in dataclasses.fields(metadata):
                if field.name != "nums_dict":
                    fields[prefix + field.name] = getattr(metadata, field.name)
            for size, programs in (metadata.nums_dict or {}).items():
                fields |= {f"{prefix}nums_dict.{size}.{name}": value for name, value in programs.items()}
        return fields

    def watched(self, inputs: GDNStep) -> Mapping[str, torch.Tensor]:
        tensors: dict[str, torch.Tensor] = {}
        for number, group in enumerate(inputs.groups):
            for name in ("query_start_loc", "query_start_loc_cpu", "seq_lens", "block_table_tensor", "slot_mapping"):
                tensors[f"group{number}.{name}"] = getattr(group, name)
            for name in ("is_prefilling", "seq_lens_cpu_upper_bound"):
                if (tensor := getattr(group, name)) is not None:
                    tensors[f"group{number}.{name}"] = tensor
        if inputs.accepted is not None and inputs.drafts is not None:
            tensors |= {"accepted": inputs.accepted, "drafts": inputs.drafts}
        return tensors


class StepMixin:
    """One build for each KV group."""

    part = "build"
    builders: list[Any]

    @classmethod
    def refuses(cls, scenario: Scenario) -> str | None:
        return "it is a capture, not a step" if scenario.capture else None

    def run(self, inputs: GDNStep) -> list[Any]:
        accepted, drafts = inputs.accepted, inputs.drafts
        return [
            builder.build(0, common, accepted, drafts)
            for builder, common in zip(self.builders, inputs.groups, strict=True)
        ]


class CaptureMixin:
    """Capture metadata for each KV group."""

    part = "capture"

    @classmethod
    def refuses(cls, scenario: Scenario) -> str | None:
        if not scenario.capture:
            return "it is a step, not a capture"
        return None if scenario.staged else "an eager server captures nothing"


class OurGDNDriver(GDNDriver):
    """A builder of ours: class `Before` or `After` of the change's file, or one of a fault."""

    def make_builder(self) -> Any:
        builder = builder_class(self.change, self.state)
        config = BuilderConfig(self.scenario.speculation, self.scenario.staged, MAX_ROWS, MAX_CAPTURE_SIZE)
        return builder(config, self.device.torch_device)


class BuildDriver(StepMixin, OurGDNDriver):
    """Our builders in a step."""


class CaptureDriver(CaptureMixin, OurGDNDriver):
    """Our builders at capture."""

    def run(self, inputs: GDNStep) -> list[Any]:
        return [builder.build_for_capture(common) for builder, common in zip(self.builders, inputs.groups, strict=True)]
