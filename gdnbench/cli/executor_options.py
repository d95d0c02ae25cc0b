"""The options by which a command that measures is told where its launches run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gdnbench.campaign.executors.base import Executor

EXECUTORS = ("local", "ray")

ExecutorOption = Annotated[
    str, typer.Option(help="Where launches run: local, or ray: one at a time on each machine of a Ray cluster.")
]
AddressOption = Annotated[
    str | None, typer.Option(help="Of the Ray cluster: HOST:PORT, or auto. Default: auto.", show_default=False)
]


def executor_of(name: str, address: str | None) -> Executor:
    """The executor that was asked for; a cluster is reached when it is prepared.

    Raises:
        UserError: there is none of that name, or an address for none.
    """
    from gdnbench.campaign.executors.base import LOCAL
    from gdnbench.values.errors import UserError

    if name not in EXECUTORS:
        raise UserError(f"--executor {name}: there are {' and '.join(EXECUTORS)}")
    if name == "local":
        if address is not None:
            raise UserError(f"--address {address}: only a cluster has one; add --executor ray")
        return LOCAL
    from gdnbench.campaign.executors.on_ray import RayExecutor

    return RayExecutor(address or "auto")


def say(line: str) -> None:
    """What takes long, and what becomes of machines: on standard error."""
    print(line, file=sys.stderr)
