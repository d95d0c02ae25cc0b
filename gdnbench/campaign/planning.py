"""What `gdnbench step` was asked for, as the plan of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gdnbench.campaign.judged import default_launches
from gdnbench.campaign.plan import Plan, compare, with_limit
from gdnbench.campaign.turns import AFTER, BEFORE
from gdnbench.drivers.choice import has_limit
from gdnbench.values import scenarios
from gdnbench.values.errors import UserError
from gdnbench.values.variants import parse

DEVICES = ("cpu", "cuda")


def plan_step(
    before: str | None,
    after: str | None,
    scenario: Sequence[str] | None,
    part: str | None,
    launches: int | None,
    rounds: int | None,
    device: str,
    limit: bool = False,
) -> Plan:
    """The plan of a new campaign.

    Raises:
        UserError: something is missing or mistyped.
    """
    if before is None or after is None:
        raise UserError("two variants are needed, for example: gdnbench step pr51913.before pr51913.after")
    if device not in DEVICES:
        raise UserError(f"--device {device}: there are {' and '.join(DEVICES)}")
    sides = parse(before), parse(after)
    names = [scenarios.parse(text).name for text in scenario or scenarios.NAMED]
    names = list(dict.fromkeys(names))
    rest: dict[str, Any] = {"device": device, "launches": launches or default_launches(len(names))}
    if rounds is not None:
        rest["rounds"] = rounds
    plan = compare(*sides, names, part, **rest)
    if limit and not has_limit(plan.part):
        raise UserError(f"the limit builds GDN metadata and has no part {plan.part!r}: leave --limit out")
    return with_limit(plan) if limit else plan


def same_sides(plan: Plan, before: str | None, after: str | None, *rest: object) -> None:
    """Check that a resumed campaign is the one that was asked for; its plan stands as it was made.

    Raises:
        UserError: other sides, or settings that would change the plan.
    """
    if AFTER not in plan.sides:
        raise UserError("the campaign to resume is a calibration: gdnbench calibrate --resume goes on with it")
    for role, text in ((BEFORE, before), (AFTER, after)):
        if text is not None and str(parse(text)) != plan.sides[role]:
            raise UserError(f"the campaign to resume has {plan.sides[role]} as its {role} side, not {text}")
    if any(value is not None and value != [] for value in rest):
        raise UserError("--resume goes on with the plan as it was made: leave --scenario, --part and numbers out")
