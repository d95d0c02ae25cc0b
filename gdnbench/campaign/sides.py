"""The sides of one launch: made on their hosts, warmed up, and held against each other before they are timed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gdnbench.campaign.host import Host, LocalHost, RemoteHost
from gdnbench.campaign.plan import Plan
from gdnbench.campaign.processes import python_process
from gdnbench.campaign.turns import BEFORE
from gdnbench.values.errors import UserError

WARMUP_STEPS = 30
"""Steps of each side that run before anything is timed: they fill allocators and caches."""

BLOCK_US = 1000
"""A block is cut short after about so many microseconds of steps, so that slow steps do not stretch a campaign."""
FEWEST_STEPS = 5


class Sides:
    """The sides of a launch on their hosts: one host for all that can share a process, else one for each role.

    Attributes:
        hosts: the host of each role.
        scenarios: those that every side can meet.
        refused: the others, each with the reason.
    """

    def __init__(self, plan: Plan, order: tuple[str, ...]) -> None:
        self.plan = plan
        self.order = order
        self.hosts: dict[str, Host] = {}
        self.refused: dict[str, str] = {}
        self.scenarios: tuple[str, ...] = ()

    def __enter__(self) -> Sides:
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for host in set(self.hosts.values()):
            host.close()

    def _make(self) -> None:
        plan, variants = self.plan, self.plan.variants
        if plan.shares_process:
            self.hosts = dict.fromkeys(self.order, LocalHost())
        else:
            for role in self.order:
                arguments = [str(variants[role]), plan.part, *([] if plan.change is None else [str(plan.change)])]
                builders = plan.builders.get(role)
                process = python_process(variants[role].vllm, builders=None if builders is None else Path(builders))
                self.hosts[role] = RemoteHost(process.command("gdnbench.campaign.host", *arguments), process.env)
        for role in self.order:
            for name in plan.scenarios:
                variant = str(variants[role])
                refusal = self.hosts[role].make(role, variant, plan.part, plan.change, name, plan.device)
                if refusal is not None:
                    self.refused[name] = refusal
        self.scenarios = tuple(name for name in plan.scenarios if name not in self.refused)
        if not self.scenarios:
            name, reason = next(iter(self.refused.items()))
            raise UserError(f"part {plan.part!r} meets none of the scenarios; {name}: {reason}")

    def settle(self) -> None:
        """Bind every host to the plan's core, once all that is slow to import has been imported."""
        for host in dict.fromkeys(self.hosts.values()):
            host.settle(self.plan.core)

    def unequal_fields(self, name: str) -> dict[str, tuple[str, ...]]:
        """For each role the fields that it and the role it is held against both have, with different values."""
        fields = {role: self.hosts[role].fields(role, name) for role in self.order}
        unequal = {
            role: tuple(
                [field for field, digest in own.items() if fields[self.plan.base(role)].get(field, digest) != digest]
            )
            for role, own in fields.items()
        }
        return {role: names for role, names in unequal.items() if names}

    def cases(self) -> dict[tuple[str, str], int]:
        """Every scenario and metric, warmed up on all sides, with the steps of its blocks."""
        found = {}
        for name in self.scenarios:
            for metric in self.hosts[BEFORE].metrics(BEFORE, name):
                us = [self.hosts[role].block(role, name, metric, WARMUP_STEPS, 1) for role in self.order]
                found[name, metric] = max(FEWEST_STEPS, min(self.plan.steps, round(BLOCK_US / min(us))))
        return found

    def environment(self) -> dict[str, Any]:
        """Where the sides ran, by role; sides that share a process share the entry of the first."""
        first = {host: role for role, host in reversed(self.hosts.items())}
        return {role: host.environment() for host, role in first.items()}
