"""Runs launches on the machines of a Ray cluster: one at a time on each, all on machines of one kind.

Who runs what is decided here and not by Ray: a launch is bound to one machine and takes all the processors that Ray has
there, so no other work of the cluster is beside it. One that is lost with its machine is handed out again, whole.
Each record comes to this process, which alone writes the journal; so none is lost between two writers, or kept twice.
"""

from __future__ import annotations

import io
import logging
import pickle
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from gdnbench.campaign.code import contents, own_code
from gdnbench.campaign.executors import site
from gdnbench.campaign.executors.base import LaunchLost, Needs, Say, Tick, Work
from gdnbench.campaign.executors.reaching import reach
from gdnbench.campaign.machine import Hardware
from gdnbench.values.errors import EnvironmentMissing

T = TypeVar("T")

TRIES = 3
"""Of one launch, each on a machine that is lost, before the campaign ends."""
PATIENCE_S = 300.0
"""How long a campaign waits for a machine when it has none left: a cluster replaces a lost one in minutes."""
JOINING_S = 60.0
"""In which the first machine of a cluster that has just been started is there."""
PREPARING_S = 900.0
"""In which every machine has fetched what it lacks."""
POLL_S = 1.0


@dataclass(frozen=True, slots=True)
class Machine:
    """One that launches can run on.

    Attributes:
        node: Ray's identity of it.
        name: its address, for people.
        processors: that Ray has there.
        hardware: what it is.
    """

    node: str
    name: str
    processors: float
    hardware: Hardware


class RayExecutor:
    """Runs launches on a Ray cluster.

    Args:
        address: `HOST:PORT` of the cluster, or `auto` for the one that this machine belongs to.
        patience_s: how long to wait for a machine when none is left.
    """

    here = False

    def __init__(self, address: str, patience_s: float = PATIENCE_S) -> None:
        self._address, self._patience_s = address, patience_s
        self.options = f" --executor ray --address {address}"
        self._stack = ExitStack()
        self._ray: Any = None
        self._say: Say = lambda line: None
        self._gpus = 0
        self._sent: tuple[Mapping[str, str], bytes] = ({}, b"")
        self._hardware: Hardware | None = None
        self._looking: dict[Any, Mapping[str, Any]] = {}
        self._running: dict[Any, tuple[int, Machine]] = {}
        self._machines: dict[str, Machine] = {}
        self._refused: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()  # which ends our job of the cluster, and Ray then ends what still runs of it

    def prepare(self, needs: Needs, say: Say) -> None:
        self._gpus, self._hardware = int(needs.device == "cuda"), needs.hardware
        self._sent = own_code(), pickle.dumps((needs, {path: contents(path) for path in needs.paths}))
        self._connect()
        began = time.monotonic()
        self._look_around()
        while not (self._looking or self._refused) and time.monotonic() < began + JOINING_S:
            self._wait()
            self._look_around()
        while self._looking and time.monotonic() < began + PREPARING_S:
            self._wait()
        if self._hardware is None and self._machines:
            self._choose()
        if not self._machines:
            nobody = "none has answered" if self._looking else "it has no machines"
            reasons = dict.fromkeys(self._refused.values()) or {nobody: None}
            raise EnvironmentMissing(
                f"no machine of the Ray cluster at {self._address} will do: {'; '.join(list(reasons)[:3])}"
            )
        self._say = say
        for label, why in self._refused.items():
            say(f"left out {label}: {why}")

    def run(self, work: Work[T], numbers: Sequence[int], directory: Path, tick: Tick = lambda: None) -> Iterator[T]:
        sent = self._ray.put(work)
        waiting, lost = deque(numbers), Counter[int]()
        had_one = time.monotonic()
        while waiting or self._running:
            self._look_around()
            self._hand_out(sent, waiting)
            had_one = time.monotonic() if self._machines else had_one
            if time.monotonic() - had_one > self._patience_s:
                raise LaunchLost(f"no machine is left, and none came in {self._patience_s:g} s")
            for ref in self._wait():
                number, machine = self._running.pop(ref)
                try:
                    found: T | site.Failed = self._ray.get(ref)
                except self._ray.exceptions.RayError as error:
                    if self._is_ours(error):
                        raise
                    self._machines.pop(machine.node, None)
                    lost[number] += 1
                    told = f"launch {number} was lost with {machine.name} ({_first_sentence(error)})"
                    if lost[number] == TRIES:
                        raise LaunchLost(f"{told}, for the third time") from None
                    self._say(f"{told}: all of it is run again")
                    waiting.appendleft(number)
                    continue
                if isinstance(found, site.Failed):
                    raise found.at_home(directory)
                yield found

    def _connect(self) -> None:
        # Ray prints what it hears of lost machines, at length and on standard output, which belongs to our answers.
        self._stack.enter_context(redirect_stdout(io.StringIO()))
        logging.getLogger("ray").setLevel(logging.ERROR)
        handler = signal.getsignal(signal.SIGTERM)
        self._ray = reach(self._address)
        self._stack.callback(self._ray.shutdown)
        signal.signal(signal.SIGTERM, handler)  # which Ray has replaced by its own

    def _is_ours(self, error: Exception) -> bool:
        """Whether an error comes from our code on a machine, and not from the loss of one."""
        errors = self._ray.exceptions
        return isinstance(error, errors.RayTaskError) and not isinstance(error.cause, errors.RayError)

    def _look_around(self) -> None:
        """Ask machines that are new whether they will do."""
        known = {*self._machines, *(node["NodeID"] for node in self._looking.values())}
        for node in self._ray.nodes():
            if not node["Alive"] or node["NodeID"] in known or _name(node) in self._refused:
                continue
            if node["Resources"].get("CPU", 0) < 1:
                continue  # a head that only keeps the cluster together
            if node["Resources"].get("GPU", 0) < self._gpus:
                self._refuse(_name(node), "it has no GPU that Ray knows of")
                continue
            self._looking[self._on(node["NodeID"], _look(), 0, 0).remote(*self._sent)] = node

    def _wait(self) -> list[Any]:
        """Wait a moment for what is under way; the launches that have ended."""
        under_way = [*self._running, *self._looking]
        if not under_way:
            time.sleep(POLL_S)
            return []
        ended, _ = self._ray.wait(under_way, num_returns=1, timeout=POLL_S)
        for ref in ended:
            if ref in self._looking:
                self._welcome(self._looking.pop(ref), ref)
        return [ref for ref in ended if ref in self._running]

    def _welcome(self, node: Mapping[str, Any], ref: Any) -> None:
        try:
            look: site.Look | str = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            if self._is_ours(error):
                raise
            return  # it is gone; if it comes back, it is asked again
        refusal = look if isinstance(look, str) else look.refusal
        if isinstance(look, str) or look.hardware is None:
            self._refuse(_name(node), str(refusal))
            return
        machine = Machine(node["NodeID"], node["NodeManagerAddress"], node["Resources"]["CPU"], look.hardware)
        if self._hardware in (None, machine.hardware):
            self._machines[machine.node] = machine
        else:
            self._refuse_kind(machine)

    def _choose(self) -> None:
        """The kind of machine of which there are most; the others are left out."""
        kinds = Counter(machine.hardware for machine in self._machines.values())
        self._hardware = max(kinds, key=lambda kind: (kinds[kind], str(kind)))
        for machine in list(self._machines.values()):
            if machine.hardware != self._hardware:
                del self._machines[machine.node]
                self._refuse_kind(machine)

    def _refuse_kind(self, machine: Machine) -> None:
        why = f"it is {machine.hardware}, another kind than {self._hardware}, and kinds are never mixed"
        self._refuse(_label(machine.name, machine.node), why)

    def _refuse(self, label: str, why: str) -> None:
        self._refused[label] = why
        self._say(f"left out {label}: {why}")

    def _hand_out(self, sent: Any, waiting: deque[int]) -> None:
        busy = {machine.node for _, machine in self._running.values()}
        for machine in self._machines.values():
            if waiting and machine.node not in busy:
                number = waiting.popleft()
                task = self._on(machine.node, site.launch, machine.processors, self._gpus)
                self._running[task.remote(sent, number)] = number, machine

    def _on(self, node: str, function: Callable[..., Any], processors: float, gpus: int) -> Any:
        """A function as a task that runs on one machine or not at all, once or not at all."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return self._ray.remote(function).options(
            num_cpus=processors,
            num_gpus=gpus,
            max_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        )


def _look() -> Callable[[Mapping[str, str], bytes], Any]:
    """`site.look`, as a function that can be sent to a machine which may not have this project."""

    def look(code: Mapping[str, str], sent: bytes) -> Any:
        try:
            from gdnbench.campaign.executors import site
        except ImportError as error:
            return f"gdnbench is not installed there, or another version of it ({error})"
        return site.look(code, sent)

    return look


def _name(node: Mapping[str, Any]) -> str:
    return _label(node["NodeManagerAddress"], node["NodeID"])


def _label(address: str, node: str) -> str:
    """A machine for people; the digits because one machine may come back under its address."""
    return f"{address} ({node[:6]})"


def _first_sentence(error: Exception) -> str:
    line = " ".join(str(error).split())
    return line.partition(". ")[0][:160] or type(error).__name__
