"""The plan of a campaign: what is compared, where, and how long. It is a file, so that a campaign can be resumed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from gdnbench.campaign.turns import AFTER, BEFORE, CONTROL, LIMIT
from gdnbench.drivers.choice import change_of, choose_part, has_limit
from gdnbench.values.errors import UserError
from gdnbench.values.variants import Variant, parse

SCHEMA = 1

ROUNDS_ALONE, ROUNDS_AMONG_OTHERS = 320, 120
"""Of about 3 ms each for a step of 25 us: a launch spends a second on one scenario, beside two on its start."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One comparison.

    Attributes:
        sides: the variant of each role.
        scenarios: names of scenarios, all measured in each launch.
        part: which part of a change is driven.
        change: the change whose drivers a release's side uses, None where any change's part of that name will do.
        device: `cpu` or `cuda`.
        launches: fresh processes.
        rounds: blocks of each side in a launch.
        steps, warmup: steps of a block that count, and steps before them that do not.
        core: the core that every measuring process is bound to, None to leave that to the system.
        apart: whether each side has a process of its own, although they could share one.
        primary: the scenarios that the campaign is about; empty, all of them. The others are shown beside.
        builders: for each role whose reference builders are not this checkout's, the folder that holds their
            `gdn_impl`. Then every role has a process of its own.
        against: for each role whose ratio is not taken to `before`, the role that it is taken to.
    """

    sides: Mapping[str, str]
    scenarios: tuple[str, ...]
    part: str
    change: int | None = None
    device: str = "cpu"
    launches: int = 10
    rounds: int = ROUNDS_ALONE
    steps: int = 8
    warmup: int = 2
    core: int | None = None
    apart: bool = False
    primary: tuple[str, ...] = ()
    builders: Mapping[str, str] = field(default_factory=dict)
    against: Mapping[str, str] = field(default_factory=dict)

    @property
    def variants(self) -> dict[str, Variant]:
        """The sides, read."""
        return {role: parse(text) for role, text in self.sides.items()}

    @property
    def shares_process(self) -> bool:
        """Whether all sides can run in one process: there is at most one vLLM among them."""
        return not self.apart and not self.builders and len(self.vllms) <= 1

    @property
    def shared_vllm(self) -> str | None:
        """The vLLM that the shared process must be able to import: `0.29.0`, `path:DIR`; None for none or if apart."""
        return next(iter(self.vllms), None) if self.shares_process else None

    def base(self, role: str) -> str:
        """The role that a role's ratio is taken to."""
        return self.against.get(role, BEFORE)

    @property
    def handicapped(self) -> tuple[str, ...]:
        """The roles whose variants carry a handicap."""
        return tuple(role for role, variant in self.variants.items() if variant.handicap is not None)

    @property
    def vllms(self) -> set[str]:
        """Every vLLM among the sides: `0.29.0`, `path:DIR`."""
        return {variant.vllm for variant in self.variants.values() if variant.vllm is not None}

    def bound_here(self) -> Plan:
        """The same, on another machine than it was made on: if bound to a core, then to one of this machine."""
        return self if self.core is None else replace(self, core=last_core())

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """The plan that `to_json` wrote.

        Raises:
            UserError: written by another version, or damaged.
        """
        values = dict(data)
        if values.pop("schema", None) != SCHEMA:
            raise UserError(f"the plan's schema is not {SCHEMA}: it was written by another version of gdnbench")
        try:
            names = {key: tuple(values[key]) for key in ("scenarios", "primary")}
            plan = cls(**{**values, **names})
        except (KeyError, TypeError):
            raise UserError("the plan is damaged: keys are missing or unknown") from None
        if BEFORE not in plan.sides:
            raise UserError("the plan is damaged: it has no side `before`")
        return plan


def compare(before: Variant, after: Variant, scenarios: Sequence[str], part: str | None = None, **rest: Any) -> Plan:
    """The plan of one comparison, with the before side against itself as its control.

    Args:
        before, after: the sides.
        scenarios: names of scenarios. Several share the time of a launch: each gets fewer rounds than one alone.
        part: which part to drive; default, the change's first.
        rest: other attributes of `Plan`.

    Raises:
        UserError: there is no such part.
    """
    sides = (before, after)
    rest.setdefault("rounds", ROUNDS_ALONE if len(scenarios) == 1 else ROUNDS_AMONG_OTHERS)
    texts = {BEFORE: str(before), AFTER: str(after), CONTROL: str(before)}
    plan = Plan(texts, tuple(scenarios), choose_part(sides, part), change_of(sides), **rest)
    return plan if plan.shares_process or plan.core is not None else replace(plan, core=last_core())


def with_limit(plan: Plan) -> Plan:
    """The same with the fastest builder that we know beside, where that one has the part and is not a side already."""
    if not has_limit(plan.part) or LIMIT in plan.sides.values():
        return plan
    return replace(plan, sides={**plan.sides, LIMIT: LIMIT})


def last_core() -> int | None:
    """Processes that take turns do so on one core, and interrupts prefer the first ones."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
