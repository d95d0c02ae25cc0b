"""Hosts: processes that hold sides and run their blocks.

A `LocalHost` holds them in this process. A `RemoteHost` is a child process that holds them in the environment of a
release; it answers one JSON line to each JSON line. `python -m gdnbench.campaign.host VARIANT PART [CHANGE]` is its
other end: it imports what the variant needs, then answers until its input ends.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from gdnbench.campaign.pipes import failure, leave, private_stdout, raise_failure
from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.values.variants import parse as parse_variant


class Host(Protocol):
    """Holds sides, each known by its role and scenario."""

    def make(self, role: str, variant: str, part: str, change: int | None, scenario: str, device: str) -> str | None:
        """Make the driver of one side; or the reason, one line, why its part cannot meet the scenario."""

    def slow_down(self, role: str, scenario: str, loops: int) -> None:
        """Give a side a busy wait of so many idle loops."""

    def wait_loops(self, role: str, variant: str, scenario: str) -> int:
        """The idle loops that amount to the variant's handicap, measured on the side."""

    def settle(self, core: int | None) -> None:
        """Bind the process to a core and put what was made out of the garbage collector's sight."""

    def metrics(self, role: str, scenario: str) -> list[str]:
        """What can be timed on the side."""

    def fields(self, role: str, scenario: str) -> dict[str, str]:
        """A digest of each field of the side's result."""

    def block(self, role: str, scenario: str, metric: str, steps: int, warmup: int) -> float:
        """Run one block; its median in microseconds."""

    def environment(self) -> dict[str, Any]:
        """Where it ran."""

    def close(self) -> None:
        """End the process, if it is another."""


class LocalHost:
    """Holds sides in this process."""

    def __init__(self) -> None:
        import torch

        from gdnbench.probes.step_time import StepTimer

        torch.set_num_threads(1)
        self._timers: dict[tuple[str, str], StepTimer] = {}

    def make(self, role: str, variant: str, part: str, change: int | None, scenario: str, device: str) -> str | None:
        import torch

        from gdnbench.devices.base import CpuDevice, CudaDevice, Device
        from gdnbench.drivers.choice import driver_class
        from gdnbench.probes.step_time import StepTimer
        from gdnbench.values.scenarios import parse

        parsed, step = parse_variant(variant), parse(scenario)
        driver = driver_class(parsed, part, change)
        if device == "cpu" and device not in driver.devices:
            return f"part {part!r} of {variant} pins memory unasked, which needs a GPU: see its exact cost instead"
        if refusal := driver.refuses(step):
            return refusal
        if device == "cuda" and not torch.cuda.is_available():
            raise EnvironmentMissing("no GPU that this torch can use: measure with --device cpu")
        where: Device = CudaDevice() if device == "cuda" else CpuDevice()
        with where.active():
            self._timers[role, scenario] = StepTimer(driver(parsed.state, step, where))
        return None

    def slow_down(self, role: str, scenario: str, loops: int) -> None:
        self._timers[role, scenario].wait = bytes(loops)

    def wait_loops(self, role: str, variant: str, scenario: str) -> int:
        handicap = parse_variant(variant).handicap
        return 0 if handicap is None else self._timers[role, scenario].wait_loops(handicap)

    def settle(self, core: int | None) -> None:
        if core is not None:
            os.sched_setaffinity(0, {core})
        gc.collect()
        gc.freeze()

    def metrics(self, role: str, scenario: str) -> list[str]:
        return list(self._timers[role, scenario].clocks)

    def fields(self, role: str, scenario: str) -> dict[str, str]:
        from gdnbench.probes.digest import field_digests

        return field_digests(self._timers[role, scenario].driver)

    def block(self, role: str, scenario: str, metric: str, steps: int, warmup: int) -> float:
        return self._timers[role, scenario].block(metric, steps, warmup).median_ns / 1000

    def environment(self) -> dict[str, Any]:
        from gdnbench.campaign.surroundings import surroundings

        return surroundings()

    def close(self) -> None:
        pass


class RemoteHost:
    """Holds sides in a child process.

    Args:
        command: starts `gdnbench.campaign.host` in some environment.
        env: of the child.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(env), text=True)

    def _call(self, method: str, *arguments: Any) -> Any:
        requests, replies = self._child.stdin, self._child.stdout
        assert requests is not None and replies is not None
        line = ""
        with suppress(BrokenPipeError):
            requests.write(json.dumps([method, *arguments]) + "\n")
            requests.flush()
            line = replies.readline()
        if not line:
            raise RuntimeError(f"a host process ended with status {self._child.wait()}")
        reply = json.loads(line)
        raise_failure(reply)
        return reply["result"]

    def make(self, role: str, variant: str, part: str, change: int | None, scenario: str, device: str) -> str | None:
        refusal: str | None = self._call("make", role, variant, part, change, scenario, device)
        return refusal

    def slow_down(self, role: str, scenario: str, loops: int) -> None:
        self._call("slow_down", role, scenario, loops)

    def wait_loops(self, role: str, variant: str, scenario: str) -> int:
        return int(self._call("wait_loops", role, variant, scenario))

    def settle(self, core: int | None) -> None:
        self._call("settle", core)

    def metrics(self, role: str, scenario: str) -> list[str]:
        return list(self._call("metrics", role, scenario))

    def fields(self, role: str, scenario: str) -> dict[str, str]:
        return dict(self._call("fields", role, scenario))

    def block(self, role: str, scenario: str, metric: str, steps: int, warmup: int) -> float:
        return float(self._call("block", role, scenario, metric, steps, warmup))

    def environment(self) -> dict[str, Any]:
        return dict(self._call("environment"))

    def close(self) -> None:
        if self._child.stdin is not None:
            self._child.stdin.close()
        self._child.wait()


def main() -> int:
    """Answer requests until standard input ends."""
    from gdnbench.drivers.choice import driver_class

    replies = private_stdout()
    variant, part, *change = sys.argv[1:]
    with suppress(UserError):  # told when a side is made
        driver_class(parse_variant(variant), part, int(change[0]) if change else None)
    host = LocalHost()
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        try:
            reply = {"result": getattr(host, method)(*arguments)}
        except Exception as error:
            reply = failure(error)
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
    return 0


if __name__ == "__main__":
    leave(main())
