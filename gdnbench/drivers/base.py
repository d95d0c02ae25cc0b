"""A driver makes one part of one variant run on scenarios: ours through `gdn_impl`, vLLM's through `gdnbench.oracle`.

Probes know drivers only. They make fresh inputs outside the measured section, call `run` inside it, and read named
fields afterwards; so equality, cost and time speak of the same call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from gdnbench.devices.base import Device
from gdnbench.values.scenarios import Scenario

if TYPE_CHECKING:
    from gdnbench.devices.operations import Operation
    from gdnbench.devices.traced import Trace

Value = torch.Tensor | int | float | bool | str | None | tuple[int, ...]


class Driver(ABC):
    """One part of one variant on one scenario and one device. Persistent state (builders, graph buffers) is made once.

    Args:
        state: which code runs: `before` or `after` for our builders, a release such as `0.29.0` for vLLM's.
        scenario: the step to drive.
        device: where device tensors live; `device.active()` holds while `__init__`, `inputs` and `run` are called.
    """

    part: ClassVar[str]
    change: ClassVar[int] = 0
    """The pull request that the part belongs to; set by the registry for drivers that serve several."""
    devices: ClassVar[tuple[str, ...]] = ("cpu", "traced")
    """Devices without a GPU on which the part runs: code that pins memory unasked runs on the traced one alone."""

    foreign_fields: ClassVar[frozenset[str]] = frozenset()
    """Of a driver over a release: fields that no change of ours brought, so that ours lacks them."""

    def __init__(self, state: str, scenario: Scenario, device: Device) -> None:
        self.state = state
        self.scenario = scenario
        self.device = device

    @classmethod
    def refuses(cls, scenario: Scenario) -> str | None:
        """Why this part cannot meet this scenario (one line), or None."""
        return None

    @abstractmethod
    def inputs(self) -> Any:
        """Fresh inputs of one step, equal from call to call and from driver to driver of the same scenario."""

    @abstractmethod
    def run(self, inputs: Any) -> Any:
        """One step: the measured section. Called under torch.inference_mode()."""

    @abstractmethod
    def fields(self, inputs: Any, result: Any) -> Mapping[str, Value]:
        """The result as named values, tensors left where they are. The same names from every driver of this part."""

    def may_differ(self, field: str) -> bool:
        """Whether before and after may give this field different values on this scenario: no promise covers it.

        A release and its counterpart of ours must agree all the same.
        """
        return False

    def watched(self, inputs: Any) -> Mapping[str, torch.Tensor]:
        """Input tensors that the step must leave as they were."""
        return {}

    def own_operations(self, trace: Trace) -> list[Operation]:
        """Of a driver over a release: the trace as it would be without what is foreign to the changes, order kept.

        Whatever this leaves out or puts in its place, conformance shows, and fails where the catalogue lists nothing.
        """
        return list(trace.operations)
